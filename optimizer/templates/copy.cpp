// SPDX-License-Identifier: BSD-3-Clause
//
// Copies runs whose length only the run time knows. Most are short (a halo of three floats), where
// calling memcpy takes longer than the copy. A short run is copied by two moves of half to all of
// its length, which may overlap; both are loaded before one is stored.
#include <cstring>

#include "optimizer/templates/buffer_arg.hpp"

namespace {

// An unaligned word. A vector: LLVM would copy an array of bytes by way of the stack.
template <int kBytes>
struct Word {
  typedef char Type [[gnu::vector_size(kBytes), gnu::aligned(1), gnu::may_alias]];
};

// Copies a run of `kBytes`.
template <int kBytes>
[[gnu::always_inline]] inline void word(char* to, const char* from) {
  using Word = typename Word<kBytes>::Type;
  *reinterpret_cast<Word*>(to) = *reinterpret_cast<const Word*>(from);
}

// Copies a run of kBytes to 2 * kBytes: its first and its last `kBytes`.
template <int kBytes>
[[gnu::always_inline]] inline void ends(char* to, const char* from, int64_t bytes) {
  using Word = typename Word<kBytes>::Type;
  const Word first = *reinterpret_cast<const Word*>(from);
  const Word last = *reinterpret_cast<const Word*>(from + bytes - kBytes);
  *reinterpret_cast<Word*>(to) = first;
  *reinterpret_cast<Word*>(to + bytes - kBytes) = last;
}

// Chooses the function that copies runs of `bytes`, and calls `each` with it.
template <class Each>
[[gnu::always_inline]] inline void by_length(int64_t bytes, const Each& each) {
  if (bytes > 64) {
    each([bytes](char* to, const char* from) { std::memcpy(to, from, size_t(bytes)); });
  } else if (bytes >= 32) {
    each([bytes](char* to, const char* from) { ends<32>(to, from, bytes); });
  } else if (bytes >= 16) {
    each([bytes](char* to, const char* from) { ends<16>(to, from, bytes); });
  } else if (bytes >= 8) {
    each([bytes](char* to, const char* from) { ends<8>(to, from, bytes); });
  } else if (bytes >= 4) {
    each([bytes](char* to, const char* from) { ends<4>(to, from, bytes); });
  } else if (bytes >= 2) {
    each([bytes](char* to, const char* from) { ends<2>(to, from, bytes); });
  } else if (bytes == 1) {
    each(word<1>);
  }
}

}  // namespace

// Copies one run.
extern "C" [[gnu::always_inline]] void lacuna_template_copy(char* to, const char* from,
                                                            int64_t bytes) {
  by_length(bytes, [=](auto copy) __attribute__((always_inline)) { copy(to, from); });
}

// Copies `count` runs of one length at two strides. The function that copies a run is chosen once
// for all of them, which is up to 2.5 times as fast as choosing for each; software prefetch did not
// pay (docs/experiments/2026-11-26-compiled-code.md, "Runs of the run time").
extern "C" [[gnu::noinline]] void lacuna_template_copy_rows(char* __restrict to, int64_t to_stride,
                                                            const char* __restrict from,
                                                            int64_t from_stride, int64_t bytes,
                                                            int64_t count) {
  const auto rows = [=](auto copy) __attribute__((always_inline)) {
    char* its = to;
    const char* source = from;
#pragma clang loop unroll(disable) vectorize(disable)
    for (int64_t i = 0; i < count; ++i, its += to_stride, source += from_stride) copy(its, source);
  };
  // One word is enough for these; by_length would copy them by two of half the width.
  switch (bytes) {
    case 4:
      return rows(word<4>);
    case 8:
      return rows(word<8>);
    case 16:
      return rows(word<16>);
    default:
      return by_length(bytes, rows);
  }
}
