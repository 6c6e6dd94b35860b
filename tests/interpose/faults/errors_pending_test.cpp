// SPDX-License-Identifier: BSD-3-Clause
//
// The requests that follow a failed one in the same call.
#include <signal.h>
#include <sys/time.h>

#include <atomic>
#include <string>
#include <vector>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

// The progress of two ranks, in memory that they share: the first message was sent, and the second
// one may be.
struct Steps {
  std::atomic<int> is_first_out;
  std::atomic<int> may_second_go;
};
Steps* g_steps = nullptr;

// Counts CPU time, not wall time: so a rank that waits has tested for messages all that time,
// however busy the machine is.
volatile sig_atomic_t g_ticks = 0;
void tick(int) {
  constexpr int kTicks = 3;
  if (g_steps->is_first_out.load() == 0) return;
  g_ticks = g_ticks + 1;
  if (g_ticks == kTicks) g_steps->may_second_go.store(1);
}
void tell_ticks(bool on) {
  const timeval each{0, on ? 4000 : 0};
  const itimerval interval{each, each};
  setitimer(ITIMER_PROF, &interval, nullptr);
}

// Without statuses, all requests must be complete, also those that follow a failed one. The second
// message is sent when the call that waits has received the first one, or has returned.
void wait_without_statuses(int rounds) {
  MPI_Datatype type = column(8);
  std::vector<double> line(64, 3), packed(8);
  int position = 0;  // something is taken: under Open MPI these receives are not
  MPI_Pack(line.data(), 1, type, packed.data(), 64, &position, MPI_COMM_WORLD);
  // A first receive without an error: from then on lacuna examines receives (fast_receive.hpp).
  for (int round = 0; round < rounds; ++round) {
    for (const bool gaps : {false, true}) {
      int null[2] = {-1, -1};
      bool there[2] = {false, false};
      for (const bool on : {false, true}) {
        g_ticks = 0;
        g_steps->is_first_out = g_steps->may_second_go = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        lacuna(on);
        if (g_rank == 0) {
          MPI_Send(line.data(), round == 0 ? 8 : 20, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
          g_steps->is_first_out = 1;
          while (g_steps->may_second_go.load() == 0) sched_yield();
          MPI_Send(line.data(), 8, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD);
        } else if (g_rank == 1) {
          std::vector<double> first(64, -1), second(64, -1);
          MPI_Request requests[2];
          MPI_Irecv(first.data(), gaps ? 1 : 8, gaps ? type : MPI_DOUBLE, 0, 1, MPI_COMM_WORLD,
                    &requests[0]);
          MPI_Irecv(second.data(), gaps ? 1 : 8, gaps ? type : MPI_DOUBLE, 0, 2, MPI_COMM_WORLD,
                    &requests[1]);
          tell_ticks(true);
          MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
          tell_ticks(false);
          null[on] = requests[1] == MPI_REQUEST_NULL;
          there[on] = second[gaps ? 56 : 7] == 3;
          g_steps->may_second_go = 1;
          for (MPI_Request& request : requests) {
            if (request != MPI_REQUEST_NULL) MPI_Wait(&request, MPI_STATUS_IGNORE);
          }
        }
        MPI_Barrier(MPI_COMM_WORLD);
      }
      context("round " + std::to_string(round) + (gaps ? ", gaps" : ""));
      CHECK(null[0] == null[1]);
      // The data of a pending request may be there or not.
      CHECK(there[0] == there[1] || null[1] == 0);
      context("");
    }
  }
  MPI_Type_free(&type);
}

}  // namespace

// A message that is far too long, and that a library may read out of the sender's memory: nothing
// outside the receive buffer is written (Finalize checks the memory behind packed data).
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
  for (int i = 0; i < 4; ++i) {  // the last message is too long
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

// The same for data sent with gaps and received without, for matched messages and for collectives,
// on a communicator with a handler of its own.
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
  if (!is_open) {  // these libraries raise errors of matched messages there
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
    if (!is_open) continue;  // others may wait for ever
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

// The same if the error handler is set only when the message comes, and in the receiver only: for
// receives that were posted or made before, and data sent with gaps.
TOPIC(errors_overrun_later) {
  constexpr int kRoom = 500, kLong = 20000;
  MPI_Datatype type = column(kRoom, 2), longer = column(kLong, 2);
  std::vector<double> line(2 * kLong, 7);
  for (int way = 0; way < 4; ++way) {
    const size_t step = way < 2 ? 2 : 1;
    std::vector<double> room(2 * kLong, -1);
    MPI_Request request = MPI_REQUEST_NULL;
    if (g_rank == 0) {
      if (way == 3) MPI_Send_init(line.data(), 1, longer, 1, 1, MPI_COMM_WORLD, &request);
      MPI_Barrier(MPI_COMM_WORLD);
      if (way < 2) MPI_Send(line.data(), kLong, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
      if (way == 2) MPI_Send(line.data(), 1, longer, 1, 1, MPI_COMM_WORLD);
      if (way == 3) MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      if (way == 0) MPI_Irecv(room.data(), 1, type, 0, 1, MPI_COMM_WORLD, &request);
      if (way == 1) MPI_Recv_init(room.data(), 1, type, 0, 1, MPI_COMM_WORLD, &request);
      return_errors(MPI_COMM_WORLD);
      if (way == 1) MPI_Start(&request);
      MPI_Barrier(MPI_COMM_WORLD);
      const int before = handled_errors();
      const int code = way < 2 ? MPI_Wait(&request, MPI_STATUS_IGNORE)
                               : MPI_Recv(room.data(), kRoom, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD,
                                          MPI_STATUS_IGNORE);
      context("way " + std::to_string(way));
      CHECK(code != MPI_SUCCESS || handled_errors() > before);
      bool right = true;
      for (size_t i = 0; i < room.size(); ++i)
        right = right && (room[i] == -1 || (i < step * kRoom && i % step == 0));
      CHECK(right);
      context("");
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (way % 2 == 1 && request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }
  if (g_rank == 0) CHECK(taken("MPI_Send") == 1 && taken("MPI_Send_init") == 1);
  if (g_rank == 1) CHECK(taken("MPI_Irecv") == 1 && taken("MPI_Recv_init") == 1);
  MPI_Type_free(&type);
  MPI_Type_free(&longer);
}

TOPIC(errors_without_statuses) {
  MPI_Win window;
  MPI_Aint bytes = 0;
  int unit = 0;
  void* own = nullptr;
  MPI_Win_allocate_shared(g_rank == 0 ? sizeof(Steps) : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own,
                          &window);
  MPI_Win_shared_query(window, 0, &bytes, &unit, &g_steps);
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = tick;
  action.sa_flags = SA_RESTART;
  sigaction(SIGPROF, &action, &before);
  // After a handler of the program's own, MPICH 5 returns MPI_SUCCESS.
  with_each_handler([](bool own_handler) { wait_without_statuses(own_handler ? 1 : 2); });
  sigaction(SIGPROF, &before, nullptr);
  MPI_Win_free(&window);
}

namespace {

constexpr int kFew = 40;  // doubles

// What rank 1 has received in the end, and whether all its requests are null, after calls out of
// which its error handler throws: the second message is too long.
struct Ending {
  bool all_gone = true;
  std::vector<double> first, third;
  bool operator==(const Ending&) const = default;
};

void throw_class(MPI_Comm*, int* code, ...) { throw *code; }

Ending end_by_throwing(int way, MPI_Comm comm) {
  MPI_Datatype type = column(kFew, 3), longer = column(2 * kFew, 3);
  std::vector<double> data(6 * kFew, 5), to[3];
  Ending ending;
  if (g_rank == 0) {
    MPI_Recv(nullptr, 0, MPI_INT, 1, 3, comm, MPI_STATUS_IGNORE);
    for (int i = 0; i < 3; ++i) MPI_Send(data.data(), 1, i == 1 ? longer : type, 1, i, comm);
    MPI_Send(nullptr, 0, MPI_INT, 1, 3, comm);
  } else if (g_rank == 1) {
    const bool persists = way % 2 != 0;
    MPI_Request requests[3];
    for (int i = 0; i < 3; ++i) {
      to[i].assign(9 * kFew, -1);
      if (i == 2 && persists) {
        MPI_Recv_init(to[i].data(), 1, type, 0, i, comm, &requests[i]);
        MPI_Start(&requests[i]);
      } else {
        MPI_Irecv(to[i].data(), 1, type, 0, i, comm, &requests[i]);
      }
    }
    MPI_Request persistent = persists ? requests[2] : MPI_REQUEST_NULL;
    MPI_Send(nullptr, 0, MPI_INT, 0, 3, comm);
    MPI_Recv(nullptr, 0, MPI_INT, 0, 3, comm, MPI_STATUS_IGNORE);  // so all are here
    for (int tries = 0; tries < 4; ++tries) {
      try {
        MPI_Status statuses[3];
        int count = 0, indices[3] = {};
        if (way < 2) MPI_Waitall(3, requests, statuses);
        if (way >= 2 && way < 4) MPI_Waitsome(3, requests, &count, indices, statuses);
        if (way >= 4 && way < 6) MPI_Waitany(3, requests, indices, statuses);
        if (way >= 6) MPI_Wait(&requests[tries % 3], statuses);
      } catch (int) {
      }
    }
    for (const MPI_Request& request : requests)
      ending.all_gone = ending.all_gone && (request == MPI_REQUEST_NULL || request == persistent);
    if (persists) MPI_Request_free(&persistent);
    ending.first = to[0];
    ending.third = to[2];
  }
  MPI_Type_free(&type);
  MPI_Type_free(&longer);
  return ending;
}

}  // namespace

// Of several requests, those without an error deliver their data, although the handler throws
// because of another one.
TOPIC(errors_thrown_of_several) {
  MPI_Errhandler handler, before[2];
  const MPI_Comm others[] = {MPI_COMM_WORLD, MPI_COMM_SELF};
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_errhandler(throw_class, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  for (int i = 0; i < 2; ++i) {
    MPI_Comm_get_errhandler(others[i], &before[i]);
    MPI_Comm_set_errhandler(others[i], handler);
  }
#if defined(LACUNA_MPI_FAMILY_MPIABI)  // an exception leaves the program's array unchanged there
  const int ways = 0;
#else
  const int ways = 8;
#endif
  int position = 0;  // something is taken
  MPI_Datatype type = column(kFew, 3);
  std::vector<double> gaps(3 * kFew), packed(kFew);
  MPI_Pack(gaps.data(), 1, type, packed.data(), kFew * 8, &position, comm);
  MPI_Type_free(&type);
  for (int way = 0; way < ways; ++way) {
    Ending endings[2];
    for (const bool on : {false, true}) {
      lacuna(on);
      MPI_Barrier(comm);
      endings[on] = end_by_throwing(way, comm);
    }
    lacuna(true);
    context("way " + std::to_string(way));
    CHECK(endings[0] == endings[1]);
    CHECK(g_rank != 1 || endings[1].first[0] == 5);
  }
  context("");
  for (int i = 0; i < 2; ++i) MPI_Comm_set_errhandler(others[i], before[i]);
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
}

// Two truncated messages, of which lacuna finds one and the library the other: neither is reported
// as successful.
TOPIC(errors_of_two_kinds) {
  with_each_handler([](bool own) {
    MPI_Datatype type = column(2 * kFew, 3), shorter = column(kFew, 2);
    std::vector<double> data(6 * kFew, 5), to(3 * kFew, -1);
    int position = 0;  // something is taken: under Open MPI these messages need not be
    MPI_Pack(data.data(), 1, type, to.data(), 2 * kFew * 8, &position, MPI_COMM_WORLD);
    if (own) {
      // After that, MPICH 5 returns MPI_SUCCESS.
    } else if (g_rank == 0) {
      MPI_Recv(nullptr, 0, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(data.data(), 1, type, 1, 1, MPI_COMM_WORLD);
      MPI_Send(data.data(), 2 * kFew, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD);
      MPI_Send(nullptr, 0, MPI_INT, 1, 3, MPI_COMM_WORLD);
    } else if (g_rank == 1) {
      MPI_Request requests[2];
      MPI_Status statuses[2];
      MPI_Irecv(to.data(), 1, shorter, 0, 1, MPI_COMM_WORLD, &requests[0]);
      MPI_Irecv(to.data() + 2 * kFew, kFew, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD, &requests[1]);
      MPI_Send(nullptr, 0, MPI_INT, 0, 3, MPI_COMM_WORLD);
      MPI_Recv(nullptr, 0, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(class_of(MPI_Waitall(2, requests, statuses)) == MPI_ERR_IN_STATUS);
      for (int i = 0; i < 2; ++i) {
        CHECK(statuses[i].MPI_ERROR != MPI_SUCCESS);
        if (requests[i] != MPI_REQUEST_NULL) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
      }
    }
    MPI_Type_free(&type);
    MPI_Type_free(&shorter);
  });
}
