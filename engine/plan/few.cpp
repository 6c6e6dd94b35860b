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
// kernel's, a stride's no more.
constexpr int64_t kMostMoves = 32;
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
// A single run of more is left to the C library's memcpy.
constexpr int64_t kMostSingleRun = 64;

constexpr int64_t kMoveWidths[] = {16, 8, 4, 2, 1};

// The narrowest of the widths that holds `bytes`, 1 to 16.
size_t holding(int64_t bytes) {
  size_t width = std::size(kMoveWidths) - 1;
  while (kMoveWidths[width] < bytes) --width;
  return width;
}

// The widest of the widths that `bytes` hold.
size_t held(int64_t bytes) {
  size_t width = 0;
  while (kMoveWidths[width] > bytes) ++width;
  return width;
}

template <size_t kWidth, bool kPack>
[[gnu::always_inline]] inline void move(std::byte* mem, std::byte* packed) {
  std::memcpy(kPack ? packed : mem, kPack ? mem : packed, kWidth);
}

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
    move<kWidth, kPack>(mem, packed);
    move<kWidth, kPack>(next, packed + kWidth);
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
    move<kWidth, kPack>(mem, packed);
    mem = address(mem, stride);
    packed += kWidth;
  }
}

// A run of kWords words: the last one ends with its last byte, and may overlap the one before.
template <size_t kWord, size_t kWords, bool kPack>
[[gnu::always_inline]] inline void move_run(std::byte* mem, std::byte* packed, int64_t last) {
#pragma GCC unroll 4
  for (size_t i = 0; i + 1 < kWords; ++i) move<kWord, kPack>(mem + i * kWord, packed + i * kWord);
  move<kWord, kPack>(mem + last, packed + last);
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

// Elements at those places side by side, so that what finds a move's place serves all.
template <size_t kElements, bool kPack>
[[gnu::always_inline]] inline void FewMoves::side_by_side(
    const std::array<std::byte*, kElements>& mems, std::byte* packed) const {
  std::array<std::byte*, kElements> packeds;
  for (size_t i = 0; i < kElements; ++i) packeds[i] = packed + static_cast<int64_t>(i) * size_;
  const Offsets* at = moves_.data();
  // Not unrolled: what finds out how many are left over takes longer than the few that there are.
  const auto moved = [&]<size_t kWidth>(const Offsets* end) {
#pragma GCC unroll 1
    for (; at != end; ++at) {
      const int64_t to_gaps = at->mem;  // once: as far as the compiler knows, a move may change it
      const int64_t to_dense = at->packed;
      for (size_t i = 0; i < kElements; ++i)
        move<kWidth, kPack>(mems[i] + to_gaps, packeds[i] + to_dense);
    }
  };
  moved.template operator()<16>(end_[0]);
  moved.template operator()<8>(end_[1]);
  moved.template operator()<4>(end_[2]);
  moved.template operator()<2>(end_[3]);
  moved.template operator()<1>(end_[4]);
}

template <bool kPack>
int FewMoves::listed(const FewMoves& few, std::byte* mem, int64_t elements,
                     std::byte* packed) noexcept {
  if (elements != 1) return listed_elements<kPack>(few, mem, elements, packed);
  few.side_by_side<1, kPack>({mem}, packed);
  return 0;
}

template <bool kPack>
[[gnu::noinline]] int FewMoves::listed_elements(const FewMoves& few, std::byte* mem,
                                                int64_t elements, std::byte* packed) noexcept {
  for (; elements >= 4; elements -= 4) {
    few.side_by_side<4, kPack>({mem, address(mem, few.extent_), address(mem, 2 * few.extent_),
                                address(mem, 3 * few.extent_)},
                               packed);
    mem = address(mem, 4 * few.extent_);
    packed += 4 * few.size_;
  }
  for (; elements > 0; --elements) {
    few.side_by_side<1, kPack>({mem}, packed);
    mem = address(mem, few.extent_);
    packed += few.size_;
  }
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
      side_by_side<4, kPack>({address(mem, offsets[0]), address(mem, offsets[1]),
                              address(mem, offsets[2]), address(mem, offsets[3])},
                             packed);
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
  fn = run == 4         ? &regular<4, kPack>
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
  } else {
    if (list_moves(layout) && kernels.elements && moves_.size() > 1) find_permutes(layout);
    if (permuted_.pack == nullptr && !find_runs(node) && moves_.empty()) return;
  }
  extent_ = layout.extent;
  size_ = node.size;
  choose<true>();
  choose<false>();
}

bool FewMoves::find_stride(const LayoutNode& node) {
  const bool is_loop = node.kind == LayoutNode::Kind::kLoop;
  const LayoutNode& run = is_loop ? node.child() : node;
  if (run.kind != LayoutNode::Kind::kRun || (run.size != 4 && run.size != 8 && run.size != 16))
    return false;
  regular_width_ = run.size;
  regular_moves_ = is_loop ? node.loop.count : 1;
  stride_ = is_loop ? node.loop.mem_stride : 0;
  most_elements_ = kMostRegular / regular_moves_;
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
  words_ = words;
  regular_width_ = run.size;
  regular_moves_ = node.loop.count;
  stride_ = node.loop.mem_stride;
  most_elements_ = kMostWords / (regular_moves_ * words);
  moves_.clear();
  return true;
}

bool FewMoves::list_moves(const Layout& layout) {
  const LayoutNode& node = *layout.element.node;
  if (node.leaf_runs > kMostMoves || node.size > kMostMoves * kMoveWidths[0]) return false;
  if (node.leaf_runs == 1 && node.size > kMostSingleRun) return false;
  std::array<std::vector<Offsets>, std::size(kMoveWidths)> by_width;
  int64_t moves = 0;
  bool fits = true;
  for_each_run({0, layout.element.node}, [&](int64_t mem, int64_t packed, int64_t bytes) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    fits = fits && mem >= -kMost && mem <= kMost - bytes;
    if (!fits) return;
    const auto add = [&](size_t width, int64_t at) {
      by_width[width].push_back(
          {static_cast<int32_t>(mem + at), static_cast<int32_t>(packed + at)});
      ++moves;
    };
    const size_t widest = held(bytes);
    int64_t done = 0;
    for (; done + kMoveWidths[widest] <= bytes; done += kMoveWidths[widest]) add(widest, done);
    if (done == bytes) return;
    const size_t last = holding(bytes - done);
    add(last, bytes - kMoveWidths[last]);
  });
  if (!fits || moves > kMostMoves) return false;
  for (const auto& list : by_width) moves_.insert(moves_.end(), list.begin(), list.end());
  const Offsets* end = moves_.data();
  for (size_t i = 0; i < by_width.size(); ++i) end_[i] = end += by_width[i].size();
  most_elements_ = kMostMoves / moves;
  return true;
}

void FewMoves::find_permutes(const Layout& layout) {
  std::vector<Field> runs;
  for_each_run({0, layout.element.node}, [&](int64_t mem, int64_t /*packed*/, int64_t bytes) {
    runs.push_back({mem, bytes});
  });
  permuted_ = make_element(runs, layout.extent);
  if (permuted_.pack == nullptr) return;
  most_elements_ = layout.element.node->size >= kWideBytes ? kMostPermutedWide : kMostPermuted;
}

}  // namespace lacuna
