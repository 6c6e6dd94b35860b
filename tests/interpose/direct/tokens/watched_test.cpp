// SPDX-License-Identifier: BSD-3-Clause
//
// Posted receives into predefined types that match tokens: any number of them, completed by any
// call, while other requests are freed or cancelled.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int kCount = 512;  // 4 KiB of data
constexpr int kTag = 3;

double value(int message, int i) { return 1000.0 * message + i; }

void send_all(int messages) {
  MPI_Datatype type;
  MPI_Type_vector(kCount, 1, 2, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  std::vector<double> data(static_cast<size_t>(kCount) * 2);
  for (int message = 0; message < messages; ++message) {
    for (int i = 0; i < kCount; ++i) data[static_cast<size_t>(i) * 2] = value(message, i);
    MPI_Send(data.data(), 1, type, 1, kTag, MPI_COMM_WORLD);
  }
  MPI_Type_free(&type);
}

struct Posted {
  explicit Posted(int messages)
      : data(static_cast<size_t>(messages) * kCount, -1),
        requests(static_cast<size_t>(messages), MPI_REQUEST_NULL) {
    for (int message = 0; message < messages; ++message) {
      MPI_Irecv(at(message), kCount, MPI_DOUBLE, 0, kTag, MPI_COMM_WORLD,
                &requests[static_cast<size_t>(message)]);
    }
  }
  double* at(int message) { return &data[static_cast<size_t>(message) * kCount]; }
  int count() const { return static_cast<int>(requests.size()); }
  bool has(int message) {
    for (int i = 0; i < kCount; ++i) {
      if (at(message)[i] != value(message, i)) return false;
    }
    return true;
  }
  void check_all() {
    for (int message = 0; message < count(); ++message) {
      context("message " + std::to_string(message));
      CHECK(has(message));
      CHECK(requests[static_cast<size_t>(message)] == MPI_REQUEST_NULL);
    }
  }

  std::vector<double> data;
  std::vector<MPI_Request> requests;
};

void is_whole(MPI_Status* status) {
  int count = -1;
  MPI_Get_count(status, MPI_DOUBLE, &count);
  CHECK(count == kCount && status->MPI_SOURCE == 0 && status->MPI_TAG == kTag);
}

void complete_one(MPI_Request* request, int way) {
  MPI_Status status{};
  int done = 0;
  switch (way) {
    case 0:
      MPI_Wait(request, MPI_STATUS_IGNORE);
      return;
    case 1:
      MPI_Wait(request, &status);
      return is_whole(&status);
    case 2:
      while (done == 0) MPI_Test(request, &done, MPI_STATUS_IGNORE);
      return;
    case 3:
      while (done == 0) MPI_Test(request, &done, &status);
      return is_whole(&status);
    default:
      while (done == 0) MPI_Request_get_status(*request, &done, &status);
      is_whole(&status);
      MPI_Wait(request, &status);
      return is_whole(&status);
  }
}

// Receives shorter than a token, as long as one, and 80 bytes that are not a token.
void receive_short() {
  for (const int bytes : {0, 1, 79, 80, 81}) {
    context(std::to_string(bytes) + " bytes");
    if (g_rank == 0) {
      const std::vector<char> data(81, 'x');
      MPI_Send(data.data(), bytes, MPI_CHAR, 1, kTag, MPI_COMM_WORLD);
    } else if (g_rank == 1) {
      std::vector<char> data(81, 'y');
      MPI_Request request;
      MPI_Irecv(data.data(), bytes, MPI_CHAR, 0, kTag, MPI_COMM_WORLD, &request);
      MPI_Status status{};
      MPI_Wait(&request, &status);
      int got = -1;
      MPI_Get_count(&status, MPI_CHAR, &got);
      CHECK(got == bytes);
      CHECK(std::count(data.begin(), data.end(), 'x') == bytes);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

void receive_double(double* data, int count, int tag, int way) {
  MPI_Status status{};
  if (way == 2) {
    MPI_Request request;
    MPI_Irecv(data, count, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
  } else {
    MPI_Recv(data, count, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD,
             way == 0 ? MPI_STATUS_IGNORE : &status);
  }
  if (way == 0) return;
  int got = -1;
  MPI_Get_count(&status, MPI_DOUBLE, &got);
  CHECK(got == count && status.MPI_TAG == tag);
}

}  // namespace

// More than the table has adjacent slots for, completed in reverse order.
TOPIC(direct_watched_one_by_one) {
  constexpr int kMessages = 300;
  for (int way = 0; way < 5; ++way) {
    context("way " + std::to_string(way));
    if (g_rank == 1) {
      Posted posted(kMessages);
      MPI_Barrier(MPI_COMM_WORLD);
      for (size_t i = posted.requests.size(); i-- > 0;) complete_one(&posted.requests[i], way);
      posted.check_all();
    } else {
      MPI_Barrier(MPI_COMM_WORLD);
      if (g_rank == 0) send_all(kMessages);
    }
  }
}

// With receives from MPI_PROC_NULL among them, for which a library may use a single handle.
TOPIC(direct_watched_arrays) {
  for (const int messages : {1, 30, 200}) {
    for (int way = 0; way < 3; ++way) {
      context(std::to_string(messages) + " messages, way " + std::to_string(way));
      if (g_rank == 1) {
        Posted posted(messages);
        std::vector<MPI_Request> all = posted.requests;
        std::vector<double> nothing(kCount, -7);
        for (int i = 0; i < 3; ++i) {
          MPI_Request request;
          MPI_Irecv(nothing.data(), kCount, MPI_DOUBLE, MPI_PROC_NULL, kTag, MPI_COMM_WORLD,
                    &request);
          all.push_back(request);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        const int count = static_cast<int>(all.size());
        std::vector<MPI_Status> statuses(all.size());
        if (way == 0) {
          MPI_Waitall(count, all.data(), MPI_STATUSES_IGNORE);
        } else if (way == 1) {
          MPI_Waitall(count, all.data(), statuses.data());
          for (int i = 0; i < messages; ++i) is_whole(&statuses[static_cast<size_t>(i)]);
        } else {
          for (int index = 0; index != MPI_UNDEFINED;)
            MPI_Waitany(count, all.data(), &index, statuses.data());
        }
        std::copy_n(all.begin(), posted.requests.size(), posted.requests.begin());
        posted.check_all();
        CHECK(nothing == std::vector<double>(kCount, -7));
      } else {
        MPI_Barrier(MPI_COMM_WORLD);
        if (g_rank == 0) send_all(messages);
      }
    }
  }
}

// Short receives; freed ones, whose data arrive; and cancelled ones, whose data do not.
TOPIC(direct_watched_others) {
  receive_short();
  constexpr int kMessages = 20;
  constexpr int kFreed = 3;
  if (g_rank == 1) {
    Posted posted(kMessages);
    std::vector<double> none(kCount, -7);
    MPI_Request cancelled;
    MPI_Irecv(none.data(), kCount, MPI_DOUBLE, 0, kTag + 1, MPI_COMM_WORLD, &cancelled);
    MPI_Request_free(&posted.requests[kFreed]);
    MPI_Cancel(&cancelled);
    MPI_Status status{};
    MPI_Wait(&cancelled, &status);
    int was = 0;
    MPI_Test_cancelled(&status, &was);
    CHECK(was == 1);
    MPI_Barrier(MPI_COMM_WORLD);
    for (MPI_Request& request : posted.requests) MPI_Wait(&request, MPI_STATUS_IGNORE);
    posted.check_all();  // the freed one came before the last one
    CHECK(none == std::vector<double>(kCount, -7));
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
    if (g_rank == 0) send_all(kMessages);
  }
}

// Messages as long as a token, while tokens are in flight and when all have been received: sent and
// received in every order.
TOPIC(direct_watched_alike) {
  constexpr int kAlike = 10;
  constexpr int kSteps = 120;
  for (int step = 0; step < kSteps; ++step) {
    context("step " + std::to_string(step));
    const bool brings_token = step % 4 != 3;  // else only the other one, as often as it takes
    if (g_rank == 0) {
      std::vector<double> alike(kAlike);
      for (int i = 0; i < kAlike; ++i) alike[static_cast<size_t>(i)] = value(step, -i);
      if (brings_token && step % 2 == 0) send_all(1);
      MPI_Send(alike.data(), kAlike, MPI_DOUBLE, 1, kTag + 1, MPI_COMM_WORLD);
      if (brings_token && step % 2 != 0) send_all(1);
    } else if (g_rank == 1) {
      const int way = step / 4 % 3;
      const bool is_last = step / 12 % 2 == 0;
      std::vector<double> alike(kAlike, -1);
      std::vector<double> whole(kCount, -1);
      if (brings_token && is_last) receive_double(whole.data(), kCount, kTag, way);
      receive_double(alike.data(), kAlike, kTag + 1, way);
      if (brings_token && !is_last) receive_double(whole.data(), kCount, kTag, way);
      bool same = true;
      for (int i = 0; i < kAlike; ++i)
        same = same && alike[static_cast<size_t>(i)] == value(step, -i);
      for (int i = 0; brings_token && i < kCount; ++i)
        same = same && whole[static_cast<size_t>(i)] == value(0, i);
      CHECK(same);
    }
    if (step % 10 == 9) MPI_Barrier(MPI_COMM_WORLD);
  }
}
