// SPDX-License-Identifier: BSD-3-Clause
//
// Every way to complete requests, as one function: for tests that must go through all of them.
#ifndef LACUNA_TESTS_INTERPOSE_HARNESS_COMPLETE_HPP_
#define LACUNA_TESTS_INTERPOSE_HARNESS_COMPLETE_HPP_

#include <mpi.h>

#include <functional>
#include <vector>

namespace test {

enum class How {
  kWait,
  kWaitall,
  kWaitany,
  kWaitsome,
  kTest,
  kTestall,
  kTestany,
  kTestsome,
  kGetStatus,
  kGetStatusAll,
  kGetStatusAny,
  kGetStatusSome,
  kCount
};

// Functions of MPI 4.1. They are looked up, as in programs that must run on older libraries: there
// lacuna has stand-ins, but not under Open MPI.
using GetStatusAll = int (*)(int, const MPI_Request*, int*, MPI_Status*);
using GetStatusAny = int (*)(int, const MPI_Request*, int*, int*, MPI_Status*);
using GetStatusSome = int (*)(int, const MPI_Request*, int*, int*, MPI_Status*);
extern const GetStatusAll get_status_all;
extern const GetStatusAny get_status_any;
extern const GetStatusSome get_status_some;

using Done = std::function<void(int, const MPI_Status*)>;

// Completes all requests in one way; calls `done` once for each, with its status unless `ignore`.
void complete(How how, std::vector<MPI_Request>* requests, bool ignore, const Done& done);

}  // namespace test

#endif  // LACUNA_TESTS_INTERPOSE_HARNESS_COMPLETE_HPP_
