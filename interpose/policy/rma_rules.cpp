// SPDX-License-Identifier: BSD-3-Clause
//
// Measured 2026-11 on a 2-core Xeon guest: two ranks of one node, the library alone and packed
// first interleaved in one run, each operation with its synchronisation (MPI_Win_fence,
// MPI_Win_flush, MPI_Win_lock and MPI_Win_unlock), medians. The data: 8 bytes of each 16, 40 of 80,
// 512 of 1024, an index list of 24-byte blocks, and a transpose, from 256 bytes to 4 MiB. There is
// a row where packing first was at least 1.1 times as fast for every synchronisation and size; the
// comment behind it is the lowest and the highest speed-up. What was not measured (other libraries,
// between nodes, structs, MPI_Get_accumulate) is declined.
#include "interpose/policy/rma_rules.hpp"

namespace lacuna {
namespace {

constexpr unsigned of(Pattern pattern) { return 1U << static_cast<unsigned>(pattern); }
constexpr unsigned kRuns = of(Pattern::kStrided) | of(Pattern::kListed);
constexpr unsigned kTransposes = of(Pattern::kTransposed);
constexpr unsigned kAnyAccess = kPuts | kGets | kAccumulates;
constexpr int64_t kKib = 1024;

struct Row {
  Flavour flavour;
  unsigned windows;
  unsigned targets;
  unsigned accesses;
  unsigned patterns;
  int64_t least_bytes;
  double most_mean_run_bytes;
};

constexpr Row kRows[] = {
    // MPICH 5.0.2
    {Flavour::kMpich, kAnyWindow, kWithoutGaps, kAnyAccess, kTransposes, 128 * kKib,
     64},                                                                            // 1.7-6.6
    {Flavour::kMpich, kCreated, kWithoutGaps, kAnyAccess, kRuns, 16 * kKib, 64},     // 1.2-7.4
    {Flavour::kMpich, kAllocated, kWithGaps, kPuts | kGets, kRuns, 128 * kKib, 64},  // 2.2-26
    {Flavour::kMpich, kAllocated, kWithGaps, kPuts | kGets, kTransposes, 128 * kKib,
     64},                                                                               // 1.2-3.3
    {Flavour::kMpich, kCreated, kWithGaps, kAccumulates, kRuns, 16 * kKib, 64},         // 1.1-2.0
    {Flavour::kMpich, kCreated, kWithGaps, kAccumulates, kTransposes, 128 * kKib, 64},  // 1.1-1.7
    // Intel MPI 2021.19
    {Flavour::kIntelMpi, kAllocated, kWithoutGaps, kAnyAccess, kTransposes, 128 * kKib,
     64},  // 1.8-6.5
    {Flavour::kIntelMpi, kAllocated, kWithGaps, kPuts | kGets, of(Pattern::kListed), 16 * kKib,
     64},  // 1.2-5.3
    {Flavour::kIntelMpi, kAllocated, kWithGaps, kPuts | kGets, kTransposes, 128 * kKib,
     64},  // 1.2-3.0
    {Flavour::kIntelMpi, kCreated, kAnyTarget, kGets, kRuns | kTransposes, 16 * kKib,
     512},  // 4-600
    {Flavour::kIntelMpi, kCreated, kWithoutGaps, kPuts | kAccumulates, kTransposes, 1024 * kKib,
     64},  // 1.3-2.3
    // Open MPI 5.0.11 and 4.1.4
    {Flavour::kOpenMpi, kCreated, kWithoutGaps, kAnyAccess, kRuns | kTransposes, 2 * kKib,
     512},  // 1.3-700
    {Flavour::kOpenMpi, kAllocated, kWithoutGaps, kPuts | kGets, of(Pattern::kListed) | kTransposes,
     16 * kKib, 64},  // 1.6-15
    {Flavour::kOpenMpi, kAllocated, kWithoutGaps, kAccumulates, kRuns | kTransposes, 2 * kKib,
     64},  // 1.3-21
};

}  // namespace

bool pays_one_sided(Flavour flavour, int mpich_major, const OneSided& operation) noexcept {
  const DataShape& load = operation.load;
  if (flavour == Flavour::kMpich && mpich_major < 5) return false;  // 4.0.2: 0.9-1.3
  for (const Row& row : kRows) {
    if (row.flavour == flavour && (row.windows & operation.window) != 0 &&
        (row.targets & operation.target) != 0 && (row.accesses & operation.access) != 0 &&
        (row.patterns & of(load.pattern)) != 0 && load.bytes >= row.least_bytes &&
        load.mean_run_bytes <= row.most_mean_run_bytes) {
      return true;
    }
  }
  return false;
}

}  // namespace lacuna
