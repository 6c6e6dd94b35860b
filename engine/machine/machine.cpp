// SPDX-License-Identifier: BSD-3-Clause
//
// Asks the C library for what the host knows about itself; keeps the defaults for what it does not
// say.
#include "machine/machine.hpp"

#include <unistd.h>

namespace lacuna {
namespace {

void take(int name, int64_t& value) {
  const long answer = sysconf(name);
  if (answer > 0) value = answer;
}

Machine ask_host() {
  Machine m;
  take(_SC_PAGESIZE, m.page_bytes);
#ifdef _SC_LEVEL1_DCACHE_LINESIZE  // glibc; answers 0 where it does not know (most AArch64 systems)
  take(_SC_LEVEL1_DCACHE_LINESIZE, m.line_bytes);
  take(_SC_LEVEL1_DCACHE_SIZE, m.l1_bytes);
  take(_SC_LEVEL2_CACHE_SIZE, m.l2_bytes);
  take(_SC_LEVEL3_CACHE_SIZE, m.l3_bytes);
#endif
  m.stream_run_bytes = m.l3_bytes / 2;
  return m;
}

}  // namespace

const Machine& machine() {
  static const Machine host = ask_host();
  return host;
}

}  // namespace lacuna
