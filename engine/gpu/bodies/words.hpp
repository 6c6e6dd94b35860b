// SPDX-License-Identifier: BSD-3-Clause
//
// Kernels that move a piece word by word in the order of the packed stream, so that neighbouring
// threads of a warp move neighbouring words of the stream. A block moves a tile: kUnroll words for
// each thread, or one, where that is faster (../choose.cpp). It finds the digits of the tile's
// first word by 64-bit divisions, and those of each word from there by 32-bit ones. On the host the
// same functions run thread by thread.
#ifndef LACUNA_ENGINE_GPU_BODIES_WORDS_HPP_
#define LACUNA_ENGINE_GPU_BODIES_WORDS_HPP_

#include "gpu/bodies/piece.hpp"

namespace lacuna::gpu {

inline constexpr uint32_t kUnroll = 4;
inline constexpr int kSimpleLoops = 3;
inline constexpr uint32_t kThreads = 256;  // of the kernel for many messages; others may take fewer

// Words [first, last) of a piece.
template <int kLoops, typename Runs = Ranked>
struct WordsJobOf {
  Divisor words;
  std::byte* mem = nullptr;  // addresses of the piece's first byte; it need not be in the slice
  std::byte* packed = nullptr;
  uint64_t first = 0;
  uint64_t last = 0;
  uint64_t of_thread = kUnroll;  // words: 1, or as many as the kernel takes
  PieceOf<kLoops, Runs> piece;
};
using WordsJob = WordsJobOf<kMostLoops>;
using RecordsJob = WordsJobOf<1, Record>;

// The same words of a piece in another form.
template <int kLoops, typename Runs>
WordsJobOf<kLoops, Runs> with_piece(const WordsJob& job, const PieceOf<kLoops, Runs>& piece) {
  return {job.words, job.mem, job.packed, job.first, job.last, job.of_thread, piece};
}

template <int kLoops>
WordsJobOf<kLoops> narrowed(const WordsJob& job) {
  return with_piece(job, narrowed<kLoops>(job.piece));
}

// The job of a piece whose leaf is a record.
inline RecordsJob records_job(const WordsJob& job, const Record& record) {
  const PieceOf<1> piece = narrowed<1>(job.piece);
  return with_piece<1, Record>(
      job, {{piece.digits[0]}, piece.mem, piece.packed, record, piece.leaf_bytes});
}

// How many bytes are contiguous in memory from byte `in_leaf` on: up to the end of its run, or of
// its group of 32 units. `begins`: as in Group; `unit`: that of the byte.
LACUNA_HD uint32_t left_of(uint32_t begins, uint32_t unit, uint32_t unit_log, uint32_t in_leaf) {
  const uint32_t until = (uint32_t{2} << (unit & 31)) - 1;
  const uint32_t units = first_bit_of(begins & ~until) - (unit & 31);
  return (units << unit_log) - (in_leaf & ((uint32_t{1} << unit_log) - 1));
}

// How many runs of the group begin at this unit or before it.
LACUNA_HD uint32_t run_of(uint32_t begins, uint32_t unit) {
  return bits_of(begins & ((uint32_t{2} << (unit & 31)) - 1));
}

struct Place {
  int64_t mem;
  int64_t packed;
};

// Finds the places of a tile's words from the last kLoops digits of a piece; the others must have a
// count of 1. kTables, kRanked: whether the piece may have tables and a ranked leaf. 64-bit offsets
// only if kLoops is kMostLoops.
template <int kLoops, bool kTables, bool kRanked>
struct Locator {
  static constexpr bool kWide = kLoops == kMostLoops;
  uint32_t digits[static_cast<size_t>(kLoops) + 1];

  LACUNA_HD Locator(const Digit* loops, const Divisor& words, uint64_t first) {
    uint64_t rest = quotient(first, words);
    digits[kLoops] = static_cast<uint32_t>(first - rest * words.count);
    LACUNA_UNROLL
    for (int k = kLoops - 1; k > 0; --k) {
      const Divisor& count = loops[k].count;
      const uint64_t next = quotient(rest, count);
      digits[k] = static_cast<uint32_t>(rest - next * count.count);
      rest = next;
    }
    digits[0] = static_cast<uint32_t>(rest);
  }

  // The place of the word `ahead` words after the first, from the piece's first byte.
  template <typename Runs>
  LACUNA_HD Place at(const Digit* loops, const Runs& ranked, const Divisor& words, int log,
                     uint32_t ahead) const {
    return find<false>(loops, ranked, words, log, ahead, nullptr);
  }

  // The same. With kLeft, for words of single bytes, *left is how many bytes are contiguous in
  // memory from this one on (up to the end of its run, or of its group of 32 units).
  template <bool kLeft, typename Runs>
  LACUNA_HD Place find(const Digit* loops, const Runs& ranked, const Divisor& words, int log,
                       uint32_t ahead, uint32_t* left) const {
    Place place = {0, 0};
    const uint32_t word = digits[kLoops] + ahead;
    uint32_t carry = quotient(word, words);
    const uint32_t in_leaf = word - carry * words.count;
    const int64_t inside = static_cast<int64_t>(in_leaf) << log;
    if (kLeft) *left = words.count - in_leaf;
    LACUNA_UNROLL
    for (int k = kLoops - 1; k >= 0; --k) {
      const Digit& digit = loops[k];
      uint32_t i = digits[k] + carry;
      if (k > 0) {
        carry = quotient(i, digit.count);
        i -= carry * digit.count.count;
      }
      place.mem += i * digit.mem_stride;
      if (kTables && (kLoops == 1 || digit.table.entries != nullptr))
        place.mem += offset_at<kWide>(digit.table, i);
      place.packed += i * digit.packed_stride;
    }
    place.packed += inside;
    place.mem += inside;
    if constexpr (kRanked) place.mem += shift<kLeft>(ranked, inside, in_leaf, left);
    return place;
  }

 private:
  // What to add to a byte's offset in the leaf's stream to get its offset in memory.
  template <bool kLeft>
  LACUNA_HD static int64_t shift(const Ranked& ranked, int64_t inside, uint32_t in_leaf,
                                 uint32_t* left) {
    if (kLoops == kMostLoops && ranked.groups == nullptr) return 0;
    const auto unit = static_cast<uint32_t>(inside >> ranked.unit_log);
    const Group group = ranked.groups[unit >> 5];
    if (kLeft) keep_least(left, left_of(group.begins, unit, ranked.unit_log, in_leaf));
    return offset_at<kWide>(ranked.shifts, group.before + run_of(group.begins, unit) - 1);
  }

  template <bool kLeft>
  LACUNA_HD static int64_t shift(const Record& record, int64_t inside, uint32_t in_leaf,
                                 uint32_t* left) {
    const auto unit = static_cast<uint32_t>(inside >> record.unit_log);
    if (kLeft) keep_least(left, left_of(record.begins, unit, record.unit_log, in_leaf));
    return record.shifts[run_of(record.begins, unit) - 1];
  }

  LACUNA_HD static void keep_least(uint32_t* left, uint32_t most) {
    if (most < *left) *left = most;
  }
};

// What one thread of the block for `tile` does: kMany words. The tile must have at least one word;
// threads behind the last word move that one again.
template <int kLog, int kLoops, bool kTables, bool kRanked, bool kPack, uint32_t kMany,
          typename Runs>
LACUNA_HD void move_some(const WordsJobOf<kLoops, Runs>& job, uint64_t tile, uint32_t thread,
                         uint32_t threads) {
  using Word = WordOf<kLog>;
  const uint64_t first = job.first + tile * (kMany * threads);
  const uint64_t left = job.last - first;
  const uint32_t most =
      (left < kMany * threads ? static_cast<uint32_t>(left) : kMany * threads) - 1;
  const Digit* const loops = job.piece.digits;
  const Locator<kLoops, kTables, kRanked> locator(loops, job.words, first);
  Word words[kMany];
  std::byte* to[kMany];
  LACUNA_UNROLL
  for (uint32_t u = 0; u < kMany; ++u) {
    const uint32_t ahead = thread + u * threads;
    const Place place =
        locator.at(loops, job.piece.ranked, job.words, kLog, ahead < most ? ahead : most);
    std::byte* const mem = job.mem + place.mem;
    std::byte* const packed = job.packed + place.packed;
    words[u] = load<Word>(kPack ? mem : packed);
    to[u] = kPack ? packed : mem;
  }
  LACUNA_UNROLL
  for (uint32_t u = 0; u < kMany; ++u) store(to[u], words[u]);
}

template <int kLog, int kLoops, bool kTables, bool kRanked, bool kPack, uint32_t kMany = kUnroll,
          typename Runs>
LACUNA_HD void move_words(const WordsJobOf<kLoops, Runs>& job, uint64_t tile, uint32_t thread,
                          uint32_t threads) {
  if (job.of_thread == 1)
    return move_some<kLog, kLoops, kTables, kRanked, kPack, 1>(job, tile, thread, threads);
  move_some<kLog, kLoops, kTables, kRanked, kPack, kMany>(job, tile, thread, threads);
}

// ---- many messages in one launch ----

struct Message {
  const PieceRow* rows = nullptr;
  const uint32_t* tiles = nullptr;  // the first tile of each piece, for words of 1 << log bytes
  std::byte* mem = nullptr;
  std::byte* packed =
      nullptr;        // address of byte 0 of the packed stream; it need not be in the slice
  int64_t begin = 0;  // the slice [begin, end) of the stream is moved
  int64_t end = 0;
  uint32_t pieces = 0;
  uint32_t log = 0;         // logarithm of the widest words that the addresses and the slice allow
  uint32_t first_tile = 0;  // in the launch
  uint32_t unused = 0;
};

// Binary search: the index of the last of `n` ascending numbers that is at most `value`. The first
// must be.
template <typename At>
LACUNA_HD uint32_t last_at_most(uint32_t n, uint32_t value, const At& at) {
  uint32_t low = 0;
  while (n - low > 1) {
    const uint32_t middle = low + (n - low) / 2;
    if (at(middle) <= value) {
      low = middle;
    } else {
      n = middle;
    }
  }
  return low;
}

// What one thread does for a tile of one piece of a message. Words outside [begin, end) are not
// moved. kAtOnce: how many words are loaded before the first is stored.
template <int kLog, bool kPack, int kLoops, bool kLists, uint32_t kAtOnce>
LACUNA_HD void move_piece(const PieceRow& row, const Message& message, uint64_t tile,
                          uint32_t thread) {
  using Word = WordOf<kLog>;
  const Piece& piece = row.piece;
  const Divisor& divisor = row.words[kLog];
  const Digit* const loops = piece.digits + (kMostLoops - kLoops);
  uint64_t all = divisor.count;
  for (int k = 0; k < kLoops; ++k) all *= loops[k].count.count;
  const uint64_t first = tile * (kUnroll * kThreads);
  const uint64_t left = all - first;
  const uint32_t most =
      (left < kUnroll * kThreads ? static_cast<uint32_t>(left) : kUnroll * kThreads) - 1;
  const Locator<kLoops, kLists, kLists> locator(loops, divisor, first);
  std::byte* const mem = message.mem + piece.mem;
  std::byte* const packed = message.packed + piece.packed;
  const int64_t begin = message.begin - piece.packed;
  const int64_t end = message.end - piece.packed;
  LACUNA_NO_UNROLL
  for (uint32_t round = 0; round < kUnroll; round += kAtOnce) {
    Word words[kAtOnce];
    Place places[kAtOnce];
    bool moves[kAtOnce];
    LACUNA_UNROLL
    for (uint32_t u = 0; u < kAtOnce; ++u) {
      const uint32_t ahead = thread + (round + u) * kThreads;
      places[u] = locator.at(loops, piece.ranked, divisor, kLog, ahead < most ? ahead : most);
      moves[u] = places[u].packed >= begin && places[u].packed < end;
      if (moves[u]) words[u] = load<Word>(kPack ? mem + places[u].mem : packed + places[u].packed);
    }
    LACUNA_UNROLL
    for (uint32_t u = 0; u < kAtOnce; ++u) {
      if (moves[u]) store(kPack ? packed + places[u].packed : mem + places[u].mem, words[u]);
    }
  }
}

template <int kLog, bool kPack>
LACUNA_HD void move_piece(const PieceRow& row, const Message& message, uint64_t tile,
                          uint32_t thread) {
  if (row.is_simple != 0)
    return move_piece<kLog, kPack, kSimpleLoops, false, kUnroll>(row, message, tile, thread);
  move_piece<kLog, kPack, kMostLoops, true, 1>(row, message, tile, thread);
}

// ---- from one layout to another ----

// Words [0, last) from one piece to another. Each is a whole message, dense in the packed stream.
struct CopyJob {
  Piece from;
  Piece to;
  Divisor from_words;
  Divisor to_words;
  const std::byte* from_mem = nullptr;  // addresses of the pieces' first bytes
  std::byte* to_mem = nullptr;
  uint64_t last = 0;
};

template <int kLog>
LACUNA_HD void copy_words(const CopyJob& job, uint64_t tile, uint32_t thread, uint32_t threads) {
  using Word = WordOf<kLog>;
  using Anywhere = Locator<kMostLoops, true, true>;
  const uint64_t first = tile * (kUnroll * threads);
  const uint64_t left = job.last - first;
  const uint32_t most =
      (left < kUnroll * threads ? static_cast<uint32_t>(left) : kUnroll * threads) - 1;
  const Anywhere from(job.from.digits, job.from_words, first);
  const Anywhere to(job.to.digits, job.to_words, first);
  Word words[kUnroll];
  LACUNA_UNROLL
  for (uint32_t u = 0; u < kUnroll; ++u) {
    const uint32_t ahead = thread + u * threads;
    words[u] = load<Word>(job.from_mem + from.at(job.from.digits, job.from.ranked, job.from_words,
                                                 kLog, ahead < most ? ahead : most)
                                             .mem);
  }
  LACUNA_UNROLL
  for (uint32_t u = 0; u < kUnroll; ++u) {
    const uint32_t ahead = thread + u * threads;
    store(job.to_mem +
              to.at(job.to.digits, job.to.ranked, job.to_words, kLog, ahead < most ? ahead : most)
                  .mem,
          words[u]);
  }
}

}  // namespace lacuna::gpu

#endif  // LACUNA_ENGINE_GPU_BODIES_WORDS_HPP_
