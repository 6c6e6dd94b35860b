// SPDX-License-Identifier: BSD-3-Clause
//
// Kernels that move a piece word by word in the order of the packed stream: neighbours in a warp
// have neighbours in the stream. A block takes a tile of kUnroll words for each of its threads; it
// finds the digits of the tile's first word by wide divisions, and each word its own from there by
// narrow ones. On the host the same functions run thread by thread.
#ifndef LACUNA_ENGINE_GPU_WORDS_HPP_
#define LACUNA_ENGINE_GPU_WORDS_HPP_

#include "gpu/piece.hpp"

namespace lacuna::gpu {

inline constexpr uint32_t kUnroll = 4;
inline constexpr uint32_t kThreads = 256;  // of the kernel for many messages; others may take fewer

// Words [first, last) of a piece.
struct WordsJob {
  Piece piece;
  Divisor words;
  std::byte* mem = nullptr;
  std::byte* packed = nullptr;  // where byte 0 of the packed stream is, or would be
  uint64_t first = 0;
  uint64_t last = 0;
};

struct Place {
  int64_t mem;
  int64_t packed;
};

// Where words are, from a tile's first on. The piece has at most kLoops loops; tables and ranked
// leaves only where the parameters say so, and wide offsets only where kLoops is kMostLoops.
template <int kLoops, bool kTables, bool kRanked>
struct Locator {
  static constexpr bool kWide = kLoops == kMostLoops;
  uint32_t digits[static_cast<size_t>(kLoops) + 1];

  LACUNA_HD Locator(const Piece& piece, const Divisor& words, uint64_t first) {
    uint64_t rest = quotient(first, words);
    digits[kLoops] = static_cast<uint32_t>(first - rest * words.count);
LACUNA_UNROLL
    for (int k = kLoops - 1; k > 0; --k) {
      const Divisor& count = piece.digits[kMostLoops - kLoops + k].count;
      const uint64_t next = quotient(rest, count);
      digits[k] = static_cast<uint32_t>(rest - next * count.count);
      rest = next;
    }
    digits[0] = static_cast<uint32_t>(rest);
  }

  // Of the word `ahead` of the first.
  LACUNA_HD Place at(const Piece& piece, const Divisor& words, int log, uint32_t ahead) const {
    Place place = {piece.mem, piece.packed};
    const uint32_t word = digits[kLoops] + ahead;
    uint32_t carry = quotient(word, words);
    const int64_t inside = static_cast<int64_t>(word - carry * words.count) << log;
LACUNA_UNROLL
    for (int k = kLoops - 1; k >= 0; --k) {
      const Digit& digit = piece.digits[kMostLoops - kLoops + k];
      uint32_t i = digits[k] + carry;
      if (k > 0) {
        carry = quotient(i, digit.count);
        i -= carry * digit.count.count;
      }
      place.mem += i * digit.mem_stride;
      if (kTables && ((kLoops == 1 && !kRanked) || digit.table.entries != nullptr))
        place.mem += offset_at<kWide>(digit.table, i);
      place.packed += i * digit.packed_stride;
    }
    place.packed += inside;
    place.mem += inside;
    if (kRanked && (!kWide || piece.ranked.groups != nullptr)) {
      const auto unit = static_cast<uint32_t>(inside >> piece.ranked.unit_log);
      const Group group = piece.ranked.groups[unit >> 5];
      const uint32_t up_to = group.begins & ((uint32_t{2} << (unit & 31)) - 1);
      place.mem += offset_at<kWide>(piece.ranked.shifts, group.before + bits_of(up_to) - 1);
    }
    return place;
  }
};

// One thread of the block that takes `tile`, which has at least one word. Threads behind the last
// word move that one again.
template <int kLog, int kLoops, bool kTables, bool kRanked, bool kPack>
LACUNA_HD void move_words(const WordsJob& job, uint64_t tile, uint32_t thread, uint32_t threads) {
  using Word = typename WordOf<kLog>::type;
  const uint64_t first = job.first + tile * (kUnroll * threads);
  const uint64_t left = job.last - first;
  const uint32_t most = (left < kUnroll * threads ? static_cast<uint32_t>(left) : kUnroll * threads) - 1;
  const Locator<kLoops, kTables, kRanked> locator(job.piece, job.words, first);
  Word words[kUnroll];
  std::byte* to[kUnroll];
LACUNA_UNROLL
  for (uint32_t u = 0; u < kUnroll; ++u) {
    const uint32_t ahead = thread + u * threads;
    const Place place = locator.at(job.piece, job.words, kLog, ahead < most ? ahead : most);
    std::byte* const mem = job.mem + place.mem;
    std::byte* const packed = job.packed + place.packed;
    words[u] = load<Word>(kPack ? mem : packed);
    to[u] = kPack ? packed : mem;
  }
LACUNA_UNROLL
  for (uint32_t u = 0; u < kUnroll; ++u) store(to[u], words[u]);
}

// ---- many messages in one launch ----

struct Message {
  const PlanView* plan = nullptr;
  std::byte* mem = nullptr;
  std::byte* packed = nullptr;  // where byte 0 of the packed stream is, or would be
  int64_t begin = 0;            // of the stream, what is moved
  int64_t end = 0;
  uint32_t log = 0;         // of the widest words that the addresses and the slice allow
  uint32_t first_tile = 0;  // in the launch
};

// The last of `n` ascending numbers, of which the first is at most `value`, that is at most it.
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

// One thread of a tile of one piece of a message, as above; words outside [begin, end) stay.
template <int kLog, bool kPack>
LACUNA_HD void move_piece(const PieceRow& row, const Message& message, uint64_t tile,
                          uint32_t thread) {
  using Word = typename WordOf<kLog>::type;
  const Piece& piece = row.piece;
  const Divisor& words = row.words[kLog];
  uint64_t all = words.count;
  for (const Digit& digit : piece.digits) all *= digit.count.count;
  const uint64_t first = tile * (kUnroll * kThreads);
  const uint64_t left = all - first;
  const Locator<kMostLoops, true, true> locator(piece, words, first);
LACUNA_NO_UNROLL
  for (uint32_t u = 0; u < kUnroll; ++u) {
    const uint32_t ahead = thread + u * kThreads;
    if (ahead >= left) return;
    const Place place = locator.at(piece, words, kLog, ahead);
    if (place.packed < message.begin || place.packed >= message.end) continue;
    std::byte* const mem = message.mem + place.mem;
    std::byte* const packed = message.packed + place.packed;
    if (kPack) {
      store(packed, load<Word>(mem));
    } else {
      store(mem, load<Word>(packed));
    }
  }
}

template <bool kPack>
LACUNA_HD void move_piece_of(const PieceRow& row, const Message& message, uint64_t tile,
                             uint32_t thread) {
  switch (row.log < message.log ? row.log : message.log) {
    case 0:
      return move_piece<0, kPack>(row, message, tile, thread);
    case 1:
      return move_piece<1, kPack>(row, message, tile, thread);
    case 2:
      return move_piece<2, kPack>(row, message, tile, thread);
    case 3:
      return move_piece<3, kPack>(row, message, tile, thread);
    default:
      return move_piece<4, kPack>(row, message, tile, thread);
  }
}

// ---- from one layout to another ----

// Words [0, last) of two pieces that are a whole message each, dense in the packed stream.
struct CopyJob {
  Piece from;
  Piece to;
  Divisor from_words;
  Divisor to_words;
  const std::byte* from_mem = nullptr;
  std::byte* to_mem = nullptr;
  uint64_t last = 0;
};

template <int kLog>
LACUNA_HD void copy_words(const CopyJob& job, uint64_t tile, uint32_t thread, uint32_t threads) {
  using Word = typename WordOf<kLog>::type;
  using Anywhere = Locator<kMostLoops, true, true>;
  const uint64_t first = tile * (kUnroll * threads);
  const uint64_t left = job.last - first;
  const uint32_t most = (left < kUnroll * threads ? static_cast<uint32_t>(left) : kUnroll * threads) - 1;
  const Anywhere from(job.from, job.from_words, first);
  const Anywhere to(job.to, job.to_words, first);
  Word words[kUnroll];
LACUNA_UNROLL
  for (uint32_t u = 0; u < kUnroll; ++u) {
    const uint32_t ahead = thread + u * threads;
    words[u] = load<Word>(
        job.from_mem + from.at(job.from, job.from_words, kLog, ahead < most ? ahead : most).mem);
  }
LACUNA_UNROLL
  for (uint32_t u = 0; u < kUnroll; ++u) {
    const uint32_t ahead = thread + u * threads;
    store(job.to_mem + to.at(job.to, job.to_words, kLog, ahead < most ? ahead : most).mem, words[u]);
  }
}

}  // namespace lacuna::gpu

#endif  // LACUNA_ENGINE_GPU_WORDS_HPP_
