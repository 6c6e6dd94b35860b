// SPDX-License-Identifier: BSD-3-Clause
//
// Moves: reads, writes and copies of long runs in the CPU's widest vectors, by normal and by
// non-temporal stores. Lengths are multiples of 1024 bytes, pointers of 64.
#ifndef LACUNA_ENGINE_MACHINE_PROBE_LOOPS_MOVES_HPP_
#define LACUNA_ENGINE_MACHINE_PROBE_LOOPS_MOVES_HPP_

#include <cstddef>
#include <cstdint>

namespace lacuna::probe {

struct Moves {
  const char* isa;
  uint64_t (*read)(const char* from, size_t bytes);  // a number that depends on all bytes
  void (*write)(char* to, size_t bytes);             // no two words the same
  void (*copy)(const char* from, char* to, size_t bytes);
  void (*stream_write)(char* to, size_t bytes);
  void (*stream_copy)(const char* from, char* to, size_t bytes);
};

const Moves& best_moves();

}  // namespace lacuna::probe

#endif  // LACUNA_ENGINE_MACHINE_PROBE_LOOPS_MOVES_HPP_
