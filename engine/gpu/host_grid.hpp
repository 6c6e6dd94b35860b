// SPDX-License-Identifier: BSD-3-Clause
//
// Runs a launch's grid on the host, block by block and thread by thread: tests need no device.
#ifndef LACUNA_ENGINE_GPU_HOST_GRID_HPP_
#define LACUNA_ENGINE_GPU_HOST_GRID_HPP_

#include <cstring>
#include <vector>

#include "gpu/plan.hpp"

namespace lacuna::gpu {

template <bool kPack>
struct HostWords {
  const Launch& launch;
  template <int kLog, int kLoops, bool kTables, bool kRanked>
  void operator()() const {
    all<kLog, kLoops, kTables, kRanked>(narrowed<kLoops>(launch.words));
  }
  template <int kLog, bool kTables>
  void of_records() const {
    all<kLog, 1, kTables, true>(records_job(launch.words, launch.record));
  }
  template <int kLog, int kLoops, bool kTables, bool kRanked, typename Job>
  void all(const Job& job) const {
    for (uint64_t block = 0; block < launch.blocks; ++block) {
      for (uint32_t thread = 0; thread < launch.threads; ++thread)
        move_of<kLog, kLoops, kTables, kRanked, kPack>(job, block, thread, launch.threads);
    }
  }
};

template <bool kPack>
struct HostTiles {
  const Launch& launch;
  template <int kLog, int kParts, int kOuter>
  void operator()() const {
    using Word = WordOf<kLog>;
    const TilesJobOf<kOuter> job = narrowed<kOuter>(launch.tiles);
    for (uint64_t block = 0; block < launch.blocks; ++block) {
      std::vector<Word> shared(launch.shared_bytes / sizeof(Word));
      const TileAt at = tile_at(job, static_cast<uint32_t>(block));
      for (uint32_t thread = 0; thread < launch.threads; ++thread)
        tile_phase<kLog, kParts, kPack, true>(job, at, thread, shared.data());
      for (uint32_t thread = 0; thread < launch.threads; ++thread)
        tile_phase<kLog, kParts, !kPack, false>(job, at, thread, shared.data());
    }
  }
};

// The kernel for many messages.
template <bool kPack>
void many_on_host(const Message* messages, uint32_t n, uint64_t blocks) {
  for (uint32_t block = 0; block < blocks; ++block) {
    const Message& message =
        messages[last_at_most(n, block, [&](uint32_t i) { return messages[i].first_tile; })];
    const uint32_t tile = block - message.first_tile;
    const uint32_t i =
        last_at_most(message.pieces, tile, [&](uint32_t k) { return message.tiles[k]; });
    for (uint32_t thread = 0; thread < kThreads; ++thread)
      move_piece_of<kPack>(message.rows[i], message, tile - message.tiles[i], thread);
  }
}

template <bool kPack>
void run_on_host(const DevicePlan& plan, const Launch& launch, void* mem, void* packed,
                 int64_t begin, int64_t end) {
  switch (launch.way) {
    case Launch::Way::kNothing:
      return;
    case Launch::Way::kRun: {
      std::byte* const at = static_cast<std::byte*>(mem) + plan.rows[0].piece.mem + begin;
      std::memcpy(kPack ? packed : at, kPack ? at : packed, static_cast<size_t>(end - begin));
      return;
    }
    case Launch::Way::kWords:
    case Launch::Way::kBytes:
      return with_words(launch, HostWords<kPack>{launch});
    case Launch::Way::kTiles:
      return with_tiles(launch, HostTiles<kPack>{launch});
    case Launch::Way::kMany:
      return many_on_host<kPack>(&launch.message, 1, launch.blocks);
  }
}

struct HostCopy {
  const CopyJob& job;
  template <int kLog>
  void operator()() const {
    for (uint64_t block = 0; block < blocks_of_copy(job, kLog); ++block) {
      for (uint32_t thread = 0; thread < kThreads; ++thread)
        copy_of<kLog>(job, block, thread, kThreads);
    }
  }
};

}  // namespace lacuna::gpu

#endif  // LACUNA_ENGINE_GPU_HOST_GRID_HPP_
