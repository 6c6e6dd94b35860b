// SPDX-License-Identifier: BSD-3-Clause
//
// Persistent sends by the direct path: a start is over when it returns, whatever the receiver does,
// and each has the data of its own moment.
#include <string>
#include <vector>

#include "complete.hpp"
#include "harness.hpp"

using namespace test;

namespace {

// Longer than any library sends before the receiver asks for it.
constexpr int kCount = 1 << 16;
constexpr int kTag = 5;

void fill(std::vector<double>* data, int salt) {
  for (size_t i = 0; i < data->size(); ++i) (*data)[i] = static_cast<double>(i) + 1e6 * salt;
}

bool is_sent(const std::vector<double>& got, int salt) {
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] != static_cast<double>(2 * i) + 1e6 * salt) return false;
  }
  return true;
}

// The next message of rank 0.
bool comes(int salt) {
  std::vector<double> got(kCount);
  MPI_Status status;
  MPI_Probe(0, kTag, MPI_COMM_WORLD, &status);
  int count = 0;
  MPI_Get_count(&status, MPI_DOUBLE, &count);
  MPI_Recv(got.data(), kCount, MPI_DOUBLE, 0, kTag, MPI_COMM_WORLD, &status);
  return count == kCount && is_sent(got, salt);
}

}  // namespace

// Nobody receives before all are over; in every way to complete them.
TOPIC(direct_persistent) {
  MPI_Datatype type = column(kCount, 2);
  constexpr int kWays = static_cast<int>(How::kGetStatus) + 1;
  if (g_rank == 0) {
    std::vector<double> data(static_cast<size_t>(kCount) * 2);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Send_init(data.data(), 1, type, 1, kTag, MPI_COMM_WORLD, &request);
    for (int way = 0; way < kWays; ++way) {
      context("way " + std::to_string(way));
      fill(&data, way);
      CHECK(MPI_Start(&request) == MPI_SUCCESS);
      int completed = 0;
      std::vector<MPI_Request> requests = {request};
      complete(static_cast<How>(way), &requests, false,
               [&](int, const MPI_Status*) { ++completed; });
      CHECK(completed == 1);
      fill(&data, -1);
    }
    context("cancelled, which is too late");
    fill(&data, kWays);
    MPI_Start(&request);
    CHECK(MPI_Cancel(&request) == MPI_SUCCESS);
    MPI_Status status;
    int cancelled = 1;
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(cancelled == 0);
    context("with others, and freed under way");
    int number = 7;
    MPI_Request both[2] = {request, MPI_REQUEST_NULL};
    MPI_Send_init(&number, 1, MPI_INT, 1, kTag + 1, MPI_COMM_WORLD, &both[1]);
    fill(&data, kWays + 1);
    CHECK(MPI_Startall(2, both) == MPI_SUCCESS);
    MPI_Request_free(&both[0]);
    CHECK(both[0] == MPI_REQUEST_NULL);
    MPI_Wait(&both[1], MPI_STATUS_IGNORE);
    MPI_Request_free(&both[1]);
    CHECK(taken("MPI_Send_init") == 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (g_rank == 1) {
    for (int i = 0; i < kWays + 2; ++i) {
      context("message " + std::to_string(i));
      CHECK(comes(i));
    }
    int number = 0;
    MPI_Recv(&number, 1, MPI_INT, 0, kTag + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(number == 7);
  }
  context("");
  MPI_Type_free(&type);
}

// More than fit into an arena at once, received one after the other: some go by the request itself.
TOPIC(direct_persistent_room) {
  MPI_Datatype type = column(kCount, 2);
  constexpr int kMessages = 40;
  std::vector<double> data(static_cast<size_t>(kCount) * 2);
  std::vector<MPI_Request> requests(kMessages, MPI_REQUEST_NULL);
  if (g_rank == 0) {
    fill(&data, 3);
    for (MPI_Request& request : requests)
      MPI_Send_init(data.data(), 1, type, 1, kTag, MPI_COMM_WORLD, &request);
    for (int round = 0; round < 2; ++round) {
      MPI_Startall(kMessages, requests.data());
      MPI_Waitall(kMessages, requests.data(), MPI_STATUSES_IGNORE);
    }
    for (MPI_Request& request : requests) MPI_Request_free(&request);
  } else if (g_rank == 1) {
    for (int i = 0; i < 2 * kMessages; ++i) CHECK(comes(3));
  }
  MPI_Type_free(&type);
}

// What goes early does not overtake what goes by the library and was started before it.
TOPIC(direct_persistent_order) {
  MPI_Datatype type = column(kCount, 2);
  constexpr int kMessages = 4;
  if (g_rank == 0) {
    std::vector<double> data(static_cast<size_t>(kCount) * 2);
    fill(&data, 0);
    const std::vector<double> plain(kCount, -1);
    std::vector<MPI_Request> requests(kMessages, MPI_REQUEST_NULL);
    for (int i = 0; i < kMessages; ++i) {
      if (i % 2 == 0) {
        MPI_Send_init(plain.data(), kCount, MPI_DOUBLE, 1, kTag, MPI_COMM_WORLD, &requests[i]);
      } else {
        MPI_Send_init(data.data(), 1, type, 1, kTag, MPI_COMM_WORLD, &requests[i]);
      }
    }
    CHECK(MPI_Startall(kMessages, requests.data()) == MPI_SUCCESS);
    MPI_Waitall(kMessages, requests.data(), MPI_STATUSES_IGNORE);
    for (MPI_Request& request : requests) MPI_Request_free(&request);
  }
  if (g_rank == 1) {
    for (int i = 0; i < kMessages; ++i) {
      context("message " + std::to_string(i));
      std::vector<double> got(kCount);
      MPI_Recv(got.data(), kCount, MPI_DOUBLE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(got[1] == (i % 2 == 0 ? -1 : 2));
    }
  }
  context("");
  MPI_Type_free(&type);
}
