// SPDX-License-Identifier: BSD-3-Clause
//
// A library between lacuna and MPI that, if told to, lets calls by lacuna fail or gets a byte wrong
// in them, or is late.
#ifndef LACUNA_TESTS_INTERPOSE_FAULTS_FAULTY_BELOW_HPP_
#define LACUNA_TESTS_INTERPOSE_FAULTS_FAULTY_BELOW_HPP_

extern "C" {

enum Refusal {
  kRefuseNothing,
  kRefuseSetAttr,
  kRefuseGetAttr,
  kRefuseEnvelope,
  kRefuseContents,
  kRefuseContiguous,  // also the types that lacuna makes for packed data
  kRefuseCommit,
  kRefusals,
  kFailAllgather,  // once, and in this rank only: the others get their data from it
};
extern int faulty_refusal;  // which calls fail
extern int faulty_refused;  // how many failed
extern int faulty_wrong;    // 1: MPI_Pack and MPI_Unpack get the first byte of more than 16 wrong
extern int faulty_wrongs;   // how often they did
}

#endif  // LACUNA_TESTS_INTERPOSE_FAULTS_FAULTY_BELOW_HPP_
