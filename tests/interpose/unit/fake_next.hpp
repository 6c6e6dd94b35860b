// SPDX-License-Identifier: BSD-3-Clause
//
// For unit tests: the preload library without an MPI library. Every function of `Next` is null
// until a test sets it, and of the runtime only some handles are set.
#ifndef LACUNA_TESTS_INTERPOSE_UNIT_FAKE_NEXT_HPP_
#define LACUNA_TESTS_INTERPOSE_UNIT_FAKE_NEXT_HPP_

#include "interpose/library/next.hpp"

namespace lacuna::test {

// The table, which tests may change.
Next& fake_next() noexcept;

}  // namespace lacuna::test

#endif  // LACUNA_TESTS_INTERPOSE_UNIT_FAKE_NEXT_HPP_
