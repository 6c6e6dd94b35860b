// SPDX-License-Identifier: BSD-3-Clause
//
// What random programs are made of besides random types: pairs, and neighbourhoods.
#ifndef LACUNA_TESTS_INTERPOSE_RANDOM_PARTS_HPP_
#define LACUNA_TESTS_INTERPOSE_RANDOM_PARTS_HPP_

#include "tests/interpose/harness/collective_calls.hpp"
#include "tests/interpose/random/program.hpp"

namespace test {

// MPI_DOUBLE_INT and kin, and a struct of the same, committed. Not of kNone.
MPI_Datatype pairs(Pairs which);
MPI_Datatype struct_like(Pairs which);

// A communicator of the ranks of `comm`, and in `scene` how many neighbours this rank has.
MPI_Comm make_topology(Topology which, MPI_Comm comm, Scene* scene);

}  // namespace test

#endif  // LACUNA_TESTS_INTERPOSE_RANDOM_PARTS_HPP_
