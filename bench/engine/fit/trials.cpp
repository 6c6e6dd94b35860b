// SPDX-License-Identifier: BSD-3-Clause
#include "bench/engine/fit/trials.hpp"

namespace lacuna::bench {
namespace {

// A setting for each value of one number.
std::vector<Setting> values(const std::string& name, const std::vector<double>& all) {
  std::vector<Setting> settings;
  for (const double value : all) settings.push_back({{name, value}});
  return settings;
}

Trial flag(std::string question, const std::string& name, std::vector<std::string> types) {
  return {std::move(question), values(name, {0, 1}), std::move(types)};
}

constexpr double kKiB = 1024;
constexpr double kMiB = 1024 * kKiB;
constexpr double kAny = 1024 * 1024 * kMiB;

}  // namespace

std::vector<Trial> trials() {
  const std::string particles =
      "resized(0, 40, hindexed([4, 24, 4], [0, 8, 32], byte))";  // a struct of LAMMPS' kind
  const std::string matrix = "resized(0, 8, vector(1024, 1, 1024, double))";
  return {
      {"the widest vectors that are faster beyond the L1",
       values("vector_bytes", {64, 32}),
       {"hvector(4000, 40, 96, byte)", "hvector(2000, 100, 192, byte)",
        "hvector(1000, 200, 448, byte)", "hvector(600, 300, 704, byte)"}},
      flag("one masked move is faster than several moves", "fast_masked_moves",
           {"hvector(3000, 12, 128, byte)", "hvector(3000, 24, 192, byte)",
            "indexed_block(3, random(20000, 80000, 3), double)"}),
      {"stores in the queue that fetch their lines early, for each way of the L1",
       values("early_stores", {0, 3, 8}),
       {"hvector(1000, 1, 4096, double)", "hvector(1000, 1, 1024, double)",
        "hvector(300, 64, 4096, byte)"}},
      flag("stores to lines of one L1 set are faster by narrow moves",
           "narrow_moves_avoid_conflicts",
           {"hvector(300, 64, 4096, byte)", "hvector(300, 64, 2048, byte)",
            "hvector(200, 128, 4096, byte)"}),
      {"cycles between loads of one L1 set",
       values("conflict_load_cycles", {0, 4, 8, 16}),
       {"hvector(2000, 1, 4096, double)", "hvector(2000, 1, 2048, double)",
        "hvector(4000, 1, 1024, double)"}},
      {"software prefetch: where it begins",
       values("hides_l2_misses", {0, 1}),
       {"hvector(1500, 1, 192, double)", "hvector(12000, 1, 192, double)",
        "hvector(600, 256, 448, byte)", "hvector(3000, 300, 704, byte)"}},
      {"the prefetch distance, data in a cache",
       values("miss_runs", {8, 16, 32, 64}),
       {"hvector(60000, 1, 192, double)", "hvector(40000, 3, 320, double)"}},
      {"the prefetch distance, data in DRAM",
       values("dram_miss_runs", {16, 32, 64}),
       {"hvector(600000, 1, 192, double)", "hvector(300000, 3, 320, double)"}},
      {"strides that the hardware prefetcher follows",
       values("followed_stride_bytes", {32, 96, 192}),
       {"hvector(600000, 1, 64, double)", "hvector(400000, 1, 128, double)",
        "hvector(30000, 1, 128, double)"}},
      flag("packing runs of more than 16 bytes, and lists, needs prefetches", "short_load_window",
           {"hvector(100000, 64, 256, byte)", "indexed_block(8, random(60000, 600000, 5), double)",
            "indexed_block(1, sorted(400000, 1600000, 6), double)"}),
      flag("the hardware prefetcher follows ascending lists", "follows_ascending_lists",
           {"indexed_block(3, sorted(60000, 250000, 7), double)",
            "indexed_block(1, sorted(200000, 800000, 8), double)"}),
      flag("prefetches past the end of short rows cost more than they save",
           "wasted_prefetches_cost",
           {"hvector(3000, 1, 8192, hvector(30, 1, 192, double))",
            "hvector(6000, 1, 4096, hvector(12, 1, 192, double))"}),
      {"prefetch of lines of few L1 sets",
       values("conflict_prefetch_level", {0, 2}),
       {"hvector(60000, 1, 4096, double)", "hvector(60000, 64, 2048, byte)"}},
      {"strides that the prefetcher learns of one load instruction",
       {{{"learned_run_bytes", 0}},
        {{"learned_run_bytes", 16}, {"learned_stride_bytes", 1}, {"learned_run_least_bytes", 0}},
        {{"learned_run_bytes", 64}, {"learned_stride_bytes", 128}, {"learned_run_least_bytes", 64}},
        {{"learned_run_bytes", 64}, {"learned_stride_bytes", 1}, {"learned_run_least_bytes", 0}}},
       {"hvector(8000, 1, 256, double)", "hvector(8000, 64, 256, byte)",
        "hvector(3000, 64, 192, byte)", "hvector(30000, 1, 192, double)"}},
      {"messages from which such loops are unrolled",
       values("unrolled_from_l2s", {0, 2}),
       {"hvector(60000, 64, 256, byte)", "hvector(60000, 1, 256, double)"}},
      flag("one gather instruction is faster than as many loads", "fast_gathers",
           {"indexed_block(1, random(10000, 40000, 9), double)",
            "indexed_block(1, random(10000, 40000, 10), float)"}),
      {"packing: runs that the C library's memcpy moves faster",
       values("fast_memcpy_bytes", {1 * kKiB, 3 * kKiB, 16 * kKiB}),
       {"hvector(300, 1500, 4000, byte)", "hvector(200, 4096, 9000, byte)",
        "hvector(60, 12000, 20000, byte)"}},
      {"unpacking: the same",
       values("fast_memcpy_scatter_bytes", {1 * kKiB, 3 * kKiB, 16 * kKiB}),
       {"hvector(300, 1500, 4000, byte)", "hvector(200, 4096, 9000, byte)",
        "hvector(60, 12000, 20000, byte)"}},
      flag("in the L1, a loop of vectors is faster than memcpy", "slow_memcpy_in_l1",
           {"contiguous(5000, byte)", "contiguous(10000, byte)"}),
      flag("one byte permute is faster than a move for each run of a record", "fast_byte_permutes",
           {particles, "resized(0, 96, hindexed([24, 4], [0, 64], byte))",
            "contiguous(500, " + particles + ")",
            "contiguous(300, resized(0, 64, hindexed([8, 4, 8], [0, 24, 48], byte)))"}),
      flag("byte permutes are also faster beyond the L1", "fast_permutes_beyond_l1",
           {"contiguous(8000, " + particles + ")",
            "contiguous(8000, resized(0, 48, hindexed([8, 4], [0, 24], byte)))"}),
      {"single runs that tables may move",
       values("permuted_run_bytes", {8, 16, 64}),
       {"hvector(1000, 12, 16, byte)", "hvector(1000, 16, 32, byte)",
        "hvector(6000, 24, 32, byte)"}},
      flag("records are faster word by word than by a pass for each run", "fast_words",
           {"contiguous(300, resized(0, 48, hindexed([8, 16], [0, 24], byte)))",
            "contiguous(3000, resized(0, 96, hindexed([24, 4], [0, 64], byte)))"}),
      {"cycles of each word of a record",
       values("word_cycles", {0, 1.25}),
       {"contiguous(1000, resized(0, 8, hindexed([1, 4], [0, 4], byte)))",
        "hvector(1000, 12, 16, byte)"}},
      flag("the hardware prefetcher follows masked stores", "follows_masked_stores",
           {"hvector(60000, 4, 8, byte)", "contiguous(20000, " + particles + ")"}),
      {"rows in a tile of a transpose",
       values("tile_rows", {0, 1 << 20}),
       {"contiguous(1001, resized(0, 8, vector(1001, 1, 1001, double)))",
        "contiguous(513, resized(0, 8, vector(513, 1, 513, double)))"}},
      {"transposes of whole pages: four lines at a time",
       values("four_lines_bytes", {0, 16 * kMiB}),
       {"contiguous(1024, " + matrix + ")",
        "contiguous(512, resized(0, 8, vector(1024, 1, 512, double)))"}},
      {"the same, elements of up to 4 bytes",
       values("four_lines_narrow_bytes", {0, 4 * kMiB, kAny}),
       {"contiguous(1024, resized(0, 4, vector(1024, 1, 1024, float)))",
        "contiguous(2048, resized(0, 4, vector(2048, 1, 2048, float)))"}},
      flag("transposes whose rows are whole pages are faster along diagonals",
           "conflicts_stall_tiles",
           {"contiguous(1024, " + matrix + ")",
            "contiguous(512, resized(0, 8, vector(512, 1, 512, double)))"}),
  };
}

}  // namespace lacuna::bench
