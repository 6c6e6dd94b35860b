// SPDX-License-Identifier: BSD-3-Clause
//
// What becomes of the requests behind one that has failed.
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "harness.hpp"

using namespace test;

namespace {

// Who wants no statuses finds all requests complete, also those behind one that has failed.
void wait_without_statuses(int rounds) {
  MPI_Datatype type = column(8);
  std::vector<double> line(20, 3);
  // A first one that is well, as what receives bring is asked from then on (direct/quick.hpp).
  for (int round = 0; round < rounds; ++round) {
    for (const bool gaps : {false, true}) {
      int null[2] = {-1, -1};
      bool there[2] = {false, false};
      for (const bool on : {false, true}) {
        MPI_Barrier(MPI_COMM_WORLD);
        lacuna(on);
        if (g_rank == 0) {
          MPI_Send(line.data(), round == 0 ? 8 : 20, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          MPI_Send(line.data(), 8, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD);
        } else if (g_rank == 1) {
          std::vector<double> first(64, -1), second(64, -1);
          MPI_Request requests[2];
          MPI_Irecv(first.data(), gaps ? 1 : 8, gaps ? type : MPI_DOUBLE, 0, 1, MPI_COMM_WORLD,
                    &requests[0]);
          MPI_Irecv(second.data(), gaps ? 1 : 8, gaps ? type : MPI_DOUBLE, 0, 2, MPI_COMM_WORLD,
                    &requests[1]);
          MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
          null[on] = requests[1] == MPI_REQUEST_NULL;
          there[on] = second[gaps ? 56 : 7] == 3;
          for (MPI_Request& request : requests) {
            if (request != MPI_REQUEST_NULL) MPI_Wait(&request, MPI_STATUS_IGNORE);
          }
        }
      }
      context("round " + std::to_string(round) + (gaps ? ", gaps" : ""));
      CHECK(null[0] == null[1]);
      // What is still pending may be there or not.
      CHECK(there[0] == there[1] || null[1] == 0);
      context("");
    }
  }
  MPI_Type_free(&type);
}

}  // namespace

TOPIC(errors_without_statuses) {
  // After a handler of the program's own MPICH 5 says that all is well: then only what is.
  with_each_handler([](bool own) { wait_without_statuses(own ? 1 : 2); });
}
