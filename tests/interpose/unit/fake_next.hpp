// SPDX-License-Identifier: BSD-3-Clause
//
// For unit tests: the preload library without an MPI library. Every function of `Next` is null
// until a test sets it, and nothing was learned in MPI_Init but some handles.
#ifndef LACUNA_TESTS_INTERPOSE_UNIT_FAKE_NEXT_HPP_
#define LACUNA_TESTS_INTERPOSE_UNIT_FAKE_NEXT_HPP_

#include "interpose/library/next.hpp"

namespace lacuna::test {

// Open for tests to change.
Next& fake_next() noexcept;

}  // namespace lacuna::test

#endif  // LACUNA_TESTS_INTERPOSE_UNIT_FAKE_NEXT_HPP_
