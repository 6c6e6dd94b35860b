// SPDX-License-Identifier: BSD-3-Clause
//
// The first token of all, which comes while others wait for what they have posted, and ask for no
// status: nobody looks at receives before (interpose/direct/quick.hpp). One job has one such moment
// for each rank, so this has a job of its own.
#include <chrono>
#include <thread>
#include <vector>

#include "harness.hpp"

using namespace test;

namespace {

constexpr int kCount = 512;  // 4 KiB of data
constexpr int kGaps = 1;     // tags
constexpr int kPlain = 2;

std::vector<double> numbers(double first) {
  std::vector<double> found(kCount);
  for (int i = 0; i < kCount; ++i) found[static_cast<size_t>(i)] = first + i;
  return found;
}

// By the direct path.
void send_gaps(double first, int dest) {
  MPI_Datatype type = column(kCount, 2);
  std::vector<double> data(size_t{2} * kCount);
  for (int i = 0; i < kCount; ++i) data[size_t{2} * static_cast<size_t>(i)] = first + i;
  MPI_Send(data.data(), 1, type, dest, kGaps, MPI_COMM_WORLD);
  MPI_Type_free(&type);
}

void send_plain(double first, int dest) {
  MPI_Send(numbers(first).data(), kCount, MPI_DOUBLE, dest, kPlain, MPI_COMM_WORLD);
}

MPI_Request post(std::vector<double>* to, int source, int tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(to->data(), kCount, MPI_DOUBLE, source, tag, MPI_COMM_WORLD, &request);
  return request;
}

// Long enough that the others are in their calls; if not, less is tested.
void let_others_wait() { std::this_thread::sleep_for(std::chrono::milliseconds(200)); }

void wait_for_one() {
  std::vector<double> got(kCount, -1);
  MPI_Request request = post(&got, 0, kGaps);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(request == MPI_REQUEST_NULL);
  CHECK(got == numbers(100));
}

void wait_for_several() {
  std::vector<double> got(kCount, -1), plain(kCount, -1), none(kCount, -1);
  MPI_Request requests[] = {post(&plain, 0, kPlain), post(&none, MPI_PROC_NULL, kGaps),
                            post(&got, 0, kGaps)};
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  CHECK(got == numbers(200));
  CHECK(plain == numbers(250));
  CHECK(none == std::vector<double>(kCount, -1));
}

void wait_for_all_of_one() {
  std::vector<double> got(kCount, -1);
  MPI_Request request = post(&got, 0, kGaps);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
  CHECK(got == numbers(300));
}

}  // namespace

TOPIC(direct_first_token) {
  if (g_size < 4) return CHECK(g_size == 4);
  switch (g_rank) {
    case 0: {
      MPI_Barrier(MPI_COMM_WORLD);
      let_others_wait();
      send_gaps(100, 1);
      send_gaps(200, 2);
      send_plain(250, 2);
      send_gaps(300, 3);
      CHECK(taken("MPI_Send") == 3 || !g_direct);
      // What is no token, while somebody sends one elsewhere.
      std::vector<double> plain(kCount, -1);
      MPI_Request request = post(&plain, 1, kPlain);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      CHECK(plain == numbers(400));
      break;
    }
    case 1:
      wait_for_one();
      let_others_wait();
      send_gaps(500, 2);
      send_plain(400, 0);
      break;
    case 2: {
      wait_for_several();
      std::vector<double> got(kCount, -1);
      MPI_Recv(got.data(), kCount, MPI_DOUBLE, 1, kGaps, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(got == numbers(500));
      break;
    }
    default:
      wait_for_all_of_one();
  }
}
