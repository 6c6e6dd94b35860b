// SPDX-License-Identifier: BSD-3-Clause
//
// SmallMoves: moves small messages without a kernel. Preparing a kernel call (its Move, loops,
// tables) takes longer than moving a few dozen runs. A plan has the first of these that fits its
// element:
//
//   - equal moves of 1 to 16 bytes at one stride (a small vector);
//   - runs of 32 to 512 bytes at one stride, by moves of 32 bytes (small_wide.cpp);
//   - rows of short runs at one stride, if there are more than 32 runs;
//   - any runs, as a list of moves of 16, 8, 4, 2 and 1 bytes (MoveList);
//   - runs of several words at one stride, in place of that list.
//
// Where the CPU permutes the bytes of vectors, an element of several runs is one or two permutes;
// of equal moves at one stride only if there are several elements.
//
// Each kind is a function of its own, found when the plan is made: in one function they would share
// registers, and each call would have to save six.
#ifndef LACUNA_ENGINE_KERNELS_SMALL_SMALL_MOVES_HPP_
#define LACUNA_ENGINE_KERNELS_SMALL_SMALL_MOVES_HPP_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/record/move_list.hpp"
#include "kernels/record/permutes.hpp"
#include "layout/layout.hpp"

namespace lacuna {

struct KernelTable;
struct Machine;

// Functions for one type that lacuna-cc compiled into the program.
struct CompiledMoves {
  // `count` >= 1 elements; `mem` is their buffer. Returns 0.
  using Fn = int(const int64_t* numbers, std::byte* mem, int64_t count, std::byte* packed);
  Fn* pack = nullptr;
  Fn* unpack = nullptr;
  std::vector<int64_t> numbers;
};

class SmallMoves {
 public:
  // most_elements() is 0 where the runs are too many or too long.
  SmallMoves() = default;
  SmallMoves(const Layout& layout, const KernelTable& kernels, const Machine& machine);
  // By compiled functions, for up to so many elements of this layout.
  SmallMoves(const Layout& layout, CompiledMoves compiled, int64_t most_elements);
  SmallMoves(SmallMoves&&) = default;
  SmallMoves& operator=(SmallMoves&&) = default;

  // Up to so many elements are moved faster by this than by kernels; 0: none.
  int64_t most_elements() const { return most_elements_; }
  // Raises most_elements() to at least this, unless it is 0.
  void serve(int64_t elements) {
    if (most_elements_ > 0) most_elements_ = std::max(most_elements_, elements);
  }
  // Lowers most_elements() to at most this.
  void limit(int64_t elements) { most_elements_ = std::min(most_elements_, elements); }
  // Equal moves at one stride.
  bool is_regular() const {
    return most_elements_ > 0 && regular_width_ != 0 && words_of_run_ == 1 && rows_ == 1;
  }
  // Moves of 32 bytes.
  bool is_wide() const { return is_wide_; }
  bool is_compiled() const { return compiled_.pack != nullptr; }
  // Whether so many elements are moved by permutes.
  bool is_permuted(int64_t elements) const {
    return permuted_.pack != nullptr && (regular_moves_ == 0 || elements > 1);
  }
  // How many moves so many elements take.
  int64_t moves(int64_t elements) const {
    return elements * (is_permuted(elements) ? permuted_.windows
                       : regular_moves_ != 0 ? regular_moves_ * words_of_run_ * rows_
                                             : words_.size());
  }

  // Moves `elements`, 1 to most_elements(); `mem`: the origin of the first. Returns 0, so that a
  // caller which returns a status can end with a tail call.
  template <bool kPack>
  [[gnu::always_inline]] inline int run(std::byte* mem, int64_t elements, std::byte* packed) const {
    return (kPack ? pack_ : unpack_)(*this, mem, elements, packed);
  }
  // Moves single elements at offsets[0, elements) from `mem`.
  template <bool kPack>
  void run_listed(std::byte* mem, const int64_t* offsets, int64_t elements,
                  std::byte* packed) const;

 private:
  using Fn = int (*)(const SmallMoves& small, std::byte* mem, int64_t elements,
                     std::byte* packed) noexcept;

  // The functions for each kind. Several elements, or rows, have functions of their own.
  template <size_t kWidth, bool kPack>
  static int regular(const SmallMoves&, std::byte*, int64_t, std::byte*) noexcept;
  template <size_t kWord, size_t kWords, bool kPack>
  static int runs(const SmallMoves&, std::byte*, int64_t, std::byte*) noexcept;
  template <size_t kWidth, bool kPack>
  static int regular_rows(const SmallMoves&, std::byte*, int64_t, std::byte*) noexcept;
  template <size_t kWord, size_t kWords, bool kPack>
  static int rows_of_runs(const SmallMoves&, std::byte*, int64_t, std::byte*) noexcept;
  template <typename Row>
  inline int each_row(std::byte* mem, int64_t elements, std::byte* packed, Row row) const;
  // small_wide.cpp
  template <int kMoves, bool kPack>
  static int wide(const SmallMoves&, std::byte*, int64_t, std::byte*) noexcept;
  template <bool kPack>
  static Fn find_wide(int64_t moves);
  template <bool kPack>
  static int listed(const SmallMoves&, std::byte*, int64_t, std::byte*) noexcept;
  template <bool kPack>
  static int listed_elements(const SmallMoves&, std::byte*, int64_t, std::byte*) noexcept;
  template <bool kPack>
  static int permuted(const SmallMoves&, std::byte*, int64_t, std::byte*) noexcept;
  template <bool kPack>
  static int compiled(const SmallMoves&, std::byte*, int64_t, std::byte*) noexcept;

  // Set the members for a loop of runs (or one run) of `words` words each, at most `most` words in
  // all; and for a loop around it.
  void set_row(const LayoutNode& row, int64_t words, int64_t most);
  void set_rows(const Loop& rows);
  bool find_stride(const LayoutNode& node);
  bool find_runs(const LayoutNode& node);
  bool find_wide_runs(const LayoutNode& node, bool has_permutes);
  bool find_rows(const LayoutNode& node);
  bool list_moves(const Layout& layout);
  void find_permutes(const Layout& layout);
  template <bool kPack>
  void choose();

  MoveList words_;
  Permutes permuted_;
  Fn pack_ = nullptr;
  Fn unpack_ = nullptr;
  int64_t most_elements_ = 0;
  int64_t regular_width_ = 0;  // bytes of a run; 0: words_ or permuted_
  int64_t regular_moves_ = 0;
  bool is_wide_ = false;
  int64_t words_of_run_ = 1;
  int64_t stride_ = 0;
  int64_t rows_ = 1;  // of regular_moves_ runs each
  int64_t row_stride_ = 0;
  int64_t extent_ = 0;
  int64_t size_ = 0;
  CompiledMoves compiled_;
  int64_t origin_ = 0;  // of the element, from the buffer's address (compiled functions)
};

}  // namespace lacuna

#endif  // LACUNA_ENGINE_KERNELS_SMALL_SMALL_MOVES_HPP_
