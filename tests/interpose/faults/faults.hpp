// SPDX-License-Identifier: BSD-3-Clause
//
// Shared by the tests of failing allocations.
#ifndef LACUNA_TESTS_INTERPOSE_FAULTS_FAULTS_HPP_
#define LACUNA_TESTS_INTERPOSE_FAULTS_FAULTS_HPP_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "tests/interpose/harness/harness.hpp"

namespace test {

// How many of lacuna's allocations succeed before one fails; below 0: none fails. Whether all after
// it fail, too. How many have failed.
extern std::atomic<int64_t> g_until;
extern std::atomic<bool> g_all;
extern std::atomic<int64_t> g_failed;
void disarm();

// A type that was not used before, so that lacuna must analyse and plan it.
MPI_Datatype new_type();

inline int other() { return g_rank ^ 1; }

// Whether `here` is true in some rank.
bool anywhere(bool here);

using Arm = std::function<void()>;
// Repeats `round`, each time with the next one of lacuna's allocations failing in this rank if
// `here`, and with `all` also all that follow it, until none fails in any rank. Returns the number
// of rounds.
int64_t refuse_each(const std::string& name, bool all, bool here, int64_t most,
                    const std::function<void(const Arm&)>& round);

}  // namespace test

#endif  // LACUNA_TESTS_INTERPOSE_FAULTS_FAULTS_HPP_
