// SPDX-License-Identifier: BSD-3-Clause
//
// The first token of a job. Until then, receives are not examined for tokens
// (interpose/messages/fast_receive.hpp), and here it arrives while receives without a status wait.
// This can happen once for each rank, so the test has a job of its own. Then tokens that arrive
// when receives are not examined any more, as all tokens before have been received.
#include <chrono>
#include <thread>
#include <vector>

#include "tests/interpose/harness/harness.hpp"

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

// Long enough for the others to enter their calls; if it is not, less is tested.
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
      // A message that is no token, while a token goes to another receive.
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

namespace {

// Receives without a status, so many that the receiver may have stopped to examine them: it
// examines 32 at first, and twice as many each time that it stopped too early.
void pass_many(int messages) {
  for (int i = 0; i < messages; ++i) {
    if (g_rank == 0) send_plain(i, 1);
    if (g_rank != 1) continue;
    std::vector<double> got(kCount, -1);
    MPI_Request request = post(&got, 0, kPlain);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(got == numbers(i));
  }
}

void wait_in_vain() {
  std::vector<double> none(kCount, -1);
  MPI_Request request = post(&none, 0, kPlain);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(none == std::vector<double>(kCount, -1));
}

void test_until_done() {
  std::vector<double> got(kCount, -1);
  MPI_Request request = post(&got, 0, kGaps);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int done = 0; done == 0;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  CHECK(got == numbers(100));
}

// What the receiver does while it waits for `first`, or for nothing but an empty message.
struct Way {
  void (*receive)();
  double first;
};
constexpr Way kWays[] = {{wait_for_one, 100},
                         {test_until_done, 100},
                         {wait_for_several, 200},
                         {wait_for_all_of_one, 300},
                         {wait_in_vain, 0}};

}  // namespace

TOPIC(direct_settled_tokens) {
  int asks = 32;
  for (const Way& way : kWays) {
    asks *= 2;
    pass_many(asks);
    if (g_rank == 1) {
      way.receive();
      continue;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (g_rank != 0) continue;
    let_others_wait();
    if (way.first == 0) {
      MPI_Send(nullptr, 0, MPI_DOUBLE, 1, kPlain, MPI_COMM_WORLD);
      continue;
    }
    send_gaps(way.first, 1);
    if (way.first == 200) send_plain(250, 1);
  }
  // A token that is received by another call than those that examine receives.
  if (g_rank == 0) send_gaps(600, 1);
  if (g_rank == 1) {
    std::vector<double> got(kCount, -1);
    MPI_Recv(got.data(), kCount, MPI_DOUBLE, 0, kGaps, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(got == numbers(600));
  }
  pass_many(asks);
}
