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
  std::vector<double> line(64, 3), packed(8);
  int position = 0;  // something is taken: under Open MPI these receives are not
  MPI_Pack(line.data(), 1, type, packed.data(), 64, &position, MPI_COMM_WORLD);
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

// Far too long a message, which a library may read out of the sender's memory: nothing but the
// receive's own memory is written (Finalize looks at what lies behind that of packed data).
TOPIC(errors_overrun) {
  return_errors(MPI_COMM_WORLD);
  constexpr int kRoom = 500, kLong = 2000;
  MPI_Datatype type = column(kRoom, 2);
  std::vector<double> line(kLong, 7), pairs(2 * kLong, -1), packed(kRoom);
  const int other = g_rank ^ 1;
  const auto send = [&](int tag, int count, MPI_Request* request) {
    MPI_Isend(line.data(), count, MPI_DOUBLE, other, tag, MPI_COMM_WORLD, request);
  };
  MPI_Request requests[3];
  int position = 0;
  MPI_Pack(line.data(), 1, type, packed.data(), kRoom * 8, &position, MPI_COMM_WORLD);
  const auto is_cut = [&](const std::function<int()>& call) {
    const int before = handled_errors();
    return call() != MPI_SUCCESS || handled_errors() > before;
  };
  for (int i = 0; i < 4; ++i) {  // the last one is too long, and it is known by then what to do
    send(1, i < 3 ? kRoom : kLong, &requests[0]);
    const auto receive = [&] {
      return MPI_Recv(pairs.data(), 1, type, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    };
    if (i < 3) CHECK(receive() == MPI_SUCCESS);
    if (i == 3) CHECK(is_cut(receive));
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  }
  MPI_Irecv(pairs.data(), 1, type, other, 2, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(pairs.data(), 1, type, other, 3, MPI_COMM_WORLD, &requests[1]);
  MPI_Start(&requests[1]);
  for (int i = 0; i < 2; ++i) {
    send(2 + i, kLong, &requests[2]);
    CHECK(is_cut([&] { return MPI_Wait(&requests[i], MPI_STATUS_IGNORE); }));
    MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&requests[1]);
  bool right = true;
  for (size_t i = 0; i < pairs.size(); ++i)
    right = right && (pairs[i] == -1 || (i % 2 == 0 && i < 2 * kRoom));
  CHECK(right);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Type_free(&type);
}

// The same of what is sent with gaps into memory that has none, of matched messages and of
// collectives, on a communicator that the world's handler says nothing of.
TOPIC(errors_overrun_others) {
  constexpr int kRoom = 500, kLong = 2000;
  MPI_Datatype type = column(kRoom, 2), longer = column(kLong, 2);
  std::vector<double> line(2 * kLong, 7), packed(kRoom);
  int position = 0;
  MPI_Pack(line.data(), 1, type, packed.data(), kRoom * 8, &position, MPI_COMM_WORLD);
  MPI_Comm two = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, g_rank / 2, g_rank, &two);
  return_errors(two);
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);
  const bool is_open = std::string(version).find("Open MPI") != std::string::npos;
  if (!is_open) {  // one of these hears of matched messages there
    return_errors(MPI_COMM_WORLD);
    return_errors(MPI_COMM_SELF);
  }
  const auto send = [&](MPI_Datatype what) { MPI_Send(line.data(), 1, what, 1, 1, two); };
  // `receive` writes up to `end` of these, and every other one where there are gaps.
  const auto keeps_to = [&](size_t end, size_t step, const std::function<int(double*)>& receive) {
    std::vector<double> room(4 * kLong, -1);
    const int before = handled_errors();
    CHECK(receive(room.data()) != MPI_SUCCESS || handled_errors() > before);
    bool right = true;
    for (size_t i = 0; i < room.size(); ++i)
      right = right && (room[i] == -1 || (i < end && i % step == 0));
    CHECK(right);
  };
  for (int round = 0; round < 2; ++round) {
    if (g_rank % 2 == 0) {
      for (int i = 0; i < 3; ++i) send(longer);
    } else {
      keeps_to(kRoom, 1, [&](double* room) {
        return MPI_Recv(room, kRoom, MPI_DOUBLE, 0, 1, two, MPI_STATUS_IGNORE);
      });
      MPI_Message message;
      keeps_to(2 * kRoom, 2, [&](double* room) {
        MPI_Mprobe(0, 1, two, &message, MPI_STATUS_IGNORE);
        return MPI_Mrecv(room, 1, type, &message, MPI_STATUS_IGNORE);
      });
      keeps_to(2 * kRoom, 2, [&](double* room) {
        MPI_Request request;
        MPI_Mprobe(0, 1, two, &message, MPI_STATUS_IGNORE);
        const int code = MPI_Imrecv(room, 1, type, &message, &request);
        return code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
      });
    }
    if (!is_open) continue;  // others may wait for what does not come
    if (g_rank % 2 == 1) {
      MPI_Gatherv(line.data(), 1, longer, nullptr, nullptr, nullptr, type, 0, two);
    } else {
      const int counts[] = {0, 1}, places[] = {0, 0};
      keeps_to(2 * kRoom, 2, [&](double* room) {
        return MPI_Gatherv(MPI_IN_PLACE, 0, type, room, counts, places, type, 0, two);
      });
    }
  }
  for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF})
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_free(&two);
  MPI_Type_free(&type);
  MPI_Type_free(&longer);
}

TOPIC(errors_without_statuses) {
  // After a handler of the program's own MPICH 5 says that all is well: then only what is.
  with_each_handler([](bool own) { wait_without_statuses(own ? 1 : 2); });
}
