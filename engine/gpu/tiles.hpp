// SPDX-License-Identifier: BSD-3-Clause
//
// Transposes: where elements that follow each other in memory are far apart in the packed stream, a
// block moves a tile through shared memory, along memory on one side and along the stream on the
// other. The two phases are functions of their own; between them the block waits for all threads.
#ifndef LACUNA_ENGINE_GPU_TILES_HPP_
#define LACUNA_ENGINE_GPU_TILES_HPP_

#include "gpu/words.hpp"

namespace lacuna::gpu {

inline constexpr uint32_t kTileThreads = 256;
inline constexpr uint32_t kTileUnroll = 4;

struct TileLoop {
  int64_t mem_stride = 0;
  int64_t packed_stride = 0;
  uint32_t count = 1;
  uint32_t log = 0;  // of the elements that a tile takes
  Divisor tiles;
};

// Elements of `parts` words at two loops, under those that `piece` still has.
struct TilesJob {
  Piece piece;
  TileLoop near;  // neighbours in memory
  TileLoop last;  // neighbours in the packed stream
  std::byte* mem = nullptr;
  std::byte* packed = nullptr;  // where byte 0 of the packed stream is, or would be
  int64_t begin = 0;            // of the stream, what is moved
  int64_t end = 0;
  uint32_t parts = 1;
  uint32_t pitch = 0;    // words of shared memory from one of `last` to the next
  uint32_t clipped = 0;  // whether [begin, end) is not the whole
  uint32_t unused = 0;
};

// The same for all threads of a block.
struct TileAt {
  int64_t mem;
  int64_t packed;
  uint32_t nears;  // elements of each loop
  uint32_t lasts;
};

LACUNA_HD TileAt tile_at(const TilesJob& job, uint64_t tile) {
  const uint64_t row = quotient(tile, job.near.tiles);
  const auto near = static_cast<uint32_t>(tile - row * job.near.tiles.count) << job.near.log;
  const uint64_t outer = quotient(row, job.last.tiles);
  const auto last = static_cast<uint32_t>(row - outer * job.last.tiles.count) << job.last.log;
  const Locator<kMostLoops, false, false> locator(job.piece, Divisor{}, outer);
  const Place place = locator.at(job.piece, Divisor{}, 0, 0);
  TileAt at;
  at.mem = place.mem + near * job.near.mem_stride + last * job.last.mem_stride;
  at.packed = place.packed + near * job.near.packed_stride + last * job.last.packed_stride;
  const uint32_t nears = job.near.count - near;
  const uint32_t lasts = job.last.count - last;
  at.nears = nears < uint32_t{1} << job.near.log ? nears : uint32_t{1} << job.near.log;
  at.lasts = lasts < uint32_t{1} << job.last.log ? lasts : uint32_t{1} << job.last.log;
  return at;
}

// One phase: from memory to the tile or back (kMem), or the same with the packed stream. kParts: of
// an element, 0: as the job says.
template <int kLog, int kParts, bool kMem, bool kIntoTile>
LACUNA_HD void tile_phase(const TilesJob& job, const TileAt& at, uint32_t thread,
                          typename WordOf<kLog>::type* shared) {
  using Word = typename WordOf<kLog>::type;
  const uint32_t parts = kParts != 0 ? kParts : job.parts;
  const uint32_t log = kMem ? job.near.log : job.last.log;
  const uint32_t elements = uint32_t{1} << (job.near.log + job.last.log);
  std::byte* const base = kMem ? job.mem + at.mem : job.packed + at.packed;
  for (uint32_t first = thread; first < elements; first += kTileUnroll * kTileThreads) {
    std::byte* global[kTileUnroll];
    Word* inside[kTileUnroll];
    bool is_there[kTileUnroll];
LACUNA_UNROLL
    for (uint32_t u = 0; u < kTileUnroll; ++u) {
      const uint32_t element = first + u * kTileThreads;
      const uint32_t low = element & ((uint32_t{1} << log) - 1);
      const uint32_t high = element >> log;
      const uint32_t near = kMem ? low : high;
      const uint32_t last = kMem ? high : low;
      is_there[u] = near < at.nears && last < at.lasts;
      global[u] = base + (kMem ? near * job.near.mem_stride + last * job.last.mem_stride
                               : near * job.near.packed_stride + last * job.last.packed_stride);
      inside[u] = shared + last * job.pitch + near * parts;
    }
    for (uint32_t part = 0; part < parts; ++part) {
      Word words[kTileUnroll];
      bool moves[kTileUnroll];
LACUNA_UNROLL
      for (uint32_t u = 0; u < kTileUnroll; ++u) {
        moves[u] = is_there[u];
        if (!kMem && job.clipped != 0) {
          const int64_t place = global[u] - job.packed + (static_cast<int64_t>(part) << kLog);
          moves[u] = moves[u] && place >= job.begin && place < job.end;
        }
        if (kMem && !kIntoTile && job.clipped != 0) {
          // The stream's place from memory's: its loops are walked again.
          const uint32_t element = first + u * kTileThreads;
          const uint32_t near = element & ((uint32_t{1} << log) - 1);
          const uint32_t last = element >> log;
          const int64_t place = at.packed + near * job.near.packed_stride +
                                last * job.last.packed_stride + (static_cast<int64_t>(part) << kLog);
          moves[u] = moves[u] && place >= job.begin && place < job.end;
        }
        if (moves[u])
          words[u] = kIntoTile ? load<Word>(global[u] + (part << kLog)) : inside[u][part];
      }
LACUNA_UNROLL
      for (uint32_t u = 0; u < kTileUnroll; ++u) {
        if (!moves[u]) continue;
        if (kIntoTile) {
          inside[u][part] = words[u];
        } else {
          store(global[u] + (part << kLog), words[u]);
        }
      }
    }
  }
}

}  // namespace lacuna::gpu

#endif  // LACUNA_ENGINE_GPU_TILES_HPP_
