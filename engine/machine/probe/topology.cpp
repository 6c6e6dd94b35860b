// SPDX-License-Identifier: BSD-3-Clause
#include "machine/probe/topology.hpp"

#include <hwloc.h>
#include <sched.h>

namespace lacuna::probe {
namespace {

ToldCache cache_above(hwloc_topology_t topology, int cpu, hwloc_obj_type_t type) {
  ToldCache told;
  hwloc_obj_t cache = nullptr;
  while ((cache = hwloc_get_next_obj_by_type(topology, type, cache)) != nullptr) {
    const bool is_ours = cpu < 0 || hwloc_bitmap_isset(cache->cpuset, static_cast<unsigned>(cpu));
    if (!is_ours || cache->attr == nullptr) continue;
    told.bytes = static_cast<int64_t>(cache->attr->cache.size);
    told.line_bytes = cache->attr->cache.linesize;
    told.cpus = hwloc_bitmap_weight(cache->cpuset);
    const int ways = cache->attr->cache.associativity;  // -1: all of it is one set
    told.ways = ways == -1 && told.line_bytes > 0 ? told.bytes / told.line_bytes : ways;
    break;
  }
  return told;
}

}  // namespace

Topology ask_hwloc() {
  Topology found;
  const unsigned version = hwloc_get_api_version();
  found.hwloc = std::to_string(version >> 16) + "." + std::to_string((version >> 8) & 0xff);
  hwloc_topology_t topology;
  if (hwloc_topology_init(&topology) != 0) return found;
  if (hwloc_topology_load(topology) == 0) {
    const int cpu = sched_getcpu();
    const hwloc_obj_type_t types[] = {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE};
    for (size_t i = 0; i < found.caches.size(); ++i)
      found.caches[i] = cache_above(topology, cpu, types[i]);
    found.cpus = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
  }
  hwloc_topology_destroy(topology);
  return found;
}

int stay_here() {
  const int cpu = sched_getcpu();
  if (cpu < 0) return -1;
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(static_cast<size_t>(cpu), &only);
  return sched_setaffinity(0, sizeof only, &only) == 0 ? cpu : -1;
}

}  // namespace lacuna::probe
