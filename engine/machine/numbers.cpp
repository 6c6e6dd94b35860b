// SPDX-License-Identifier: BSD-3-Clause
#include "machine/numbers.hpp"

namespace lacuna {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr double kTiB = kMiB * kMiB;

struct WholeRow {
  const char* name;
  const char* unit;
  const char* meaning;
  double least;
  double most;
  int64_t Machine::* field;
};

constexpr WholeRow kWholes[] = {
    {"line_bytes", "bytes", "size of a cache line", 16, 4096, &Machine::line_bytes},
    {"page_bytes", "bytes", "size of a page of virtual memory", 1024, 16 * kMiB,
     &Machine::page_bytes},
    {"l1_bytes", "bytes", "size of the L1 data cache", 4096, 16 * kMiB, &Machine::l1_bytes},
    {"l1_cpus", "CPUs", "CPUs that share one L1 data cache", 1, 65536, &Machine::l1_cpus},
    {"l2_bytes", "bytes", "size of the L2 cache", 16384, 1024 * kMiB, &Machine::l2_bytes},
    {"l2_cpus", "CPUs", "CPUs that share one L2 cache", 1, 65536, &Machine::l2_cpus},
    {"l3_bytes", "bytes", "size of the L3 cache", 16384, kTiB, &Machine::l3_bytes},
    {"l3_cpus", "CPUs", "CPUs that share one L3 cache", 1, 65536, &Machine::l3_cpus},
    {"tlb_entries", "pages", "pages that the first-level data TLB holds", 4, 65536,
     &Machine::tlb_entries},
    {"tlb2_entries", "pages", "pages that the second-level TLB holds", 4, kMiB,
     &Machine::tlb2_entries},
    {"stream_transpose_bytes", "bytes", "transposes of at least this size use non-temporal stores",
     1, kTiB, &Machine::stream_transpose_bytes},
    {"stream_run_bytes", "bytes",
     "copies of long runs of at least this size use non-temporal stores", 1, kTiB,
     &Machine::stream_run_bytes},
    {"prefetch_from_bytes", "bytes",
     "unpacking prefetches if the lines that it touches exceed this", 1, kTiB,
     &Machine::prefetch_from_bytes},
    {"followed_stride_bytes", "bytes", "the hardware prefetcher follows strides below this", 1,
     kMiB, &Machine::followed_stride_bytes},
    {"miss_runs", "runs", "prefetch distance: runs moved while a line comes from a cache", 1, 1024,
     &Machine::miss_runs},
    {"dram_miss_runs", "runs", "prefetch distance: runs moved while a line comes from DRAM", 1,
     1024, &Machine::dram_miss_runs},
    {"conflict_prefetch_level", "level",
     "cache into which lines of a few L1 sets can be prefetched; 0: none", 0, 2,
     &Machine::conflict_prefetch_level},
    {"conflict_load_cycles", "cycles",
     "time between two loads at which lines of one L1 set come fastest", 0, 64,
     &Machine::conflict_load_cycles},
    {"store_bytes", "bytes", "bytes that one store writes at once", 8, 64, &Machine::store_bytes},
    {"early_stores", "stores",
     "queued stores, for each way of the L1, that fetch their lines early; 0: unknown", 0, 1024,
     &Machine::early_stores},
    {"fast_memcpy_bytes", "bytes",
     "packing: runs of at least this size are faster by the C library's memcpy", 129, kTiB,
     &Machine::fast_memcpy_bytes},
    {"fast_memcpy_scatter_bytes", "bytes",
     "unpacking to gaps: runs of at least this size are faster by the C library's memcpy", 129,
     kTiB, &Machine::fast_memcpy_scatter_bytes},
    {"learned_run_bytes", "bytes",
     "the stride prefetcher follows one load instruction for runs up to this size", 0, 64,
     &Machine::learned_run_bytes},
    {"learned_run_least_bytes", "bytes", "strided runs below this size are faster unrolled by four",
     0, 64, &Machine::learned_run_least_bytes},
    {"learned_stride_bytes", "bytes",
     "the stride prefetcher follows strides that are multiples of this", 1, kMiB,
     &Machine::learned_stride_bytes},
    {"unrolled_from_l2s", "L2 sizes",
     "strided runs are unrolled by four if their lines fill the L2 so many times; 0: never", 0,
     1024, &Machine::unrolled_from_l2s},
    {"learned_lines", "lines",
     "strided runs are unrolled by four if they touch more lines than this", 0, kTiB,
     &Machine::learned_lines},
    {"vector_bytes", "bytes", "the widest vectors that are faster beyond the L1", 16, 64,
     &Machine::vector_bytes},
    {"permuted_run_bytes", "bytes", "single runs up to this size may be moved by byte permutes", 0,
     64, &Machine::permuted_run_bytes},
    {"tile_rows", "rows", "rows in a tile of a transpose; 0: half the TLB entries", 0, kMiB,
     &Machine::tile_rows},
    {"four_lines_bytes", "bytes",
     "transposes of 16-byte elements up to this size write four lines at a time", 0, kTiB,
     &Machine::four_lines_bytes},
    {"four_lines_narrow_bytes", "bytes",
     "transposes of 4-byte elements up to this size write four lines at a time", 0, kTiB,
     &Machine::four_lines_narrow_bytes},
};

struct FlagRow {
  const char* name;
  const char* meaning;
  bool Machine::* field;
};

constexpr FlagRow kFlags[] = {
    {"follows_masked_stores", "the hardware prefetcher follows masked stores",
     &Machine::follows_masked_stores},
    {"follows_ascending_lists", "the hardware prefetcher follows ascending lists of offsets",
     &Machine::follows_ascending_lists},
    {"hides_l2_misses", "misses that the L2 serves need no software prefetch",
     &Machine::hides_l2_misses},
    {"short_load_window", "packing runs of more than 16 bytes, and lists, needs prefetches",
     &Machine::short_load_window},
    {"wasted_prefetches_cost", "prefetches past the end of short rows cost more than they save",
     &Machine::wasted_prefetches_cost},
    {"fast_masked_moves", "one masked move is faster than several moves",
     &Machine::fast_masked_moves},
    {"fast_gathers", "one gather instruction is faster than as many loads", &Machine::fast_gathers},
    {"fast_byte_permutes", "one byte permute is faster than a move for each run of a record",
     &Machine::fast_byte_permutes},
    {"fast_permutes_beyond_l1", "byte permutes are also faster beyond the L1",
     &Machine::fast_permutes_beyond_l1},
    {"fast_words", "records are faster word by word than by a pass for each run",
     &Machine::fast_words},
    {"narrow_moves_avoid_conflicts", "stores to lines of one L1 set are faster by narrow moves",
     &Machine::narrow_moves_avoid_conflicts},
    {"conflicts_stall_tiles", "transposes whose rows are whole pages are faster along diagonals",
     &Machine::conflicts_stall_tiles},
    {"cheap_fences", "a fence after non-temporal stores costs less than a cached copy",
     &Machine::cheap_fences},
    {"memcpy_writes_whole_lines", "the C library's memcpy writes lines without reading them first",
     &Machine::memcpy_writes_whole_lines},
    {"slow_memcpy_in_l1", "in the L1, a loop of vectors is faster than the C library's memcpy",
     &Machine::slow_memcpy_in_l1},
};

struct RealRow {
  const char* name;
  const char* unit;
  const char* meaning;
  double Machine::* field;
};

constexpr RealRow kReals[] = {
    {"tlb_miss_ns", "ns", "added to a load whose page is only in the second-level TLB",
     &Machine::tlb_miss_ns},
    {"tlb_walk_ns", "ns", "added to a load whose page is in no TLB", &Machine::tlb_walk_ns},
    {"cycle_ns", "ns", "one clock cycle", &Machine::cycle_ns},
    {"memory_same_load_ns", "ns",
     "a load from DRAM, one line of each page, at the same offset in all pages",
     &Machine::memory_same_load_ns},
    {"memory_same_store_ns", "ns",
     "a store to DRAM, one line of each page, at the same offset in all pages",
     &Machine::memory_same_store_ns},
    {"word_cycles", "cycles", "time of each word of a record that has several; 0: by its length",
     &Machine::word_cycles},
};

struct SpeedRow {
  const char* name;
  const char* unit;
  const char* meaning;
  double LevelSpeed::* field;
};

constexpr SpeedRow kSpeeds[] = {
    {"latency_ns", "ns", "a load that depends on the one before", &LevelSpeed::latency_ns},
    {"read_bytes_per_ns", "bytes/ns", "reading long runs", &LevelSpeed::read_bytes_per_ns},
    {"write_bytes_per_ns", "bytes/ns", "writing long runs", &LevelSpeed::write_bytes_per_ns},
    {"copy_bytes_per_ns", "bytes/ns", "copying long runs inside the level",
     &LevelSpeed::copy_bytes_per_ns},
    {"stream_write_bytes_per_ns", "bytes/ns", "writing long runs by non-temporal stores",
     &LevelSpeed::stream_write_bytes_per_ns},
    {"stream_copy_bytes_per_ns", "bytes/ns", "copying long runs by non-temporal stores",
     &LevelSpeed::stream_copy_bytes_per_ns},
    {"skip_load_ns", "ns", "a load, of every fourth line", &LevelSpeed::skip_load_ns},
    {"skip_store_ns", "ns", "a store, to every fourth line", &LevelSpeed::skip_store_ns},
    {"page_load_ns", "ns", "a load, one line of each page", &LevelSpeed::page_load_ns},
    {"page_store_ns", "ns", "a store, one line of each page", &LevelSpeed::page_store_ns},
    {"random_load_ns", "ns", "a load, lines in random order", &LevelSpeed::random_load_ns},
    {"random_store_ns", "ns", "a store, lines in random order", &LevelSpeed::random_store_ns},
};

struct LevelName {
  Level level;
  const char* prefix;
};

constexpr LevelName kLevelNames[] = {
    {Level::kL1, "l1"}, {Level::kL2, "l2"}, {Level::kL3, "l3"}, {Level::kMemory, "memory"}};

// Wide limits: from a thousand times slower than today's machines to ten times faster.
constexpr double kLeastNs = 0;
constexpr double kMostNs = 1e6;
constexpr double kLeastBytesPerNs = 1e-4;
constexpr double kMostBytesPerNs = 1e5;

std::vector<Number> make_numbers() {
  std::vector<Number> all;
  for (const WholeRow& row : kWholes) {
    Number number{row.name, row.unit, row.meaning, row.least, row.most};
    number.whole = row.field;
    all.push_back(number);
  }
  for (const FlagRow& row : kFlags) {
    Number number{row.name, "0 or 1", row.meaning, 0, 1};
    number.flag = row.field;
    all.push_back(number);
  }
  for (const RealRow& row : kReals) {
    Number number{row.name, row.unit, row.meaning, kLeastNs, kMostNs};
    number.real = row.field;
    all.push_back(number);
  }
  for (const LevelName& level : kLevelNames) {
    for (const SpeedRow& row : kSpeeds) {
      const bool is_time = std::string_view(row.unit) == "ns";
      Number number{std::string(level.prefix) + "_" + row.name, row.unit, row.meaning,
                    is_time ? kLeastNs : kLeastBytesPerNs, is_time ? kMostNs : kMostBytesPerNs};
      number.speed = row.field;
      number.level = level.level;
      all.push_back(number);
    }
  }
  return all;
}

}  // namespace

std::string_view source_name(Source source) {
  switch (source) {
    case Source::kDefault:
      return "default";
    case Source::kTold:
      return "told";
    case Source::kMeasured:
      return "measured";
  }
  return "default";
}

double Number::get(const Machine& machine) const {
  if (whole != nullptr) return static_cast<double>(machine.*whole);
  if (real != nullptr) return machine.*real;
  if (flag != nullptr) return machine.*flag ? 1 : 0;
  return machine.levels[static_cast<size_t>(level)].*speed;
}

void Number::set(Machine& machine, double value) const {
  if (whole != nullptr) {
    machine.*whole = static_cast<int64_t>(value);
  } else if (real != nullptr) {
    machine.*real = value;
  } else if (flag != nullptr) {
    machine.*flag = value != 0;
  } else {
    machine.levels[static_cast<size_t>(level)].*speed = value;
  }
}

// Never destroyed: another library's destructor may call this while the process exits.
const std::vector<Number>& machine_numbers() {
  static const auto* const all = new std::vector<Number>(make_numbers());
  return *all;
}

int find_number(std::string_view name) {
  const std::vector<Number>& all = machine_numbers();
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace lacuna
