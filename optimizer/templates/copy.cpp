// SPDX-License-Identifier: BSD-3-Clause
//
// Runs whose length only the run time knows: most are short (a halo of three floats), where a call
// of memcpy costs several times what the bytes do. Of a short run, each half is loaded before any
// is stored; the two may overlap, and nothing outside the run is touched.
#include <cstring>

#include "optimizer/templates/part.hpp"

namespace {

// A word at any place: a vector, since arrays of bytes went by the frame, stored and loaded again.
template <int kBytes>
struct Word {
  typedef char Type [[gnu::vector_size(kBytes), gnu::aligned(1), gnu::may_alias]];
};

// A run of `kBytes`.
template <int kBytes>
[[gnu::always_inline]] inline void word(char* to, const char* from) {
  using Word = typename Word<kBytes>::Type;
  *reinterpret_cast<Word*>(to) = *reinterpret_cast<const Word*>(from);
}

// The first and the last `kBytes` of a run of as many to twice that.
template <int kBytes>
[[gnu::always_inline]] inline void ends(char* to, const char* from, int64_t bytes) {
  using Word = typename Word<kBytes>::Type;
  const Word first = *reinterpret_cast<const Word*>(from);
  const Word last = *reinterpret_cast<const Word*>(from + bytes - kBytes);
  *reinterpret_cast<Word*>(to) = first;
  *reinterpret_cast<Word*>(to + bytes - kBytes) = last;
}

// Chooses what copies a run of so many bytes, and hands it to `each`.
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

// One run.
extern "C" [[gnu::always_inline]] void lacuna_template_copy(char* to, const char* from,
                                                            int64_t bytes) {
  by_length(bytes, [=](auto copy) __attribute__((always_inline)) { copy(to, from); });
}

// `count` runs of one length, with so many bytes from the begin of each to that of the next: what
// copies them is chosen once (Zen 5, MPI_Pack of 96 KB in runs of 4, 12, 16, 32 and 64 bytes,
// -O2: chosen for each 13.9, 5.5, 3.5, 3.2, 1.7 us, now 5.7, 2.6, 1.4, 2.0, 1.4; 4 bytes in rows of
// one to four 0.8 to 0.9 times as fast, for the call). One function of 551 bytes for a file.
// To ask for lines 4 KiB ahead, which the receiver's core may have read since, was not worth it
// (Zen 5, MPICH, cores apart, 75 KiB in runs of 12 bytes, sent over and over: 22.6 us, so 20.4;
// MPI_Pack within the caches 1.05 to 1.2 times as long).
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
  // Their ends would be half as wide, and twice as many.
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
