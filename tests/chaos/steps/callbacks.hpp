// SPDX-License-Identifier: BSD-3-Clause
#ifndef LACUNA_TESTS_CHAOS_STEPS_CALLBACKS_HPP_
#define LACUNA_TESTS_CHAOS_STEPS_CALLBACKS_HPP_

#include <mpi.h>

namespace chaos {

// Adds integers, and calls MPI in between and as its last statement.
MPI_Op a_user_op();

}  // namespace chaos

#endif  // LACUNA_TESTS_CHAOS_STEPS_CALLBACKS_HPP_
