// SPDX-License-Identifier: BSD-3-Clause
//
// Machine: numbers about the host, as data. plan/ and exec/ take every threshold from here, so that
// none is a literal in code. What the host tells (sysconf) is used; the rest are defaults with
// their source.
#ifndef LACUNA_ENGINE_MACHINE_MACHINE_HPP_
#define LACUNA_ENGINE_MACHINE_MACHINE_HPP_

#include <cstdint>

namespace lacuna {

struct Machine {
  int64_t line_bytes = 64;
  int64_t page_bytes = 4096;
  int64_t l1_bytes = int64_t{32} << 10;
  int64_t l2_bytes = int64_t{1} << 20;
  int64_t l3_bytes = int64_t{32} << 20;
  // First-level data TLB. 64 is the least of current x86 and AArch64 servers (Zen 4: 72, Golden
  // Cove: 96); Byna 2003 section 5.3 measures it, a profile will.
  int64_t tlb_entries = 64;
  // Transposes with an output from this size on write past the caches (non-temporal stores): whole
  // lines go out without being read first, and no two lines fight for a cache set. Four times the
  // second level: below it the output stays near for whoever sends it next, and the cached way is
  // as fast (docs/kernels.md).
  int64_t stream_transpose_bytes = int64_t{4} << 20;
  // The same for copies of long runs, which gain only once the output would not stay in the last
  // level anyway.
  int64_t stream_run_bytes = int64_t{16} << 20;
  // What a further thread must have to move: waking one takes 5 to 50 us, in which a core moves
  // 50 KiB to 500 KiB.
  int64_t parallel_bytes = int64_t{1} << 20;
};

// The host's numbers, read once.
const Machine& machine();

}  // namespace lacuna

#endif  // LACUNA_ENGINE_MACHINE_MACHINE_HPP_
