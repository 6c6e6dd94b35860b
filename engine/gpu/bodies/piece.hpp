// SPDX-License-Identifier: BSD-3-Clause
//
// Piece: what a kernel moves: a nest of loops over a run or over a list of runs, as plain data that
// host and device read alike. ../pieces.cpp makes it from a layout; words.hpp, bytes.hpp and
// tiles.hpp move it.
//
// Terms:
//   digit    one loop. A word's number in the piece is a number in mixed radix, whose digits are
//            the iterations of the loops. Every loop has both strides, so the words of a piece may
//            be moved in any order.
//   word     1, 2, 4, 8 or 16 bytes: the widest of which all offsets of a message are multiples.
//   ranked   a leaf of unequal runs. A bit for each unit of the packed stream says whether a run
//            begins there. The run of a unit is the number of bits up to it: a count for each 32
//            units, and one popcount, instead of a search.
#ifndef LACUNA_ENGINE_GPU_BODIES_PIECE_HPP_
#define LACUNA_ENGINE_GPU_BODIES_PIECE_HPP_

#include <cstddef>
#include <cstdint>
#include <tuple>

#if defined(__CUDACC__)
#define LACUNA_HD __host__ __device__ __forceinline__
#define LACUNA_UNROLL _Pragma("unroll")
#define LACUNA_NO_UNROLL _Pragma("unroll 1")
#else
#define LACUNA_HD inline
#define LACUNA_UNROLL
#define LACUNA_NO_UNROLL
#endif

namespace lacuna::gpu {

inline constexpr int kMostLoops = 6;
inline constexpr int kWordSizes = 5;  // 1 << 0 .. 1 << 4 bytes
// Counts are less than this, so that a digit plus a carry fits the 32-bit division.
inline constexpr int64_t kMostCount = int64_t{1} << 30;

// Division by a constant as a multiplication (Granlund and Montgomery 1994): numbers below 2^31 use
// `narrow`, numbers below 2^63 `wide`; both are ceil(2^(n + shift) / count), n = 31 and 63.
struct Divisor {
  uint64_t wide = uint64_t{1} << 63;
  uint32_t narrow = uint32_t{1} << 31;
  uint32_t shift = 0;
  uint32_t count = 1;
  uint32_t unused = 0;
};

LACUNA_HD uint32_t quotient(uint32_t x, const Divisor& d) {
#if defined(__CUDA_ARCH__)
  return __umulhi(x + x, d.narrow) >> d.shift;
#else
  return static_cast<uint32_t>((uint64_t{x + x} * d.narrow) >> 32) >> d.shift;
#endif
}

LACUNA_HD uint64_t quotient(uint64_t x, const Divisor& d) {
#if defined(__CUDA_ARCH__)
  return __umul64hi(x + x, d.wide) >> d.shift;
#else
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>((Wide{x + x} * d.wide) >> 64) >> d.shift;
#endif
}

// Offsets as int32 in units of `scale`, or as int64 (scale 0).
struct Offsets {
  const void* entries = nullptr;
  int64_t scale = 0;
};

// Only with kWide may they be int64: a branch between two loads would serialise them.
template <bool kWide>
LACUNA_HD int64_t offset_at(const Offsets& offsets, uint32_t i) {
  if (kWide && offsets.scale == 0) return static_cast<const int64_t*>(offsets.entries)[i];
  return static_cast<const int32_t*>(offsets.entries)[i] * offsets.scale;
}

struct Digit {
  int64_t mem_stride = 0;
  int64_t packed_stride = 0;
  Offsets table;  // with entries: memory offsets of the iterations; mem_stride is 0
  Divisor count;
};

// 32 units of a ranked leaf.
struct Group {
  uint32_t begins = 0;  // bit k: a run begins at unit k
  uint32_t before = 0;  // runs that begin before these units
};

struct Ranked {
  const Group* groups = nullptr;
  Offsets shifts;  // of each run: memory offset minus offset in the packed stream of the leaf
  uint32_t unit_log = 0;
  uint32_t unused = 0;
};

// A ranked leaf of few runs, such as a struct. A kernel gets it among its parameters, so that a
// small message does not wait for loads of tables.
inline constexpr int kMostRecordRuns = 8;
struct Record {
  uint32_t begins = 0;  // as in Group
  uint32_t unit_log = 0;
  int32_t shifts[kMostRecordRuns] = {};  // bytes
};

template <int kLoops, typename Runs = Ranked>
struct PieceOf {
  // The outermost loop first. Unused digits are in front and have a count of 1.
  Digit digits[static_cast<size_t>(kLoops == 0 ? 1 : kLoops)];
  int64_t mem = 0;  // offset of the first byte, in memory and in the stream
  int64_t packed = 0;
  Runs ranked;  // with groups: the leaf is these runs, else one run
  int64_t leaf_bytes = 0;
};
using Piece = PieceOf<kMostLoops>;

// The same piece with room for kLoops loops only: small messages gain by each cache line of kernel
// parameters that is not read (docs/experiments/2026-11-26-gpu-small-choices.md).
template <int kLoops>
PieceOf<kLoops> narrowed(const Piece& piece) {
  PieceOf<kLoops> made;
  for (int k = 0; k < kLoops; ++k) made.digits[k] = piece.digits[kMostLoops - kLoops + k];
  made.mem = piece.mem;
  made.packed = piece.packed;
  made.ranked = piece.ranked;
  made.leaf_bytes = piece.leaf_bytes;
  return made;
}

struct PieceRow {
  Piece piece;
  Divisor words[kWordSizes];  // [i]: how many words of 1 << i bytes a leaf has
  uint32_t log = 0;           // logarithm of the widest words that its own offsets allow
  uint8_t lists = 0;          // 1: tables or a ranked leaf; 2: with 64-bit offsets
  uint8_t is_simple = 0;      // no lists, and at most kSimpleLoops loops
  uint16_t leaves_parts = 0;  // whether runs fill sectors of 32 bytes only in part
};

struct alignas(16) Word16 {
  uint32_t parts[4];
};

// The word of 2^kLog bytes.
template <int kLog>
using WordOf = std::tuple_element_t<static_cast<size_t>(kLog),
                                    std::tuple<uint8_t, uint16_t, uint32_t, uint64_t, Word16>>;

template <typename Word>
LACUNA_HD Word load(const std::byte* at) {
#if defined(__CUDA_ARCH__)
  return *reinterpret_cast<const Word*>(at);
#else
  if (reinterpret_cast<uintptr_t>(at) % sizeof(Word) != 0) __builtin_trap();
  Word word;
  __builtin_memcpy(&word, at, sizeof word);
  return word;
#endif
}

template <typename Word>
LACUNA_HD void store(std::byte* at, const Word& word) {
#if defined(__CUDA_ARCH__)
  *reinterpret_cast<Word*>(at) = word;
#else
  if (reinterpret_cast<uintptr_t>(at) % sizeof(Word) != 0) __builtin_trap();
  __builtin_memcpy(at, &word, sizeof word);
#endif
}

LACUNA_HD uint32_t bits_of(uint32_t mask) {
#if defined(__CUDA_ARCH__)
  return static_cast<uint32_t>(__popc(mask));
#else
  return static_cast<uint32_t>(__builtin_popcount(mask));
#endif
}

// The index of the lowest bit that is set; 32: none.
LACUNA_HD uint32_t first_bit_of(uint32_t mask) {
#if defined(__CUDA_ARCH__)
  return mask == 0 ? 32 : static_cast<uint32_t>(__ffs(static_cast<int>(mask))) - 1;
#else
  return mask == 0 ? 32 : static_cast<uint32_t>(__builtin_ctz(mask));
#endif
}

}  // namespace lacuna::gpu

#endif  // LACUNA_ENGINE_GPU_BODIES_PIECE_HPP_
