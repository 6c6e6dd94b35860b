// SPDX-License-Identifier: BSD-3-Clause
//
// The table. A row holds for messages up to its size that no row above it holds for. The numbers
// are first, conservative guesses until measured ones replace them (docs/performance.md).
#include "interpose/policy.hpp"

#include <limits>
#include <span>

namespace lacuna {
namespace {

constexpr int64_t kAnySize = std::numeric_limits<int64_t>::max();

struct Row {
  int64_t most_bytes;    // of data in the call
  double most_mean_run;  // bytes per contiguous run
};

constexpr Row kPacking[] = {{kAnySize, 1024}};

// Libraries of MPICH's family copy run by run through a general interpreter.
constexpr Row kMpichMessages[] = {{kAnySize, 256}};
// Open MPI pipelines its derived sends.
constexpr Row kOpenMpiMessages[] = {{kAnySize, 64}};

bool holds(std::span<const Row> rows, int64_t bytes, double mean_run_bytes) {
  for (const Row& row : rows) {
    if (bytes <= row.most_bytes) return mean_run_bytes <= row.most_mean_run;
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

bool pays(Flavour flavour, Operation operation, int64_t bytes, double mean_run_bytes) noexcept {
  if (operation == Operation::kPack || operation == Operation::kUnpack)
    return holds(kPacking, bytes, mean_run_bytes);
  switch (flavour) {
    case Flavour::kMpich:
    case Flavour::kIntelMpi:
    case Flavour::kMvapich:
      return holds(kMpichMessages, bytes, mean_run_bytes);
    case Flavour::kOpenMpi:
    case Flavour::kOther:
      return holds(kOpenMpiMessages, bytes, mean_run_bytes);
  }
  return false;
}

}  // namespace lacuna
