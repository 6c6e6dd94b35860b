// SPDX-License-Identifier: BSD-3-Clause
//
// Pieces whose offsets are not multiples of 4 bytes: a packed struct with a char, odd runs, odd
// addresses. Packing, a thread writes one aligned 8-byte word of the stream (less at the ends of a
// slice). It finds the place of its first byte and how many bytes are contiguous from there, reads
// whole aligned words around them, drops the other bytes, and goes on with the next run. Unpacking
// may write no byte beside the runs, so each thread writes single bytes: neighbouring threads of a
// warp write neighbouring bytes, which touches few sectors at a time.
#ifndef LACUNA_ENGINE_GPU_BODIES_BYTES_HPP_
#define LACUNA_ENGINE_GPU_BODIES_BYTES_HPP_

#include "gpu/bodies/words.hpp"

namespace lacuna::gpu {

inline constexpr uint32_t kBytesOfThread = 8;

// Loads `n` bytes (1 to 8) from any address, the first in the lowest bits, zeros above. Reads only
// aligned words that hold one of the bytes, so it touches no other page.
LACUNA_HD uint64_t load_bytes(const std::byte* at, uint32_t n) {
  const auto skipped = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(at) & 7);
  uint64_t bytes = load<uint64_t>(at - skipped) >> (8 * skipped);
  if (skipped + n > 8) bytes |= load<uint64_t>(at - skipped + 8) << (8 * (8 - skipped));
  return n == 8 ? bytes : bytes & ((uint64_t{1} << (8 * n)) - 1);
}

// Stores `n` bytes at any address, and no other byte.
LACUNA_HD void store_bytes(std::byte* at, uint64_t bytes, uint32_t n) {
  const auto place = [&] { return reinterpret_cast<uintptr_t>(at); };
  if (n == 8 && place() % 8 == 0) return store(at, bytes);
  while (n != 0) {
    uint32_t step = 1;
    if (n >= 4 && place() % 4 == 0) {
      step = 4;
      store(at, static_cast<uint32_t>(bytes));
    } else if (n >= 2 && place() % 2 == 0) {
      step = 2;
      store(at, static_cast<uint16_t>(bytes));
    } else {
      store(at, static_cast<uint8_t>(bytes));
    }
    bytes >>= 8 * step;
    at += step;
    n -= step;
  }
}

// Loads `n` bytes of the stream, from the tile's byte `ahead` on, out of the piece at `mem`.
template <typename Places, typename Runs>
LACUNA_HD uint64_t gather(const Places& locator, const Digit* loops, const Runs& ranked,
                          const Divisor& words, const std::byte* mem, uint32_t ahead, uint32_t n) {
  uint64_t bytes = 0;
  for (uint32_t done = 0; done < n;) {
    uint32_t left = 0;
    const Place place = locator.template find<true>(loops, ranked, words, 0, ahead + done, &left);
    const uint32_t some = left < n - done ? left : n - done;
    bytes |= load_bytes(mem + place.mem, some) << (8 * done);
    done += some;
  }
  return bytes;
}

// Stores them there.
template <typename Places, typename Runs>
LACUNA_HD void scatter(const Places& locator, const Digit* loops, const Runs& ranked,
                       const Divisor& words, std::byte* mem, uint32_t ahead, uint32_t n,
                       uint64_t bytes) {
  for (uint32_t done = 0; done < n;) {
    uint32_t left = 0;
    const Place place = locator.template find<true>(loops, ranked, words, 0, ahead + done, &left);
    const uint32_t some = left < n - done ? left : n - done;
    store_bytes(mem + place.mem, bytes >> (8 * done), some);
    done += some;
  }
}

// ---- one piece ----

// How many blocks pack `bytes` bytes of the stream, the first of which is at `stream`.
inline uint64_t blocks_of_bytes(const std::byte* stream, uint64_t bytes, uint32_t threads) {
  const uint64_t of_block = uint64_t{kBytesOfThread} * threads;
  return ((reinterpret_cast<uintptr_t>(stream) & 7) + bytes - 1) / of_block + 1;
}

// What one thread of the block for `tile` does. The job's words are single bytes, and the piece is
// dense in the stream: byte i is at packed + i.
template <int kLoops, bool kTables, bool kRanked, typename Runs>
LACUNA_HD void pack_bytes(const WordsJobOf<kLoops, Runs>& job, uint64_t tile, uint32_t thread,
                          uint32_t threads) {
  const auto first = static_cast<int64_t>(job.first);
  const auto last = static_cast<int64_t>(job.last);
  const auto head =
      static_cast<int64_t>(reinterpret_cast<uintptr_t>(job.packed + first) % kBytesOfThread);
  // Blocks and threads begin at aligned words; the first word may begin before the slice.
  const int64_t block = first - head + static_cast<int64_t>(tile * (kBytesOfThread * threads));
  const int64_t word = block + kBytesOfThread * thread;
  const int64_t from = block > first ? block : first;
  const int64_t begin = word > first ? word : first;
  const int64_t end = word + kBytesOfThread < last ? word + kBytesOfThread : last;
  if (begin >= end) return;
  const auto n = static_cast<uint32_t>(end - begin);
  const auto ahead = static_cast<uint32_t>(begin - from);
  const Digit* const loops = job.piece.digits;
  const Locator<kLoops, kTables, kRanked> locator(loops, job.words, static_cast<uint64_t>(from));
  store_bytes(job.packed + begin,
              gather(locator, loops, job.piece.ranked, job.words, job.mem, ahead, n), n);
}

// As move_words, for words of any size.
template <int kLog, int kLoops, bool kTables, bool kRanked, bool kPack, typename Runs>
LACUNA_HD void move_of(const WordsJobOf<kLoops, Runs>& job, uint64_t tile, uint32_t thread,
                       uint32_t threads) {
  if constexpr (kLog != 0) {
    move_words<kLog, kLoops, kTables, kRanked, kPack>(job, tile, thread, threads);
  } else if constexpr (kPack) {
    pack_bytes<kLoops, kTables, kRanked>(job, tile, thread, threads);
  } else {
    move_words<0, kLoops, kTables, kRanked, false, kBytesOfThread>(job, tile, thread, threads);
  }
}

// ---- many messages in one launch ----

// As move_piece, for words of 1 << kLog bytes (1 or 2). A thread moves adjacent bytes of the piece,
// run by run; in the stream the runs need not be adjacent.
template <int kLog, bool kPack>
LACUNA_HD void move_piece_bytes(const PieceRow& row, const Message& message, uint64_t tile,
                                uint32_t thread) {
  constexpr uint32_t kMost = kUnroll << kLog;
  const Piece& piece = row.piece;
  const Divisor& divisor = row.words[0];
  uint64_t all = divisor.count;
  for (const Digit& digit : piece.digits) all *= digit.count.count;
  const uint64_t first = tile * (kMost * kThreads);
  const uint64_t from = first + kMost * thread;
  if (from >= all) return;
  const auto n = static_cast<uint32_t>(all - from < kMost ? all - from : kMost);
  const Locator<kMostLoops, true, true> locator(piece.digits, divisor, first);
  std::byte* const mem = message.mem + piece.mem;
  std::byte* const packed = message.packed + piece.packed;
  const int64_t begin = message.begin - piece.packed;
  const int64_t end = message.end - piece.packed;
  for (uint32_t done = 0; done < n;) {
    uint32_t left = 0;
    Place place = locator.template find<true>(piece.digits, piece.ranked, divisor, 0,
                                              kMost * thread + done, &left);
    int64_t some = left < n - done ? left : n - done;
    done += static_cast<uint32_t>(some);
    // Only bytes of the slice.
    const int64_t skipped = place.packed < begin ? begin - place.packed : 0;
    place.mem += skipped;
    place.packed += skipped;
    some -= skipped;
    if (some > end - place.packed) some = end - place.packed;
    if (some <= 0) continue;
    const auto bytes = static_cast<uint32_t>(some);
    std::byte* const in_mem = mem + place.mem;
    std::byte* const in_stream = packed + place.packed;
    store_bytes(kPack ? in_stream : in_mem, load_bytes(kPack ? in_mem : in_stream, bytes), bytes);
  }
}

template <bool kPack>
LACUNA_HD void move_piece_of(const PieceRow& row, const Message& message, uint64_t tile,
                             uint32_t thread) {
  switch (row.log < message.log ? row.log : message.log) {
    case 0:
      return move_piece_bytes<0, kPack>(row, message, tile, thread);
    case 1:
      return move_piece_bytes<1, kPack>(row, message, tile, thread);
    case 2:
      return move_piece<2, kPack>(row, message, tile, thread);
    case 3:
      return move_piece<3, kPack>(row, message, tile, thread);
    default:
      return move_piece<4, kPack>(row, message, tile, thread);
  }
}

// ---- from one layout to another ----

// The job's words are single bytes.
LACUNA_HD void copy_bytes(const CopyJob& job, uint64_t tile, uint32_t thread, uint32_t threads) {
  using Anywhere = Locator<kMostLoops, true, true>;
  const uint64_t first = tile * (kBytesOfThread * threads);
  const uint32_t ahead = kBytesOfThread * thread;
  if (first + ahead >= job.last) return;
  const uint64_t left = job.last - first - ahead;
  const uint32_t n = left < kBytesOfThread ? static_cast<uint32_t>(left) : kBytesOfThread;
  const Anywhere from(job.from.digits, job.from_words, first);
  const Anywhere to(job.to.digits, job.to_words, first);
  const uint64_t bytes =
      gather(from, job.from.digits, job.from.ranked, job.from_words, job.from_mem, ahead, n);
  scatter(to, job.to.digits, job.to.ranked, job.to_words, job.to_mem, ahead, n, bytes);
}

template <int kLog>
LACUNA_HD void copy_of(const CopyJob& job, uint64_t tile, uint32_t thread, uint32_t threads) {
  if constexpr (kLog == 0) {
    copy_bytes(job, tile, thread, threads);
  } else {
    copy_words<kLog>(job, tile, thread, threads);
  }
}

}  // namespace lacuna::gpu

#endif  // LACUNA_ENGINE_GPU_BODIES_BYTES_HPP_
