// SPDX-License-Identifier: BSD-3-Clause
#include "plan/few.hpp"

#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "base/address.hpp"
#include "kernels/element.hpp"
#include "kernels/fields.hpp"
#include "kernels/kernel.hpp"

namespace lacuna {
namespace {

// About where the fixed costs of the kernels are paid back: a list's entry costs more than a
// kernel's, a stride's no more. (Lists of up to 32: over 1318 times of random types 1.02 to 1.03
// times as long.)
constexpr int64_t kMostMoves = 64;
// So few runs in rows are quicker listed.
constexpr int64_t kLeastInRows = 32;
// Elements that are permuted. Nanoseconds by the kernels / so, Zen 5, 33, 64 and 96 of them: 4, 24
// and 4 bytes of 40 packed 33 / 15, 37 / 22, 46 / 29, unpacked 34 / 13, 49 / 23, 62 / 31; 24 and 4
// of 96 (two windows) 27 / 17, 42 / 31, 60 / 47, 26 / 15, 38 / 30, 55 / 51; 1 and 4 of 8 39 / 15,
// 31 / 19, 37 / 27, 20 / 12, 22 / 20, 25 / 28.
constexpr int64_t kMostPermuted = 80;
// Of elements that no table serves so well, of so many packed bytes: 128 of 4, 24 and 4 bytes of 40
// packed 60 / 39, unpacked 81 / 49, of 4 and 16 bytes of 32 50 / 39, 55 / 44, of 8 and 32 bytes of
// 80 72 / 61, 74 / 66.
constexpr int64_t kMostPermutedWide = 128;
constexpr int64_t kWideBytes = 20;
constexpr int64_t kMostRegular = 128;
// Of runs at one stride that are several words each. Nanoseconds by the kernels / so, Zen 4: 12
// runs of 40 bytes 21.9 / 10.9, 33 of them 30.7 / 26.8, 64 of them 44 / 52; 12 of 12 bytes 12.5 /
// 9.0, 64 of 24 bytes 43 / 35, 64 of 32 bytes 29.5 / 35, 32 of 64 bytes 32 / 35.
constexpr int64_t kMostRun = 64;
constexpr int64_t kMostWords = 104;
constexpr int64_t kWidestMove = 16;
// A single run of more is left to the C library's memcpy.
constexpr int64_t kMostSingleRun = 64;

// Two moves. Packed words of 8 bytes leave in pairs: 100 of them take 33 ns, one by one 36.
// (Unpacking gains nothing, and compilers take such a pair apart again.)
template <size_t kWidth, bool kPack>
[[gnu::always_inline]] inline void move_two(std::byte* mem, std::byte* next, std::byte* packed) {
  if constexpr (kWidth == 8 && kPack) {
    typedef uint64_t Two __attribute__((vector_size(16)));
    uint64_t first, second;
    std::memcpy(&first, mem, 8);
    std::memcpy(&second, next, 8);
    const Two two = {first, second};
    std::memcpy(packed, &two, 16);
  } else {
    move_word<kWidth, kPack>(mem, packed);
    move_word<kWidth, kPack>(next, packed + kWidth);
  }
}

// What a multiple of a stride is, kept from the compiler: it would add the stride as many times,
// and each address would wait for the one before.
[[gnu::always_inline]] inline int64_t opaque(int64_t value) {
  asm("" : "+r"(value));
  return value;
}

// `moves` >= 1 moves, each a stride on in memory from the one before.
template <size_t kWidth, bool kPack>
[[gnu::always_inline]] inline void strided(std::byte* mem, int64_t stride, std::byte* packed,
                                           int64_t moves) {
  if (moves >= 4) [[likely]] {
    const int64_t twice = opaque(2 * stride);
    const int64_t thrice = opaque(3 * stride);
    do {
      move_two<kWidth, kPack>(mem, address(mem, stride), packed);
      move_two<kWidth, kPack>(address(mem, twice), address(mem, thrice), packed + 2 * kWidth);
      mem = address(mem, 2 * twice);
      packed += 4 * kWidth;
      // Or the compiler multiplies after the loop to find where it has come to.
      asm("" : "+r"(mem), "+r"(packed));
      moves -= 4;
    } while (moves >= 4);
  }
#pragma GCC unroll 1
  for (; moves > 0; --moves) {
    move_word<kWidth, kPack>(mem, packed);
    mem = address(mem, stride);
    packed += kWidth;
  }
}

// A run of kWords words: the last one ends with its last byte, and may overlap the one before.
template <size_t kWord, size_t kWords, bool kPack>
[[gnu::always_inline]] inline void move_run(std::byte* mem, std::byte* packed, int64_t last) {
#pragma GCC unroll 4
  for (size_t i = 0; i + 1 < kWords; ++i)
    move_word<kWord, kPack>(mem + i * kWord, packed + i * kWord);
  move_word<kWord, kPack>(mem + last, packed + last);
}

// `runs` >= 1 runs of `bytes` bytes, each a stride on in memory from the one before.
template <size_t kWord, size_t kWords, bool kPack>
[[gnu::always_inline]] inline void strided_runs(std::byte* mem, int64_t stride, int64_t bytes,
                                                std::byte* packed, int64_t runs) {
  const int64_t last = bytes - static_cast<int64_t>(kWord);
#pragma GCC unroll 1
  for (; runs >= 2; runs -= 2) {
    std::byte* const next = address(mem, stride);
    std::byte* const behind = packed + bytes;
    move_run<kWord, kWords, kPack>(mem, packed, last);
    move_run<kWord, kWords, kPack>(next, behind, last);
    mem = address(next, stride);
    packed = behind + bytes;
  }
  if (runs != 0) move_run<kWord, kWords, kPack>(mem, packed, last);
}

// Of one element, in packed order.
std::vector<Field> runs_of(const Layout& layout) {
  std::vector<Field> runs;
  for_each_run({0, layout.element.node}, [&](int64_t mem, int64_t /*packed*/, int64_t bytes) {
    runs.push_back({mem, bytes});
  });
  return runs;
}

}  // namespace

template <size_t kWord, size_t kWords, bool kPack>
int FewMoves::runs(const FewMoves& few, std::byte* mem, int64_t elements,
                   std::byte* packed) noexcept {
  if (elements != 1) return runs_of_elements<kWord, kWords, kPack>(few, mem, elements, packed);
  strided_runs<kWord, kWords, kPack>(mem, few.stride_, few.regular_width_, packed,
                                     few.regular_moves_);
  return 0;
}

template <size_t kWord, size_t kWords, bool kPack>
[[gnu::noinline]] int FewMoves::runs_of_elements(const FewMoves& few, std::byte* mem,
                                                 int64_t elements, std::byte* packed) noexcept {
  for (; elements > 0; --elements) {
    strided_runs<kWord, kWords, kPack>(mem, few.stride_, few.regular_width_, packed,
                                       few.regular_moves_);
    mem = address(mem, few.extent_);
    packed += few.size_;
  }
  return 0;
}

template <typename Row>
[[gnu::always_inline]] inline int FewMoves::each_row(std::byte* mem, int64_t elements,
                                                     std::byte* packed, Row row) const {
  const int64_t row_bytes = regular_width_ * regular_moves_;
  for (; elements > 0; --elements) {
    std::byte* at = mem;
#pragma GCC unroll 1
    for (int64_t i = rows_; i > 0; --i) {
      row(at, packed);
      at = address(at, row_stride_);
      packed += row_bytes;
    }
    mem = address(mem, extent_);
  }
  return 0;
}

template <size_t kWidth, bool kPack>
int FewMoves::regular_rows(const FewMoves& few, std::byte* mem, int64_t elements,
                           std::byte* packed) noexcept {
  return few.each_row(mem, elements, packed, [&few](std::byte* row, std::byte* to) {
    strided<kWidth, kPack>(row, few.stride_, to, few.regular_moves_);
  });
}

template <size_t kWord, bool kPack>
int FewMoves::rows_of_runs(const FewMoves& few, std::byte* mem, int64_t elements,
                           std::byte* packed) noexcept {
  return few.each_row(mem, elements, packed, [&few](std::byte* row, std::byte* to) {
    strided_runs<kWord, 2, kPack>(row, few.stride_, few.regular_width_, to, few.regular_moves_);
  });
}

template <size_t kWidth, bool kPack>
int FewMoves::regular(const FewMoves& few, std::byte* mem, int64_t elements,
                      std::byte* packed) noexcept {
  if (elements != 1) return regular_elements<kWidth, kPack>(few, mem, elements, packed);
  strided<kWidth, kPack>(mem, few.stride_, packed, few.regular_moves_);
  return 0;
}

template <size_t kWidth, bool kPack>
[[gnu::noinline]] int FewMoves::regular_elements(const FewMoves& few, std::byte* mem,
                                                 int64_t elements, std::byte* packed) noexcept {
  if (few.is_permuted(elements)) return permuted<kPack>(few, mem, elements, packed);
  if (few.regular_moves_ == 1) {
    strided<kWidth, kPack>(mem, few.extent_, packed, elements);
    return 0;
  }
  for (; elements > 0; --elements) {
    strided<kWidth, kPack>(mem, few.stride_, packed, few.regular_moves_);
    mem = address(mem, few.extent_);
    packed += few.size_;
  }
  return 0;
}

template <bool kPack>
int FewMoves::listed(const FewMoves& few, std::byte* mem, int64_t elements,
                     std::byte* packed) noexcept {
  if (elements != 1) return listed_elements<kPack>(few, mem, elements, packed);
  few.words_.move<kPack>(mem, packed);
  return 0;
}

template <bool kPack>
[[gnu::noinline]] int FewMoves::listed_elements(const FewMoves& few, std::byte* mem,
                                                int64_t elements, std::byte* packed) noexcept {
  few.words_.move_all<kPack>(mem, few.extent_, elements, packed, few.size_);
  return 0;
}

template <bool kPack>
void FewMoves::run_listed(std::byte* mem, const int64_t* offsets, int64_t elements,
                          std::byte* packed) const {
  if (permuted_.pack != nullptr) {
    const auto move = kPack ? permuted_.pack_listed : permuted_.unpack_listed;
    return move(*permuted_.element, mem, offsets, elements, packed);
  }
  if (regular_moves_ == 0) {
    for (; elements >= 4; elements -= 4, offsets += 4, packed += 4 * size_) {
      words_.move_four<kPack>({address(mem, offsets[0]), address(mem, offsets[1]),
                               address(mem, offsets[2]), address(mem, offsets[3])},
                              packed, size_);
    }
  }
  for (; elements > 0; --elements, packed += size_) run<kPack>(address(mem, *offsets++), 1, packed);
}

template void FewMoves::run_listed<true>(std::byte*, const int64_t*, int64_t, std::byte*) const;
template void FewMoves::run_listed<false>(std::byte*, const int64_t*, int64_t, std::byte*) const;

template <bool kPack>
int FewMoves::permuted(const FewMoves& few, std::byte* mem, int64_t elements,
                       std::byte* packed) noexcept {
  const ElementFn move = kPack ? few.permuted_.pack : few.permuted_.unpack;
  return move(*few.permuted_.element, mem, elements, packed);
}

template <bool kPack>
int FewMoves::compiled(const FewMoves& few, std::byte* mem, int64_t elements,
                       std::byte* packed) noexcept {
  return (kPack ? few.compiled_.pack : few.compiled_.unpack)(
      few.compiled_.numbers.data(), address(mem, -few.origin_), elements, packed);
}

FewMoves::FewMoves(const Layout& layout, CompiledMoves compiled, int64_t most_elements)
    : pack_(&FewMoves::compiled<true>),
      unpack_(&FewMoves::compiled<false>),
      most_elements_(most_elements),
      // As many as there are runs: what they cost is about what other moves do.
      regular_moves_(layout.element.node->leaf_runs),
      compiled_(std::move(compiled)),
      origin_(layout.element.offset) {}

template <bool kPack>
void FewMoves::choose() {
  Fn& fn = kPack ? pack_ : unpack_;
  const int64_t run = regular_width_;
  if (rows_ > 1) {
    fn = run == 1    ? &regular_rows<1, kPack>
         : run == 2  ? &regular_rows<2, kPack>
         : run == 4  ? &regular_rows<4, kPack>
         : run == 8  ? &regular_rows<8, kPack>
         : run == 16 ? &regular_rows<16, kPack>
         : run > 16  ? &rows_of_runs<16, kPack>
         : run > 8   ? &rows_of_runs<8, kPack>
                     : &rows_of_runs<4, kPack>;
    return;
  }
  fn = run == 1         ? &regular<1, kPack>
       : run == 2       ? &regular<2, kPack>
       : run == 4       ? &regular<4, kPack>
       : run == 8       ? &regular<8, kPack>
       : run == 16      ? &regular<16, kPack>
       : run > 48       ? &runs<16, 4, kPack>
       : run > 32       ? &runs<16, 3, kPack>
       : run > 16       ? &runs<16, 2, kPack>
       : run > 8        ? &runs<8, 2, kPack>
       : run > 0        ? &runs<4, 2, kPack>
       : is_permuted(1) ? &permuted<kPack>
                        : &listed<kPack>;
}

FewMoves::FewMoves(const Layout& layout, const KernelTable& kernels) {
  if (layout.element.empty()) return;
  const LayoutNode& node = *layout.element.node;
  if (node.leaf_runs > kMostRegular) return;
  if (find_stride(node)) {
    if (kernels.elements && regular_moves_ > 1) find_permutes(layout);
  } else if (node.leaf_runs <= kLeastInRows || !find_rows(node)) {
    if (list_moves(layout) && kernels.elements && words_.size() > 1) find_permutes(layout);
    if (permuted_.pack == nullptr && !find_runs(node) && words_.empty()) return;
  }
  extent_ = layout.extent;
  size_ = node.size;
  choose<true>();
  choose<false>();
}

bool FewMoves::find_stride(const LayoutNode& node) {
  const bool is_loop = node.kind == LayoutNode::Kind::kLoop;
  const LayoutNode& run = is_loop ? node.child() : node;
  if (run.kind != LayoutNode::Kind::kRun || width_class(run.size) == Width::kAny) return false;
  regular_width_ = run.size;
  regular_moves_ = is_loop ? node.loop.count : 1;
  stride_ = is_loop ? node.loop.mem_stride : 0;
  most_elements_ = kMostRegular / regular_moves_;
  return true;
}

bool FewMoves::find_rows(const LayoutNode& node) {
  // Longer runs are one move in a kernel, or so many that its call does not count.
  constexpr int64_t kMostRunInRows = 31;
  if (node.kind != LayoutNode::Kind::kLoop || node.child().kind != LayoutNode::Kind::kLoop)
    return false;
  const LayoutNode& row = node.child();
  if (row.child().kind != LayoutNode::Kind::kRun || row.child().size > kMostRunInRows) return false;
  if (!find_stride(row) && !find_runs(row)) return false;
  rows_ = node.loop.count;
  row_stride_ = node.loop.mem_stride;
  most_elements_ /= rows_;
  return true;
}

bool FewMoves::find_runs(const LayoutNode& node) {
  constexpr int64_t kLeastRun = 5;
  if (node.kind != LayoutNode::Kind::kLoop) return false;
  const LayoutNode& run = node.child();
  if (run.kind != LayoutNode::Kind::kRun || run.size < kLeastRun || run.size > kMostRun)
    return false;
  const int64_t word = run.size > 16 ? 16 : run.size > 8 ? 8 : 4;
  const int64_t words = (run.size + word - 1) / word;
  if (node.loop.count * words > kMostWords) return false;
  words_of_run_ = words;
  regular_width_ = run.size;
  regular_moves_ = node.loop.count;
  stride_ = node.loop.mem_stride;
  most_elements_ = kMostWords / (regular_moves_ * words);
  words_ = {};
  return true;
}

bool FewMoves::list_moves(const Layout& layout) {
  const LayoutNode& node = *layout.element.node;
  if (node.leaf_runs > kMostMoves || node.size > kMostMoves * kWidestMove) return false;
  if (node.leaf_runs == 1 && node.size > kMostSingleRun) return false;
  words_ = WordList(runs_of(layout), kMostMoves);
  if (words_.empty()) return false;
  most_elements_ = kMostMoves / words_.size();
  return true;
}

void FewMoves::find_permutes(const Layout& layout) {
  permuted_ = make_element(runs_of(layout), layout.extent);
  if (permuted_.pack == nullptr) return;
  most_elements_ = layout.element.node->size >= kWideBytes ? kMostPermutedWide : kMostPermuted;
}

}  // namespace lacuna
