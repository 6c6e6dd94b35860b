// SPDX-License-Identifier: BSD-3-Clause
//
// FewMoves: a small element spelled out, as a list of moves of 16, 8, 4, 2 and 1 bytes. What a
// kernel asks of a message before its first byte (its Move, loops, tables) takes longer than moving
// a few dozen runs; here a move is two offsets, a load and a store.
//
// The list is a WordList; equal moves at one stride, which is what a small vector is, need none.
// Runs of several words at one stride, as small faces of fields are, need none either, nor do rows
// of either kind, of what is too much for a list. Runs of half a line and more are moves of as much
// where the CPU has such.
//
// Where the CPU permutes the bytes of vectors, an element of several runs is one move of that kind;
// of runs at one stride only where there are several elements.
//
// What moves an element is a function of its own for each kind, found when the plan is made: in
// line with each other they share registers, and a call begins by saving six of them.
#ifndef LACUNA_ENGINE_PLAN_FEW_HPP_
#define LACUNA_ENGINE_PLAN_FEW_HPP_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/element.hpp"
#include "kernels/word_list.hpp"
#include "layout/layout.hpp"

namespace lacuna {

struct KernelTable;
struct Machine;

// Functions that somebody else has made for one type: of a program, by its compiler (lacuna-cc).
struct CompiledMoves {
  // `count` >= 1 elements; `mem` is their buffer. Always 0.
  using Fn = int(const int64_t* numbers, std::byte* mem, int64_t count, std::byte* packed);
  Fn* pack = nullptr;
  Fn* unpack = nullptr;
  std::vector<int64_t> numbers;
};

class FewMoves {
 public:
  // None, for what has more or longer runs than this is for.
  FewMoves() = default;
  FewMoves(const Layout& layout, const KernelTable& kernels, const Machine& machine);
  // The functions, for up to so many elements of this layout.
  FewMoves(const Layout& layout, CompiledMoves compiled, int64_t most_elements);
  FewMoves(FewMoves&&) = default;
  FewMoves& operator=(FewMoves&&) = default;

  // Up to so many elements are faster moved so than by kernels; 0: none.
  int64_t most_elements() const { return most_elements_; }
  // Serves at least so many, if any.
  void serve(int64_t elements) {
    if (most_elements_ > 0) most_elements_ = std::max(most_elements_, elements);
  }
  // Serves at most so many.
  void limit(int64_t elements) { most_elements_ = std::min(most_elements_, elements); }
  // Equal moves at one stride.
  bool is_regular() const {
    return most_elements_ > 0 && regular_width_ != 0 && words_of_run_ == 1 && rows_ == 1;
  }
  // Moves of half a line.
  bool is_wide() const { return is_wide_; }
  bool is_compiled() const { return compiled_.pack != nullptr; }
  // So many are moved by permutes.
  bool is_permuted(int64_t elements) const {
    return permuted_.pack != nullptr && (regular_moves_ == 0 || elements > 1);
  }
  // Of so many.
  int64_t moves(int64_t elements) const {
    return elements * (is_permuted(elements) ? permuted_.windows
                       : regular_moves_ != 0 ? regular_moves_ * words_of_run_ * rows_
                                             : words_.size());
  }

  // Moves `elements`, 1 to most_elements(); `mem`: the origin of the first. Always 0, so that a
  // call which answers with a status ends with a jump to it.
  template <bool kPack>
  [[gnu::always_inline]] inline int run(std::byte* mem, int64_t elements, std::byte* packed) const {
    return (kPack ? pack_ : unpack_)(*this, mem, elements, packed);
  }
  // Moves single elements at offsets[0, elements) from `mem`.
  template <bool kPack>
  void run_listed(std::byte* mem, const int64_t* offsets, int64_t elements,
                  std::byte* packed) const;

 private:
  using Fn = int (*)(const FewMoves& few, std::byte* mem, int64_t elements,
                     std::byte* packed) noexcept;

  // Equal moves at one stride, runs at one, and any; where there are several elements, or rows of
  // them, by another function each.
  template <size_t kWidth, bool kPack>
  static int regular(const FewMoves&, std::byte*, int64_t, std::byte*) noexcept;
  template <size_t kWord, size_t kWords, bool kPack>
  static int runs(const FewMoves&, std::byte*, int64_t, std::byte*) noexcept;
  template <size_t kWidth, bool kPack>
  static int regular_rows(const FewMoves&, std::byte*, int64_t, std::byte*) noexcept;
  template <size_t kWord, size_t kWords, bool kPack>
  static int rows_of_runs(const FewMoves&, std::byte*, int64_t, std::byte*) noexcept;
  template <typename Row>
  inline int each_row(std::byte* mem, int64_t elements, std::byte* packed, Row row) const;
  // few_wide.cpp
  template <int kMoves, bool kPack>
  static int wide(const FewMoves&, std::byte*, int64_t, std::byte*) noexcept;
  template <bool kPack>
  static Fn find_wide(int64_t moves);
  template <bool kPack>
  static int listed(const FewMoves&, std::byte*, int64_t, std::byte*) noexcept;
  template <bool kPack>
  static int listed_elements(const FewMoves&, std::byte*, int64_t, std::byte*) noexcept;
  template <bool kPack>
  static int permuted(const FewMoves&, std::byte*, int64_t, std::byte*) noexcept;
  template <bool kPack>
  static int compiled(const FewMoves&, std::byte*, int64_t, std::byte*) noexcept;

  // Takes over the numbers of runs at one stride, or of one, each of so many words, `most` words in
  // all; and of the loop around them.
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

  WordList words_;
  ElementMoves permuted_;
  Fn pack_ = nullptr;
  Fn unpack_ = nullptr;
  int64_t most_elements_ = 0;
  int64_t regular_width_ = 0;  // of a run; 0: they are listed
  int64_t regular_moves_ = 0;
  bool is_wide_ = false;  // those are half lines
  int64_t words_of_run_ = 1;
  int64_t stride_ = 0;
  int64_t rows_ = 1;  // of so many runs each
  int64_t row_stride_ = 0;
  int64_t extent_ = 0;
  int64_t size_ = 0;
  CompiledMoves compiled_;
  int64_t origin_ = 0;  // from the buffer
};

}  // namespace lacuna

#endif  // LACUNA_ENGINE_PLAN_FEW_HPP_
