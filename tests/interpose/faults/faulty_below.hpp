// SPDX-License-Identifier: BSD-3-Clause
//
// A library between lacuna and MPI that refuses, or gets a byte wrong, when it is told to and when
// it is lacuna that calls.
#ifndef LACUNA_TESTS_INTERPOSE_FAULTS_FAULTY_BELOW_HPP_
#define LACUNA_TESTS_INTERPOSE_FAULTS_FAULTY_BELOW_HPP_

extern "C" {

enum Refusal {
  kRefuseNothing,
  kRefuseSetAttr,
  kRefuseGetAttr,
  kRefuseEnvelope,
  kRefuseContents,
  kRefuseContiguous,  // what packed data travel as, too, where it is a type of lacuna's own
  kRefuseCommit,
  kRefusals,
  kFailAllgather,  // once, and here alone: the others have what they need of this rank
};
extern int faulty_refusal;  // what is refused
extern int faulty_refused;  // how often it was
extern int faulty_wrong;    // 1: MPI_Pack and MPI_Unpack get the first byte of more than 16 wrong
extern int faulty_wrongs;   // how often they did
}

#endif  // LACUNA_TESTS_INTERPOSE_FAULTS_FAULTY_BELOW_HPP_
