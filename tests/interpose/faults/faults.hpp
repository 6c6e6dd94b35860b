// SPDX-License-Identifier: BSD-3-Clause
//
// What the tests of refused memory have in common.
#ifndef LACUNA_TESTS_INTERPOSE_FAULTS_FAULTS_HPP_
#define LACUNA_TESTS_INTERPOSE_FAULTS_FAULTS_HPP_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "tests/interpose/harness/harness.hpp"

namespace test {

// Allocations of lacuna's that succeed before one fails; below 0: none does. Whether all after it
// fail, too; how many have failed.
extern std::atomic<int64_t> g_until;
extern std::atomic<bool> g_all;
extern std::atomic<int64_t> g_failed;
void disarm();

// A type that has not been there before, so that it must be learned and planned.
MPI_Datatype new_type();

inline int other() { return g_rank ^ 1; }

// Whether it holds in some rank.
bool anywhere(bool here);

using Arm = std::function<void()>;
// A round for each allocation that lacuna makes in it, which is refused in this rank if `here`, and
// all after it where `all` is set. How many rounds there were, until no rank was refused anything.
int64_t refuse_each(const std::string& name, bool all, bool here, int64_t most,
                    const std::function<void(const Arm&)>& round);

}  // namespace test

#endif  // LACUNA_TESTS_INTERPOSE_FAULTS_FAULTS_HPP_
