// SPDX-License-Identifier: BSD-3-Clause
//
// Persistent sends that complete as soon as they are started, beside a receive: no call that
// completes some of several requests starves one of them, however often the others are restarted.
#include <string>
#include <vector>

#include "tests/interpose/harness/complete.hpp"
#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int kCount = 4096;
constexpr int kMost = 400;

// The requests that a call has completed, or, for MPI_Request_get_status, reported as complete.
using Completed = std::vector<int>;

struct Way {
  const char* name;
  Completed (*call)(std::vector<MPI_Request>& requests);
};

Completed listed(int count, const int* indices) {
  return count == MPI_UNDEFINED ? Completed() : Completed(indices, indices + count);
}

Completed waitsome(std::vector<MPI_Request>& requests) {
  int count = 0, indices[3];
  MPI_Status statuses[3];
  MPI_Waitsome(3, requests.data(), &count, indices, statuses);
  return listed(count, indices);
}

Completed testsome(std::vector<MPI_Request>& requests) {
  int count = 0, indices[3];
  MPI_Testsome(3, requests.data(), &count, indices, MPI_STATUSES_IGNORE);
  return listed(count, indices);
}

Completed waitany(std::vector<MPI_Request>& requests) {
  int index = 0;
  MPI_Waitany(3, requests.data(), &index, MPI_STATUS_IGNORE);
  return {index};
}

Completed testany(std::vector<MPI_Request>& requests) {
  int index = 0, flag = 0;
  MPI_Status status;
  MPI_Testany(3, requests.data(), &index, &flag, &status);
  return flag != 0 ? Completed{index} : Completed();
}

Completed asked_some(std::vector<MPI_Request>& requests) {
  int count = 0, indices[3];
  get_status_some(3, requests.data(), &count, indices, MPI_STATUSES_IGNORE);
  const Completed all = listed(count, indices);
  for (const int index : all) MPI_Wait(&requests[static_cast<size_t>(index)], MPI_STATUS_IGNORE);
  return all;
}

Completed asked_any(std::vector<MPI_Request>& requests) {
  int index = 0, flag = 0;
  get_status_any(3, requests.data(), &index, &flag, MPI_STATUS_IGNORE);
  if (flag == 0) return {};
  MPI_Wait(&requests[static_cast<size_t>(index)], MPI_STATUS_IGNORE);
  return {index};
}

}  // namespace

TOPIC(direct_persistent_fair) {
  MPI_Datatype type = column(kCount, 3);
  std::vector<double> data(3 * kCount, 7);
  std::vector<Way> ways = {
      {"Waitsome", waitsome}, {"Testsome", testsome}, {"Waitany", waitany}, {"Testany", testany}};
  if (get_status_some != nullptr) {
    ways.push_back({"get_status_some", asked_some});
    ways.push_back({"get_status_any", asked_any});
  }
  for (const Way& way : ways) {
    context(way.name);
    MPI_Barrier(MPI_COMM_WORLD);
    if (g_rank == 0) {
      // Two sends, and a receive whose message is here from the beginning.
      std::vector<MPI_Request> requests(3);
      int from = 0, to = 0;
      for (const int i : {0, 2})
        MPI_Send_init(data.data(), 1, type, 1, i, MPI_COMM_WORLD,
                      &requests[static_cast<size_t>(i)]);
      MPI_Recv_init(&to, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[1]);
      MPI_Startall(3, requests.data());
      MPI_Send(&from, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
      int sent[3] = {1, 0, 1};
      int completed[3] = {0, 0, 0};
      int received_after = 0;
      // As many sends, of both together, as the other rank receives.
      while (completed[0] + completed[2] < kMost) {
        for (const int index : way.call(requests)) {
          ++completed[index];
          if (index == 1) {
            received_after = completed[0] + completed[2];
          } else if (sent[0] + sent[2] < kMost) {
            MPI_Start(&requests[static_cast<size_t>(index)]);
            ++sent[index];
          }
        }
      }
      CHECK(completed[1] == 1);
      CHECK(received_after < kMost / 4);
      CHECK(completed[0] > kMost / 8 && completed[2] > kMost / 8);
      for (MPI_Request& request : requests) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
      }
    } else if (g_rank == 1) {
      std::vector<double> to(kCount);
      bool right = true;
      for (int i = 0; i < kMost; ++i) {
        MPI_Recv(to.data(), kCount, MPI_DOUBLE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        right = right && to[0] == 7 && to[kCount - 1] == 7;
      }
      CHECK(right);
    }
  }
  context("");
  MPI_Type_free(&type);
}
