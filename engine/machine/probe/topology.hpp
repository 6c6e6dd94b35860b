// SPDX-License-Identifier: BSD-3-Clause
//
// What hwloc says of the caches of the CPU that this runs on.
#ifndef LACUNA_ENGINE_MACHINE_PROBE_TOPOLOGY_HPP_
#define LACUNA_ENGINE_MACHINE_PROBE_TOPOLOGY_HPP_

#include <array>
#include <cstdint>
#include <string>

namespace lacuna::probe {

struct ToldCache {
  int64_t bytes = 0;  // 0: it says nothing
  int64_t line_bytes = 0;
  int64_t cpus = 0;
  int64_t ways = 0;  // lines of one set; 0: it says nothing
};

struct Topology {
  std::array<ToldCache, 3> caches;  // data caches, first level first
  int64_t cpus = 0;                 // of the machine, as far as this process may see it
  std::string hwloc;                // its version
};

Topology ask_hwloc();

// Pins this thread to the CPU it is on, so that all parts measure the same caches and TLB. Returns
// the CPU, or -1 where that is not possible.
int stay_here();

}  // namespace lacuna::probe

#endif  // LACUNA_ENGINE_MACHINE_PROBE_TOPOLOGY_HPP_
