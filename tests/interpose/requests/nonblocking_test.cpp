// SPDX-License-Identifier: BSD-3-Clause
//
// Nonblocking messages and every way to complete them.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <thread>

#include "tests/interpose/harness/complete.hpp"
#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

unsigned g_state = 1;
int below(int n) {
  g_state = g_state * 1664525U + 1013904223U;
  return static_cast<int>((g_state >> 8) % static_cast<unsigned>(n));
}

// A round: every rank sends several messages of random shapes to the other one, and receives as
// many; handled and declined ones are mixed.
void round(How how, const std::vector<Shape>& shapes, int messages, bool ignore) {
  struct Message {
    MPI_Datatype type;
    int count;
    Buffer from, to, expected;
  };
  std::vector<Message> all;
  const int other = 1 - g_rank;
  for (int i = 0; i < messages; ++i) {
    const Shape& shape = shapes[static_cast<size_t>(below(static_cast<int>(shapes.size())))];
    const int count = below(7);
    Message message{
        shape.type, count, {shape.type, count}, {shape.type, count}, {shape.type, count}};
    message.from.fill(static_cast<unsigned>(100 * g_rank + i));
    message.to.fill(7777);
    message.expected.fill(7777);
    all.push_back(message);
  }
  // What must arrive, by the library alone.
  lacuna(false);
  for (int i = 0; i < messages; ++i) {
    Message& message = all[static_cast<size_t>(i)];
    MPI_Sendrecv(message.from.base(), message.count, message.type, other, i,
                 message.expected.base(), message.count, message.type, other, i, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
  lacuna(true);

  std::vector<MPI_Request> requests(static_cast<size_t>(2 * messages));
  std::vector<int> order(static_cast<size_t>(2 * messages));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<size_t>(below(static_cast<int>(i)))]);
  std::vector<MPI_Request> shuffled;
  for (const int i : order) {
    Message& message = all[static_cast<size_t>(i % messages)];
    MPI_Request request;
    if (i < messages) {
      MPI_Irecv(message.to.base(), message.count, message.type, other, i, MPI_COMM_WORLD, &request);
    } else {
      MPI_Isend(message.from.base(), message.count, message.type, other, i - messages,
                MPI_COMM_WORLD, &request);
    }
    shuffled.push_back(request);
  }
  int completed = 0;
  complete(how, &shuffled, ignore, [&](int at, const MPI_Status* status) {
    ++completed;
    const int i = order[static_cast<size_t>(at)];
    if (i >= messages) return;
    Message& message = all[static_cast<size_t>(i)];
    CHECK(message.to == message.expected);
    if (status == nullptr) return;
    CHECK(status->MPI_SOURCE == other && status->MPI_TAG == i);
    CHECK(StatusView(*status, message.type).bytes == data_bytes(message.type, message.count));
  });
  CHECK(completed == 2 * messages);
  for (const MPI_Request request : shuffled) CHECK(request == MPI_REQUEST_NULL);
}

}  // namespace

TOPIC(nonblocking_every_completion) {
  std::vector<Shape> shapes = all_shapes();
  for (int how = 0; how < static_cast<int>(How::kCount); ++how) {
    if (get_status_all == nullptr && how > static_cast<int>(How::kGetStatus)) break;
    for (int repeat = 0; repeat < 12; ++repeat) {
      context("completion " + std::to_string(how));
      g_state = static_cast<unsigned>(how * 100 + repeat);
      round(static_cast<How>(how), shapes, 1 + below(10), repeat % 3 == 0);
    }
    round(static_cast<How>(how), shapes, 90,
          how % 2 == 0);  // more statuses than lacuna keeps on the stack
  }
  free_shapes(&shapes);
#if defined(LACUNA_MPI_FAMILY_OMPI)
  CHECK(get_status_all == nullptr);
#else
  CHECK(get_status_all != nullptr && get_status_any != nullptr && get_status_some != nullptr);
  // Nothing active.
  MPI_Request none[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status statuses[2];
  int index = 0, flag = 0, outcount = 0, indices[2];
  CHECK(get_status_any(2, none, &index, &flag, statuses) == MPI_SUCCESS);
  CHECK(flag != 0 && index == MPI_UNDEFINED);
  CHECK(get_status_all(2, none, &flag, statuses) == MPI_SUCCESS && flag != 0);
  CHECK(get_status_some(2, none, &outcount, indices, statuses) == MPI_SUCCESS);
  CHECK(outcount == MPI_UNDEFINED);
#endif
}

// Rendezvous on all libraries: sends that are not complete when they return.
TOPIC(nonblocking_large) {
  MPI_Datatype narrow = column(256), type;
  MPI_Type_create_resized(narrow, 0, sizeof(double), &type);
  MPI_Type_commit(&type);
  std::vector<double> from(3 * 256 * 256), to(3 * 256 * 256);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<double>(i) + g_rank;
  for (int how = 0; how <= static_cast<int>(How::kGetStatus); ++how) {
    std::vector<MPI_Request> requests(6);
    std::fill(to.begin(), to.end(), -1);
    for (int i = 0; i < 3; ++i) {
      MPI_Isend(&from[static_cast<size_t>(i) * 65536], 256, type, 1 - g_rank, i, MPI_COMM_WORLD,
                &requests[static_cast<size_t>(i)]);
    }
    // The data are packed: overwriting them now would be wrong in MPI, but what the peer gets shows
    // when they were read.
    for (int i = 0; i < 3; ++i) {
      MPI_Irecv(&to[static_cast<size_t>(i) * 65536], 65536, MPI_DOUBLE, 1 - g_rank, i,
                MPI_COMM_WORLD, &requests[static_cast<size_t>(3 + i)]);
    }
    complete(static_cast<How>(how), &requests, true, [](int, const MPI_Status*) {});
    bool same = true;
    for (int i = 0; i < 3; ++i) {
      for (int row = 0; row < 256; ++row) {
        for (int col = 0; col < 256; ++col) {
          const size_t base = static_cast<size_t>(i) * 65536;
          same =
              same && to[base + static_cast<size_t>(col * 256 + row)] ==
                          from[base + static_cast<size_t>(row * 256 + col)] - g_rank + (1 - g_rank);
        }
      }
    }
    CHECK(same);
  }
  MPI_Type_free(&narrow);
  MPI_Type_free(&type);
}

// A freed request is finished all the same: a send is delivered, a receive ends up in the buffer.
TOPIC(nonblocking_request_free) {
  for (const int n : {16, 512}) {
    MPI_Datatype type = column(n);
    const size_t length = static_cast<size_t>(n) * static_cast<size_t>(n);
    std::vector<double> matrix(length, -1);
    std::vector<double> line(static_cast<size_t>(n));
    MPI_Request request;
    if (g_rank == 0) {
      for (size_t i = 0; i < length; ++i) matrix[i] = static_cast<double>(i);
      for (int column_of = 0; column_of < 4; ++column_of) {
        MPI_Isend(&matrix[static_cast<size_t>(column_of)], 1, type, 1, 0, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
        CHECK(request == MPI_REQUEST_NULL);
      }
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Send(line.data(), n, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
      MPI_Ssend(line.data(), n, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD);
    } else {
      MPI_Barrier(MPI_COMM_WORLD);
      for (int column_of = 0; column_of < 4; ++column_of) {
        MPI_Recv(line.data(), n, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        bool same = true;
        for (int i = 0; i < n; ++i)
          same = same && line[static_cast<size_t>(i)] == i * n + column_of;
        CHECK(same);
      }
      MPI_Irecv(matrix.data(), 1, type, 0, 1, MPI_COMM_WORLD, &request);
      MPI_Request_free(&request);
      CHECK(request == MPI_REQUEST_NULL);
      MPI_Recv(line.data(), n, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      // A later call completes it.
      for (int i = 0; i < 1000 && matrix[0] != line[0]; ++i) {
        int flag;
        MPI_Iprobe(0, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      }
      bool same = true;
      for (int i = 0; i < n; ++i) {
        same = same && matrix[static_cast<size_t>(i) * static_cast<size_t>(n)] ==
                           line[static_cast<size_t>(i)];
      }
      CHECK(same);
    }
    MPI_Type_free(&type);
  }
  // A message before the one that the program has waited for has arrived.
  MPI_Datatype type = column(16);
  for (int i = 0; i < 20; ++i) {
    std::vector<double> first(256, -1), second(256, -1);
    MPI_Request freed, request;
    if (g_rank == 1) {
      MPI_Irecv(first.data(), 1, type, 0, 3, MPI_COMM_WORLD, &freed);
      MPI_Request_free(&freed);
      MPI_Irecv(second.data(), 1, type, 0, 3, MPI_COMM_WORLD, &request);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (g_rank == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the other one waits
      std::fill(first.begin(), first.end(), i);
      MPI_Send(first.data(), 16, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD);
      MPI_Send(first.data(), 16, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD);
    } else if (g_rank == 1) {
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      CHECK(second[0] == i && second[240] == i);
      CHECK(first[0] == i && first[1] == -1 && first[240] == i);
    }
  }
  MPI_Type_free(&type);
  // A receive that never matches: MPI_Finalize must end.
  if (g_rank == 1) {
    static double never[64];
    type = column(8);
    MPI_Request request;
    MPI_Irecv(never, 1, type, 0, 4242, MPI_COMM_SELF, &request);
    MPI_Request_free(&request);
    MPI_Type_free(&type);
  }
}

TOPIC(nonblocking_cancel) {
  MPI_Datatype type = column(16);
  Buffer to(type, 1), before(type, 1);
  to.fill(5);
  before.fill(5);
  for (const bool by_test : {false, true}) {
    MPI_Request request;
    MPI_Irecv(to.base(), 1, type, 1 - g_rank, 77, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Status status;
    int flag = 1;
    if (by_test) {
      do {
        MPI_Test(&request, &flag, &status);
      } while (flag == 0);
    } else {
      MPI_Wait(&request, &status);
    }
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag != 0);
    CHECK(request == MPI_REQUEST_NULL);
    CHECK(to == before);
  }
  CHECK(taken("MPI_Irecv") == 2);
  MPI_Type_free(&type);
}

// Once MPI_Request_get_status has reported completion, the buffer is the program's: completing the
// request later must not write to it.
TOPIC(nonblocking_get_status_then_wait) {
  MPI_Datatype type = column(16);
  Buffer from(type, 1), to(type, 1), changed(type, 1);
  from.fill(1);
  changed.fill(2);
  MPI_Request request;
  MPI_Irecv(to.base(), 1, type, 1 - g_rank, 0, MPI_COMM_WORLD, &request);
  MPI_Send(from.base(), 1, type, 1 - g_rank, 0, MPI_COMM_WORLD);
  int flag = 0;
  while (flag == 0) MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
  to.fill(2);
  MPI_Status status;
  MPI_Wait(&request, &status);
  CHECK(to == changed);
  CHECK(StatusView(status, type).count == 1);
  MPI_Type_free(&type);
}

// More requests at once than the side table has buckets, completed in another order.
TOPIC(nonblocking_many) {
  constexpr int kMany = 6000;
  MPI_Datatype type;
  MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  std::vector<double> to(4 * kMany, -1), from(2);
  std::vector<MPI_Request> requests(kMany);
  std::vector<int> order(kMany);
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = kMany; i > 1; --i)
    std::swap(order[i - 1], order[static_cast<size_t>(below(static_cast<int>(i)))]);
  for (const int i : order) {
    const size_t at = static_cast<size_t>(i);
    MPI_Irecv(&to[4 * at], 1, type, g_rank, i, MPI_COMM_WORLD, &requests[at]);
  }
  CHECK(taken("MPI_Irecv") == kMany);
  for (int i = 0; i < kMany; ++i) {
    from[0] = i;
    from[1] = i + 0.5;
    MPI_Send(from.data(), 2, MPI_DOUBLE, g_rank, i, MPI_COMM_WORLD);
  }
  bool right = true;
  for (int i = 0; i < kMany; ++i) {
    const size_t at = static_cast<size_t>((i * 7919) % kMany);
    MPI_Wait(&requests[at], MPI_STATUS_IGNORE);
    right = right && to[4 * at] == static_cast<double>(at) && to[4 * at + 1] == -1 &&
            to[4 * at + 2] == static_cast<double>(at) + 0.5 && to[4 * at + 3] == -1;
  }
  CHECK(right);
  MPI_Type_free(&type);
}

// Persistent requests among others (persistent_test.cpp has the rest).
TOPIC(nonblocking_with_persistent) {
  MPI_Datatype type = column(16);
  Buffer from(type, 1), to(type, 1), also(type, 1);
  from.fill(1);
  MPI_Request requests[4];
  const int other = 1 - g_rank;
  MPI_Recv_init(to.base(), 1, type, other, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(from.base(), 1, type, other, 0, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < 3; ++i) {
    to.fill(1);
    also.fill(1);
    MPI_Startall(2, requests);
    MPI_Irecv(also.base(), 1, type, other, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(from.base(), 1, type, other, 1, MPI_COMM_WORLD, &requests[3]);
    MPI_Status statuses[4];
    MPI_Waitall(4, requests, statuses);
    CHECK(to == from);
    CHECK(also == from);
    CHECK(requests[0] != MPI_REQUEST_NULL && requests[2] == MPI_REQUEST_NULL);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  MPI_Type_free(&type);
}
