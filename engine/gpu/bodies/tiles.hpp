// SPDX-License-Identifier: BSD-3-Clause
//
// Transposes, where neighbours in memory are far apart in the packed stream: a block moves a tile
// through shared memory. One phase goes along memory, the other along the stream, so that both
// sides are coalesced. Between them the block synchronises.
#ifndef LACUNA_ENGINE_GPU_BODIES_TILES_HPP_
#define LACUNA_ENGINE_GPU_BODIES_TILES_HPP_

#include "gpu/bodies/words.hpp"

namespace lacuna::gpu {

inline constexpr uint32_t kTileThreads = 256;
inline constexpr uint32_t kTileUnroll = 4;
// A tile of 32 x 32 elements of one word, for which all but the strides is known at compile time
// (docs/experiments/2026-11-29-gpu-squares.md). In place of the number of parts.
inline constexpr int kSquare = -1;
inline constexpr uint32_t kSquareLog = 5;
inline constexpr uint32_t kSquareSide = uint32_t{1} << kSquareLog;
inline constexpr uint32_t kSquarePitch = kSquareSide + 1;

struct TileLoop {
  int64_t mem_stride = 0;
  int64_t packed_stride = 0;
  uint32_t count = 1;
  uint32_t log = 0;  // a tile has 1 << log iterations of this loop
};

// Elements of `parts` words in the two loops of a tile, inside the loops of `piece` (kOuter of
// them: 0 or kMostLoops). Members that every message needs come first.
template <int kOuter>
struct TilesJobOf {
  TileLoop near;             // neighbours in memory
  TileLoop last;             // neighbours in the packed stream
  std::byte* mem = nullptr;  // addresses of the piece's first byte; it need not be in the slice
  std::byte* packed = nullptr;
  Divisor near_tiles;
  uint32_t parts = 1;
  uint32_t pitch = 0;    // words of shared memory from one iteration of `last` to the next
  uint32_t clipped = 0;  // whether [begin, end) is not the whole
  uint32_t unused = 0;
  int64_t begin = 0;  // the slice of the piece's stream that is moved
  int64_t end = 0;
  Divisor last_tiles;
  PieceOf<kOuter> piece;
};
using TilesJob = TilesJobOf<kMostLoops>;

template <int kOuter>
TilesJobOf<kOuter> narrowed(const TilesJob& job) {
  TilesJobOf<kOuter> made;
  made.near = job.near;
  made.last = job.last;
  made.mem = job.mem;
  made.packed = job.packed;
  made.near_tiles = job.near_tiles;
  made.parts = job.parts;
  made.pitch = job.pitch;
  made.clipped = job.clipped;
  made.begin = job.begin;
  made.end = job.end;
  made.last_tiles = job.last_tiles;
  made.piece = narrowed<kOuter>(job.piece);
  return made;
}

// Where a block's tile is, the same for all its threads.
struct TileAt {
  int64_t mem;
  int64_t packed;
  uint32_t nears;  // iterations of each loop: fewer in the last tiles
  uint32_t lasts;
};

template <int kOuter>
LACUNA_HD TileAt tile_at(const TilesJobOf<kOuter>& job, uint32_t tile) {
  uint32_t row = quotient(tile, job.near_tiles);
  const uint32_t near = (tile - row * job.near_tiles.count) << job.near.log;
  Place place = {0, 0};
  if constexpr (kOuter != 0) {
    const uint32_t outer = quotient(row, job.last_tiles);
    row -= outer * job.last_tiles.count;
    const Locator<kOuter, false, false> locator(job.piece.digits, Divisor{}, outer);
    place = locator.at(job.piece.digits, job.piece.ranked, Divisor{}, 0, 0);
  }
  const uint32_t last = row << job.last.log;
  TileAt at;
  at.mem = place.mem + near * job.near.mem_stride + last * job.last.mem_stride;
  at.packed = place.packed + near * job.near.packed_stride + last * job.last.packed_stride;
  const uint32_t nears = job.near.count - near;
  const uint32_t lasts = job.last.count - last;
  at.nears = nears < uint32_t{1} << job.near.log ? nears : uint32_t{1} << job.near.log;
  at.lasts = lasts < uint32_t{1} << job.last.log ? lasts : uint32_t{1} << job.last.log;
  return at;
}

// The same as tile_phase() for a square of a message that is moved as a whole.
template <int kLog, bool kMem, bool kIntoTile, int kOuter>
LACUNA_HD void square_phase(const TilesJobOf<kOuter>& job, const TileAt& at, uint32_t thread,
                            WordOf<kLog>* shared) {
  using Word = WordOf<kLog>;
  constexpr uint32_t kStep = kTileThreads / kSquareSide;
  constexpr uint32_t kRounds = kSquareSide / kStep;
  constexpr uint32_t kInsideStep = kStep * (kMem ? kSquarePitch : 1);
  const TileLoop& along = kMem ? job.near : job.last;
  const TileLoop& across = kMem ? job.last : job.near;
  const uint32_t most = kMem ? at.lasts : at.nears;
  const uint32_t low = thread % kSquareSide;
  const uint32_t high = thread / kSquareSide;
  if (low >= (kMem ? at.nears : at.lasts)) return;
  const int64_t stride = kMem ? across.mem_stride : across.packed_stride;
  std::byte* const global = (kMem ? job.mem + at.mem : job.packed + at.packed) +
                            low * (kMem ? along.mem_stride : along.packed_stride) + high * stride;
  Word* const inside = shared + (kMem ? high * kSquarePitch + low : low * kSquarePitch + high);
  Word words[kRounds];
  LACUNA_UNROLL
  for (uint32_t u = 0; u < kRounds; ++u) {
    if (high + u * kStep < most)
      words[u] = kIntoTile ? load<Word>(global + u * kStep * stride) : inside[u * kInsideStep];
  }
  LACUNA_UNROLL
  for (uint32_t u = 0; u < kRounds; ++u) {
    if (high + u * kStep >= most) continue;
    if (kIntoTile)
      inside[u * kInsideStep] = words[u];
    else
      store(global + u * kStep * stride, words[u]);
  }
}

// One phase: between memory and the tile (kMem), or between the packed stream and the tile. kParts:
// words of an element; 0: job.parts; or kSquare. A thread keeps its column of the tile in all
// rounds, since rows have at most kTileThreads elements.
template <int kLog, int kParts, bool kMem, bool kIntoTile, int kOuter>
LACUNA_HD void tile_phase(const TilesJobOf<kOuter>& job, const TileAt& at, uint32_t thread,
                          WordOf<kLog>* shared) {
  using Word = WordOf<kLog>;
  if constexpr (kParts == kSquare) {
    square_phase<kLog, kMem, kIntoTile>(job, at, thread, shared);
    return;
  }
  const uint32_t parts = kParts > 0 ? static_cast<uint32_t>(kParts) : job.parts;
  const TileLoop& along = kMem ? job.near : job.last;
  const TileLoop& across = kMem ? job.last : job.near;
  const uint32_t most = kMem ? at.lasts : at.nears;
  const uint32_t low = thread & ((uint32_t{1} << along.log) - 1);
  uint32_t high = thread >> along.log;
  if (low >= (kMem ? at.nears : at.lasts)) return;
  const uint32_t step = kTileThreads >> along.log;
  const int64_t stride = kMem ? across.mem_stride : across.packed_stride;
  const int64_t global_step = step * stride;
  const uint32_t inside_step = step * (kMem ? job.pitch : parts);
  std::byte* global = (kMem ? job.mem + at.mem : job.packed + at.packed) +
                      low * (kMem ? along.mem_stride : along.packed_stride) + high * stride;
  Word* inside = shared + (kMem ? high * job.pitch + low * parts : low * job.pitch + high * parts);
  const bool is_clipped = (!kMem || !kIntoTile) && job.clipped != 0;
  for (; high < most; high += kTileUnroll * step) {
    for (uint32_t part = 0; part < parts; ++part) {
      Word words[kTileUnroll];
      bool moves[kTileUnroll];
      LACUNA_UNROLL
      for (uint32_t u = 0; u < kTileUnroll; ++u) {
        moves[u] = high + u * step < most;
        if (is_clipped) {
          const int64_t byte = at.packed + low * along.packed_stride +
                               (high + u * step) * across.packed_stride +
                               (static_cast<int64_t>(part) << kLog);
          moves[u] = moves[u] && byte >= job.begin && byte < job.end;
        }
        if (moves[u]) {
          words[u] = kIntoTile ? load<Word>(global + u * global_step + (part << kLog))
                               : inside[u * inside_step + part];
        }
      }
      LACUNA_UNROLL
      for (uint32_t u = 0; u < kTileUnroll; ++u) {
        if (!moves[u]) continue;
        if (kIntoTile) {
          inside[u * inside_step + part] = words[u];
        } else {
          store(global + u * global_step + (part << kLog), words[u]);
        }
      }
    }
    global += kTileUnroll * global_step;
    inside += kTileUnroll * inside_step;
  }
}

}  // namespace lacuna::gpu

#endif  // LACUNA_ENGINE_GPU_BODIES_TILES_HPP_
