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
    {"line_bytes", "bytes", "cache line", 16, 4096, &Machine::line_bytes},
    {"page_bytes", "bytes", "page of the virtual memory", 1024, 16 * kMiB, &Machine::page_bytes},
    {"l1_bytes", "bytes", "first-level data cache", 4096, 16 * kMiB, &Machine::l1_bytes},
    {"l1_cpus", "CPUs", "that share one first-level data cache", 1, 65536, &Machine::l1_cpus},
    {"l2_bytes", "bytes", "second-level cache", 16384, 1024 * kMiB, &Machine::l2_bytes},
    {"l2_cpus", "CPUs", "that share one second-level cache", 1, 65536, &Machine::l2_cpus},
    {"l3_bytes", "bytes", "third-level cache", 16384, kTiB, &Machine::l3_bytes},
    {"l3_cpus", "CPUs", "that share one third-level cache", 1, 65536, &Machine::l3_cpus},
    {"tlb_entries", "pages", "reach of the first-level data TLB", 4, 65536, &Machine::tlb_entries},
    {"tlb2_entries", "pages", "reach of the second-level TLB", 4, kMiB, &Machine::tlb2_entries},
    {"stream_transpose_bytes", "bytes", "transposes from this size on use non-temporal stores", 1,
     kTiB, &Machine::stream_transpose_bytes},
    {"stream_run_bytes", "bytes", "copies of long runs from this size on use non-temporal stores",
     1, kTiB, &Machine::stream_run_bytes},
    {"ask_bytes", "bytes", "of lines from which unpacking asks for them ahead", 1, kTiB,
     &Machine::ask_bytes},
    {"ask_stride_bytes", "bytes", "between lines from which it asks for them", 1, kMiB,
     &Machine::ask_stride_bytes},
    {"ask_runs", "runs", "by which their lines are asked for ahead", 1, 1024, &Machine::ask_runs},
    {"ask_level", "level",
     "into which lines at multiples of a quarter of a page are asked for; 0: none", 0, 2,
     &Machine::ask_level},
    {"store_bytes", "bytes", "of a vector, written by one store at once", 8, 64,
     &Machine::store_bytes},
    {"early_stores", "stores",
     "in the queue for each way of the first level, that fetch their lines", 0, 1024,
     &Machine::early_stores},
    {"pace_cycles", "cycles", "between loads of lines that meet in one place of the first level", 0,
     64, &Machine::pace_cycles},
    {"library_run_bytes", "bytes", "runs from this size on are left to the C library's memcpy", 129,
     kTiB, &Machine::library_run_bytes},
    {"one_by_one_bytes", "bytes", "many runs up to this size are moved by one instruction", 0, 64,
     &Machine::one_by_one_bytes},
    {"one_by_one_least_bytes", "bytes", "but not below that", 0, 64,
     &Machine::one_by_one_least_bytes},
    {"learned_stride_bytes", "bytes", "of whose multiples those runs' strides must be", 1, kMiB,
     &Machine::learned_stride_bytes},
    {"one_by_one_lines", "lines", "that such runs take at most", 0, kTiB,
     &Machine::one_by_one_lines},
    {"vector_bytes", "bytes", "vectors that move long runs beyond the first level", 16, 64,
     &Machine::vector_bytes},
    {"tile_rows", "rows", "of a transpose that tiles take; 0: by the TLB", 0, kMiB,
     &Machine::tile_rows},
    {"four_lines_bytes", "bytes",
     "transposes of 16-byte elements up to this size write four lines at a time", 0, kTiB,
     &Machine::four_lines_bytes},
    {"four_lines_narrow_bytes", "bytes", "transposes of 4-byte elements up to this size do so", 0,
     kTiB, &Machine::four_lines_narrow_bytes},
};

struct RealRow {
  const char* name;
  const char* meaning;
  double Machine::* field;
};

constexpr RealRow kReals[] = {
    {"tlb_miss_ns", "added to a load whose page is in the second-level TLB only",
     &Machine::tlb_miss_ns},
    {"tlb_walk_ns", "added to a load whose page is in no TLB", &Machine::tlb_walk_ns},
    {"cycle_ns", "a cycle of the clock", &Machine::cycle_ns},
    {"memory_same_load_ns", "each of many loads, one from each page, at the same place in all",
     &Machine::memory_same_load_ns},
    {"memory_same_store_ns", "each of many stores, one to each page, at the same place in all",
     &Machine::memory_same_store_ns},
};

struct SpeedRow {
  const char* name;
  const char* unit;
  const char* meaning;
  double LevelSpeed::* field;
};

constexpr SpeedRow kSpeeds[] = {
    {"latency_ns", "ns", "from one load to the next that needs it", &LevelSpeed::latency_ns},
    {"read_bytes_per_ns", "bytes/ns", "long runs read", &LevelSpeed::read_bytes_per_ns},
    {"write_bytes_per_ns", "bytes/ns", "long runs written", &LevelSpeed::write_bytes_per_ns},
    {"copy_bytes_per_ns", "bytes/ns", "long runs copied inside the level",
     &LevelSpeed::copy_bytes_per_ns},
    {"stream_write_bytes_per_ns", "bytes/ns", "long runs written by non-temporal stores",
     &LevelSpeed::stream_write_bytes_per_ns},
    {"stream_copy_bytes_per_ns", "bytes/ns", "long runs copied by non-temporal stores",
     &LevelSpeed::stream_copy_bytes_per_ns},
    {"skip_load_ns", "ns", "each of many loads, from every fourth line", &LevelSpeed::skip_load_ns},
    {"skip_store_ns", "ns", "each of many stores, to every fourth line",
     &LevelSpeed::skip_store_ns},
    {"page_load_ns", "ns", "each of many loads, one from each page", &LevelSpeed::page_load_ns},
    {"page_store_ns", "ns", "each of many stores, one to each page", &LevelSpeed::page_store_ns},
    {"random_load_ns", "ns", "each of many loads, from lines in random order",
     &LevelSpeed::random_load_ns},
    {"random_store_ns", "ns", "each of many stores, to lines in random order",
     &LevelSpeed::random_store_ns},
};

struct LevelName {
  Level level;
  const char* prefix;
};

constexpr LevelName kLevelNames[] = {
    {Level::kL1, "l1"}, {Level::kL2, "l2"}, {Level::kL3, "l3"}, {Level::kMemory, "memory"}};

// From a clock a thousand times slower than today's to one ten times faster.
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
  for (const RealRow& row : kReals) {
    Number number{row.name, "ns", row.meaning, kLeastNs, kMostNs};
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
  return machine.levels[static_cast<size_t>(level)].*speed;
}

void Number::set(Machine& machine, double value) const {
  if (whole != nullptr) {
    machine.*whole = static_cast<int64_t>(value);
  } else if (real != nullptr) {
    machine.*real = value;
  } else {
    machine.levels[static_cast<size_t>(level)].*speed = value;
  }
}

// A process may ask while it ends, from another library's destructor: hence never destroyed.
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
