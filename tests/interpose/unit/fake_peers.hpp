// SPDX-License-Identifier: BSD-3-Clause
//
// For unit tests: an arena of this process, and peers whose arenas are memory of the test.
#ifndef LACUNA_TESTS_INTERPOSE_UNIT_FAKE_PEERS_HPP_
#define LACUNA_TESTS_INTERPOSE_UNIT_FAKE_PEERS_HPP_

#include <cstddef>
#include <cstdint>

namespace lacuna::test {

// Makes the arena of this process, 72 MiB, at the first call. False: the system refuses.
bool have_arena();
// Starts `ranks` peers, of which this process is the first, and the others are alive.
bool have_peers(uint32_t ranks, bool threads);
// The first pages of a peer's arena (arena.hpp).
std::byte* arena_of(uint32_t peer);

}  // namespace lacuna::test

#endif  // LACUNA_TESTS_INTERPOSE_UNIT_FAKE_PEERS_HPP_
