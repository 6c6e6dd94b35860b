// SPDX-License-Identifier: BSD-3-Clause
//
// From a message to a launch: the width of the words, which kernel, and how many blocks.
#include <algorithm>
#include <bit>
#include <cstdlib>

#include "gpu/plan.hpp"

namespace lacuna::gpu {
namespace {

// Below so many words blocks are smaller, so that all multiprocessors have some. Below the second
// number each word has a thread, all of which run at once.
constexpr uint64_t kWordsForWholeBlocks = uint64_t{1} << 20;
constexpr uint64_t kWordsForHalfBlocks = uint64_t{1} << 18;
// Shorter runs that fill sectors only in part are unpacked with a thread for each word, too. The
// device reads such sectors before it writes them, which is faster if those in flight are close.
constexpr int64_t kShortRun = 128;
// The kernel for words takes words of at least 4 bytes; the bytes kernel does the rest.
constexpr int kLeastWordLog = 2;
// The device reads memory in sectors of 32 bytes. So tiles are for elements of at most a sector,
// whose neighbours in the stream are more than a sector apart in memory.
constexpr int64_t kSector = 32;
// Packing, larger elements are read where they are: the L2 cache has the rest of a sector until its
// other element is read, and a tile moves them in several words each
// (docs/experiments/2026-11-27-gpu-rivals.md, w24).
constexpr int64_t kMostGatheredByTiles = 16;
constexpr uint32_t kLeastOfTile = 4;  // iterations of either loop
constexpr int64_t kTileBytes = 8192;
constexpr int kMostTileLog = 8;  // rows of at most kTileThreads elements
// Where there are fewer tiles than this, they are made smaller: down to an element for each thread,
// or to kLeastTileBytes.
constexpr uint64_t kTilesForAll = 512;
constexpr int64_t kLeastTileBytes = 1024;

int word_log(uint32_t plan_log, const void* mem, const std::byte* stream, int64_t begin,
             int64_t end, int most_log) {
  const uint64_t places = reinterpret_cast<uintptr_t>(mem) | reinterpret_cast<uintptr_t>(stream) |
                          static_cast<uint64_t>(begin) | static_cast<uint64_t>(end) |
                          (uint64_t{1} << most_log);
  return std::min(static_cast<int>(plan_log), std::countr_zero(places));
}

// How many of the piece's words come before byte `at` of the stream, which is a multiple of a word.
uint64_t words_before(const PieceRow& row, int log, int64_t at) {
  const Piece& piece = row.piece;
  const uint32_t leaf = row.words[log].count;
  uint64_t each = leaf;  // words of one iteration of the current loop
  for (const Digit& digit : piece.digits) each *= digit.count.count;
  uint64_t before = 0;
  int64_t rest = at - piece.packed;
  if (rest <= 0) return 0;
  for (const Digit& digit : piece.digits) {
    each /= digit.count.count;
    if (digit.count.count == 1) continue;
    const int64_t i = std::min<int64_t>(digit.count.count, rest / digit.packed_stride);
    before += static_cast<uint64_t>(i) * each;
    if (i == digit.count.count) return before;
    rest -= i * digit.packed_stride;
  }
  return before + static_cast<uint64_t>(std::min<int64_t>(leaf, rest >> log));
}

struct Pair {
  int near = -1;
  int last = -1;
};

// The two loops of a transpose, or -1: the last loop, of neighbours in the stream, which are far
// apart in memory; and one whose iterations are near each other in memory.
Pair transposed(const PieceRow& row) {
  const Piece& piece = row.piece;
  if (piece.ranked.groups != nullptr || piece.leaf_bytes > kSector) return {};
  const int last = kMostLoops - 1;
  const Digit& digit = piece.digits[last];
  if (digit.table.entries != nullptr || digit.count.count < kLeastOfTile) return {};
  int near = -1;
  for (int k = 0; k < last; ++k) {
    if (piece.digits[k].table.entries != nullptr) return {};
    if (piece.digits[k].count.count < kLeastOfTile) continue;
    if (near < 0 || std::abs(piece.digits[k].mem_stride) < std::abs(piece.digits[near].mem_stride))
      near = k;
  }
  if (near < 0 || std::abs(piece.digits[near].mem_stride) > kSector ||
      std::abs(digit.mem_stride) < 2 * std::abs(piece.digits[near].mem_stride) ||
      std::abs(digit.mem_stride) <= kSector)
    return {};
  return {near, last};
}

TileLoop tile_loop(const Digit& digit) {
  TileLoop loop;
  loop.mem_stride = digit.mem_stride;
  loop.packed_stride = digit.packed_stride;
  loop.count = digit.count.count;
  return loop;
}

// Drops the iterations of the outermost loop outside [begin, end).
void narrow_outermost(Piece& piece, int64_t begin, int64_t end) {
  Digit& digit = piece.digits[kMostLoops - loops_of(piece)];
  const int64_t from = std::max<int64_t>(0, begin - piece.packed) / digit.packed_stride;
  const int64_t to =
      std::min<int64_t>(digit.count.count, (end - piece.packed - 1) / digit.packed_stride + 1);
  piece.mem += from * digit.mem_stride;
  piece.packed += from * digit.packed_stride;
  digit.count = make_divisor(static_cast<uint32_t>(to - from));
}

bool choose_tiles(const DevicePlan& plan, int64_t begin, int64_t end, bool is_pack,
                  uint64_t least_words, Launch& launch) {
  PieceRow row = plan.rows[0];
  if (is_pack && row.piece.leaf_bytes > kMostGatheredByTiles) return false;
  const bool clipped = begin != 0 || end != plan.size;
  Pair pair = transposed(row);
  if (pair.near < 0) return false;
  if (clipped) {
    narrow_outermost(row.piece, begin, end);
    pair = transposed(row);
    if (pair.near < 0) return false;
  }
  TilesJob& job = launch.tiles;
  job.piece = row.piece;
  job.near = tile_loop(row.piece.digits[pair.near]);
  job.last = tile_loop(row.piece.digits[pair.last]);
  job.piece.digits[pair.near] = job.piece.digits[pair.last] = Digit{};
  const int64_t element = row.piece.leaf_bytes;
  job.parts = static_cast<uint32_t>(element >> launch.log);
  launch.parts = job.parts == 1 ? 1 : 0;
  uint64_t elements = uint64_t{job.near.count} * job.last.count;
  for (const Digit& digit : job.piece.digits) elements *= digit.count.count;
  elements = std::max(elements, least_words);
  // The tile is as square as the counts allow.
  const auto bits = [](int64_t x) {
    return static_cast<int>(std::bit_width(static_cast<uint64_t>(x)));
  };
  int log = bits(kTileBytes / element) - 1;
  while (elements >> log < kTilesForAll && uint64_t{1} << log > kTileThreads &&
         element << log > kLeastTileBytes)
    --log;
  const int near_most = std::min(bits(job.near.count - 1), kMostTileLog);
  const int last_most = std::min(bits(job.last.count - 1), kMostTileLog);
  int near_log = std::min(near_most, (log + 1) / 2);
  int last_log = std::min(last_most, log - near_log);
  near_log = std::min(near_most, log - last_log);
  if (job.parts == 1 && launch.log >= kLeastWordLog && !clipped &&
      std::min(job.near.count, job.last.count) >= kSquareSide) {
    near_log = last_log = kSquareLog;
    launch.parts = kSquare;
  }
  job.near.log = static_cast<uint32_t>(near_log);
  job.near_tiles = make_divisor(((job.near.count - 1) >> near_log) + 1);
  // The pitch makes rows begin in different banks of shared memory.
  const uint32_t pad = launch.log == 0 ? 4 : launch.log == 1 ? 2 : 1;
  const uint32_t line = job.parts << near_log;
  job.pitch = launch.log < 2 ? (line + pad - 1) / pad * pad + pad : line | 1;
  job.begin = begin - job.piece.packed;
  job.end = end - job.piece.packed;
  job.clipped = clipped ? 1 : 0;
  job.last.log = static_cast<uint32_t>(last_log);
  job.last_tiles = make_divisor(((job.last.count - 1) >> last_log) + 1);
  launch.shared_bytes = (job.pitch << last_log) << launch.log;
  launch.blocks = uint64_t{job.near_tiles.count} * job.last_tiles.count;
  for (const Digit& digit : job.piece.digits) launch.blocks *= digit.count.count;
  launch.threads = kTileThreads;
  return true;
}

// `stream`: the address of byte 0 of the packed stream, which need not be in the slice.
void choose_words(const DevicePlan& plan, const std::byte* stream, int64_t begin, int64_t end,
                  bool is_pack, uint64_t least_words, Launch& launch) {
  const PieceRow& row = plan.rows[0];
  const int loops = loops_of(row.piece);
  const bool is_bytes = launch.log < kLeastWordLog;
  if (is_bytes) launch.log = 0;
  launch.way = is_bytes ? Launch::Way::kBytes : Launch::Way::kWords;
  launch.ranked = row.piece.ranked.groups != nullptr;
  for (const Digit& digit : row.piece.digits)
    launch.tables = launch.tables || digit.table.entries != nullptr;
  if (row.lists == 2) {
    launch.loops = kMostLoops;
  } else if (launch.ranked) {
    launch.loops = loops <= 1 ? 1 : kMostLoops;
  } else if (launch.tables) {
    launch.loops = loops <= 2 ? loops : kMostLoops;
  } else {
    launch.loops = loops <= 3 ? std::max(loops, 1) : kMostLoops;
  }
  launch.is_record = launch.ranked && launch.loops == 1 && plan.record.has_value();
  if (launch.is_record) launch.record = *plan.record;
  WordsJob& job = launch.words;
  job.piece = row.piece;
  job.words = row.words[launch.log];
  job.first = words_before(row, launch.log, begin);
  job.last = words_before(row, launch.log, end);
  const uint64_t words = job.last - job.first;
  const uint64_t size = std::max(words, least_words);
  launch.threads = size >= kWordsForWholeBlocks ? 256 : 128;
  if (is_bytes && is_pack) {
    launch.blocks = blocks_of_bytes(stream + row.piece.packed + job.first, words, launch.threads);
    return;
  }
  const bool is_scattered =
      !is_pack && !is_bytes && row.leaves_parts != 0 && row.piece.leaf_bytes < kShortRun;
  job.of_thread = size < kWordsForHalfBlocks || is_scattered ? 1
                  : is_bytes                                 ? kBytesOfThread
                                                             : kUnroll;
  launch.blocks = (words - 1) / (job.of_thread * launch.threads) + 1;
}

}  // namespace

Message message_of(const DevicePlan& plan, const void* mem, const void* packed, int64_t begin,
                   int64_t end, int most_log) {
  Message message;
  message.mem = static_cast<std::byte*>(const_cast<void*>(mem));
  message.packed = static_cast<std::byte*>(const_cast<void*>(packed)) - begin;
  message.begin = begin;
  message.end = end;
  message.log = static_cast<uint32_t>(word_log(4, mem, message.packed, begin, end, most_log));
  message.rows = plan.placed_rows;
  message.tiles = plan.placed_tiles[message.log];
  message.pieces = static_cast<uint32_t>(plan.rows.size());
  return message;
}

Launch choose(const DevicePlan& plan, const void* mem, const void* packed, int64_t begin,
              int64_t end, bool is_pack, const Forced& forced) {
  Launch launch;
  if (begin >= end) return launch;
  std::byte* const from = static_cast<std::byte*>(const_cast<void*>(mem));
  std::byte* const stream = static_cast<std::byte*>(const_cast<void*>(packed)) - begin;
  if (plan.is_run()) {
    launch.way = Launch::Way::kRun;
    return launch;
  }
  if (plan.rows.size() > 1) {
    launch.way = Launch::Way::kMany;
    launch.message = message_of(plan, mem, packed, begin, end, forced.most_log);
    launch.blocks = tiles_of(plan, launch.message);
    return launch;
  }
  launch.log = word_log(plan.log, mem, stream, begin, end, forced.most_log);
  if (choose_tiles(plan, begin, end, is_pack, forced.least_words, launch)) {
    launch.way = Launch::Way::kTiles;
    launch.tiles.mem = from + launch.tiles.piece.mem;
    launch.tiles.packed = stream + launch.tiles.piece.packed;
  } else {
    choose_words(plan, stream, begin, end, is_pack, forced.least_words, launch);
    launch.words.mem = from + launch.words.piece.mem;
    launch.words.packed = stream + launch.words.piece.packed;
  }
  return launch;
}

CopyJob copy_job(const DevicePlan& from, const void* from_mem, const DevicePlan& to,
                 const void* to_mem, int* log, int most_log) {
  const PieceRow& a = *from.whole_piece();
  const PieceRow& b = *to.whole_piece();
  *log = word_log(std::min(from.log, to.log), from_mem, static_cast<const std::byte*>(to_mem), 0, 0,
                  most_log);
  if (*log < kLeastWordLog) *log = 0;
  CopyJob job;
  job.from = a.piece;
  job.to = b.piece;
  job.from_words = a.words[*log];
  job.to_words = b.words[*log];
  job.from_mem = static_cast<const std::byte*>(from_mem) + a.piece.mem;
  job.to_mem = static_cast<std::byte*>(const_cast<void*>(to_mem)) + b.piece.mem;
  job.last = static_cast<uint64_t>(from.size) >> *log;
  return job;
}

}  // namespace lacuna::gpu
