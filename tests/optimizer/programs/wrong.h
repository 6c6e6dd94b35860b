// SPDX-License-Identifier: BSD-3-Clause
//
// What a compiler would do that gets vectors wrong, for the test of compare.py.
#ifndef LACUNA_TESTS_OPTIMIZER_WRONG_H_
#define LACUNA_TESTS_OPTIMIZER_WRONG_H_

#include <mpi.h>

#define MPI_Type_vector(count, length, stride, old, made) \
  MPI_Type_vector(count, length, (stride) + 1, old, made)

#endif  // LACUNA_TESTS_OPTIMIZER_WRONG_H_
