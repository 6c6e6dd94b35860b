// SPDX-License-Identifier: BSD-3-Clause
//
// The table. A row holds for messages up to its size that no row above it holds for. Measured
// between two ranks of one node, native and lacuna alternating in one job (docs/performance.md); a
// table measured on the user's machine will replace it.
#include "interpose/policy.hpp"

#include <limits>
#include <span>

namespace lacuna {
namespace {

constexpr int64_t kAnySize = std::numeric_limits<int64_t>::max();

struct Row {
  int64_t most_bytes;    // of data in the call
  double most_mean_run;  // bytes per contiguous run; 0: the library's own way wins
};

// Through shared memory, whatever the library.
constexpr Row kDirectSends[] = {{4 * 1024 - 1, 0}, {kAnySize, 1 << 20}};

constexpr Row kPacking[] = {{kAnySize, 1024}};

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;

// What a library packs run by run it does not hide behind a pipeline, wherever the message is
// longer than its first fragment.
constexpr Row kTransposes[] = {{kAnySize, 64}};

// MPICH 5.0: 1.0 to 1.07 times as fast up to 4 KiB, 1.7 to 22 above (run of 4096 bytes: 0.34
// to 1.1, from 8 MiB on 2).
constexpr Row kMpichMessages[] = {{4 * kMiB, 512}, {kAnySize, 4096}};

// Intel MPI 2021.19 sends flat vectors well and receives short runs badly: sending 0.88 to 1.3
// (single bytes, in IMB's resize_vec: 18), receiving runs of 8 bytes 1.4 to 28, of 256 bytes 1.1 to
// 1.5, of 4096 bytes 0.7 to 1.0.
constexpr Row kIntelSends[] = {{4 * kMiB, 4}, {kAnySize, 1024}};
constexpr Row kIntelReceives[] = {{4 * kMiB, 256}, {kAnySize, 64}};

// Open MPI 5.0 packs a fragment while the receiver unpacks the one before. Packing first wins up to
// its eager limit (4 KiB with the header) for short runs, 1.3 to 3.7; above it takes 0.3 to 0.8 of
// the speed, but for transposes from 512 KiB on (2.0 to 4.7).
constexpr Row kOpenMpiMessages[] = {{2 * kKiB, 32}, {kAnySize, 0}};
constexpr Row kOpenMpiTransposes[] = {{2 * kKiB, 32}, {256 * kKiB, 0}, {kAnySize, 64}};

bool holds(std::span<const Row> rows, const Load& load) {
  for (const Row& row : rows) {
    if (load.bytes <= row.most_bytes) return load.mean_run_bytes <= row.most_mean_run;
  }
  return false;
}

}  // namespace

Flavour flavour_of(std::string_view library_version) {
  const auto says = [&](std::string_view name) {
    return library_version.find(name) != std::string_view::npos;
  };
  if (says("Intel(R) MPI")) return Flavour::kIntelMpi;
  if (says("MVAPICH")) return Flavour::kMvapich;
  if (says("Open MPI")) return Flavour::kOpenMpi;
  if (says("MPICH")) return Flavour::kMpich;
  return Flavour::kOther;
}

bool pays(Flavour flavour, Operation operation, const Load& load) noexcept {
  if (operation == Operation::kPack || operation == Operation::kUnpack)
    return holds(kPacking, load);
  if (operation == Operation::kDirect) return holds(kDirectSends, load);
  switch (flavour) {
    case Flavour::kMpich:
    case Flavour::kMvapich:
      return holds(kMpichMessages, load);
    case Flavour::kIntelMpi:
      if (load.transposed) return holds(kTransposes, load);
      return operation == Operation::kSend ? holds(kIntelSends, load) : holds(kIntelReceives, load);
    case Flavour::kOpenMpi:
    case Flavour::kOther:
      return load.transposed ? holds(kOpenMpiTransposes, load) : holds(kOpenMpiMessages, load);
  }
  return false;
}

// The test modes_bsend_room holds the known ones to it.
bool buffers_bytes(Flavour flavour) noexcept { return flavour != Flavour::kOther; }

// Open MPI 4.1 sends from the program's memory from the second start on; under 5.0 large packed
// data that were overwritten after MPI_Request_free were seen to arrive so.
bool keeps_buffered(Flavour flavour) noexcept {
  return buffers_bytes(flavour) && flavour != Flavour::kOpenMpi;
}

}  // namespace lacuna
