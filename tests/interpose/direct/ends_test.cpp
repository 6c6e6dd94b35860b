// SPDX-License-Identifier: BSD-3-Clause
//
// How truncated receives of probed messages end, and the statuses of persistent sends that are
// inactive for the library.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int kCount = 4096;
constexpr int kTokenBytes = 80;

enum class Way { kRecv, kWait, kWaitall, kStart, kStartAny, kMrecv, kImrecv };

int receive(Way way, char* to, int room, MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  MPI_Message message;
  int index = 0;
  int code = MPI_SUCCESS;
  switch (way) {
    case Way::kRecv:
      return MPI_Recv(to, room, MPI_BYTE, 0, 1, comm, MPI_STATUS_IGNORE);
    case Way::kWait:
      MPI_Irecv(to, room, MPI_BYTE, MPI_ANY_SOURCE, 1, comm, &request);
      return MPI_Wait(&request, MPI_STATUS_IGNORE);
    case Way::kWaitall:
      MPI_Irecv(to, room, MPI_BYTE, 0, 1, comm, &request);
      return MPI_Waitall(1, &request, &status);
    case Way::kStart:
    case Way::kStartAny:
      MPI_Recv_init(to, room, MPI_BYTE, 0, 1, comm, &request);
      MPI_Start(&request);
      code = way == Way::kStart ? MPI_Wait(&request, &status)
                                : MPI_Waitany(1, &request, &index, &status);
      // Open MPI 4.1.4 frees one that ends with an error, if it has received the message itself:
      // the probe has not held a message that is no token if no token was on its way.
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
      return code;
    case Way::kMrecv:
      MPI_Mprobe(0, 1, comm, &message, &status);
      return MPI_Mrecv(to, room, MPI_BYTE, &message, &status);
    case Way::kImrecv:
      MPI_Mprobe(0, 1, comm, &message, &status);
      MPI_Imrecv(to, room, MPI_BYTE, &message, &request);
      return MPI_Wait(&request, &status);
  }
  return code;
}

}  // namespace

// A token and a message as long, both of which a probe takes out of the library's queue: the
// program's error handler is called once.
TOPIC(direct_probe_truncation) {
  MPI_Datatype type = column(kCount, 3);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  return_errors(comm);
  return_errors(MPI_COMM_WORLD);  // MPICH raises errors of MPI_Mrecv there
  std::vector<double> data(3 * kCount, 5);
  for (const bool plain : {false, true}) {
    for (int way = 0; way <= static_cast<int>(Way::kImrecv); ++way) {
      for (const int room : {0, 24, 72}) {
        context("way " + std::to_string(way) + ", room for " + std::to_string(room) +
                (plain ? ", no token" : ""));
        if (g_rank == 0) {
          if (plain)
            MPI_Send(data.data(), kTokenBytes, MPI_BYTE, 1, 1, comm);
          else
            MPI_Send(data.data(), 1, type, 1, 1, comm);
          MPI_Send(data.data(), 1, type, 1, 2, comm);
        } else if (g_rank == 1) {
          std::vector<char> got(2 * kTokenBytes, -1);
          MPI_Status status;
          int bytes = 0;
          MPI_Probe(0, 1, comm, &status);
          MPI_Get_count(&status, MPI_BYTE, &bytes);
          CHECK(bytes == (plain ? kTokenBytes : 8 * kCount));
          const int before = handled_errors();
          const int error_class = class_of(receive(static_cast<Way>(way), got.data(), room, comm));
          CHECK(handled_errors() == before + 1);
          CHECK(error_class == MPI_SUCCESS || error_class == MPI_ERR_IN_STATUS ||
                error_class == MPI_ERR_TRUNCATE);
          CHECK(std::all_of(got.begin() + room, got.end(), [](char c) { return c == -1; }));
          // MPICH 4 receives nothing of a truncated message.
          const auto size = static_cast<size_t>(room);
          const bool has_come = std::memcmp(got.data(), data.data(), size) == 0;
          CHECK(has_come || (plain && std::vector<char>(size, -1) ==
                                          std::vector<char>(got.begin(), got.begin() + room)));
          std::vector<double> numbers(kCount);
          MPI_Recv(numbers.data(), kCount, MPI_DOUBLE, 0, 2, comm, &status);
          CHECK(std::all_of(numbers.begin(), numbers.end(), [](double n) { return n == 5; }));
        }
      }
    }
  }
  context("");
  MPI_Comm_free(&comm);
  MPI_Type_free(&type);
}

namespace {

// The calls of error handlers: on which communicator, with which error class, how often.
struct Heard {
  int where, error_class, times;
  bool operator==(const Heard&) const = default;
};
Heard g_heard;
MPI_Comm g_own;

void hear(MPI_Comm* comm, int* code, ...) {
  const int where = *comm == g_own ? 0 : *comm == MPI_COMM_WORLD ? 1 : 2;
  g_heard = {where, class_of(*code), g_heard.times + 1};
}

void complete_several(int way, MPI_Request* requests) {
  MPI_Status statuses[2];
  int done[2] = {};
  int flag = 0, at = 0, count = 0;
  for (int left = 2; way > 0 && way < 5 && left > 0 && count != MPI_UNDEFINED; left -= flag) {
    flag = 1;
    if (way == 1) MPI_Waitany(2, requests, &at, statuses);
    if (way == 2) MPI_Testany(2, requests, &at, &flag, statuses);
    if (way == 3) MPI_Waitsome(2, requests, &count, done, statuses), flag = count;
    if (way == 4) MPI_Testsome(2, requests, &count, done, statuses), flag = count;
  }
  if (way == 0) MPI_Waitall(2, requests, statuses);
  if (way == 5) MPI_Waitall(1, requests, statuses);
  for (int i = 0; i < 2; ++i)
    if (requests[i] != MPI_REQUEST_NULL) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
}

}  // namespace

// Calls that complete several requests, one of them truncated: the same handler is called with the
// same error as without lacuna.
TOPIC(direct_truncation_of_several) {
  MPI_Datatype type = column(kCount, 3);
  const MPI_Comm comms[] = {MPI_COMM_WORLD, MPI_COMM_SELF};
  MPI_Comm_dup(MPI_COMM_WORLD, &g_own);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(hear, &handler);
  MPI_Comm_set_errhandler(g_own, handler);
  for (const MPI_Comm comm : comms) MPI_Comm_set_errhandler(comm, handler);
  std::vector<double> data(3 * kCount, 5), to(6 * kCount);
  for (int way = 0; way < 6; ++way) {
    Heard heard[2];
    for (const bool on : {false, true}) {
      lacuna(on);
      MPI_Barrier(MPI_COMM_WORLD);
      if (g_rank == 0) {
        for (const int tag : {1, 2}) MPI_Send(data.data(), 1, type, 1, tag, g_own);
      } else if (g_rank == 1) {
        MPI_Request requests[2];
        g_heard = {};
        MPI_Irecv(to.data(), kCount / 2, MPI_DOUBLE, 0, 1, g_own, &requests[0]);
        MPI_Irecv(to.data() + 3 * kCount, kCount, MPI_DOUBLE, 0, 2, g_own, &requests[1]);
        complete_several(way, requests);
        heard[on] = g_heard;
      }
      MPI_Barrier(MPI_COMM_WORLD);
    }
    lacuna(true);
    context("way " + std::to_string(way) + ": heard " + std::to_string(heard[1].where) +
            ", class " + std::to_string(heard[1].error_class) + ", natively " +
            std::to_string(heard[0].where) + ", class " + std::to_string(heard[0].error_class));
    CHECK(g_rank != 1 || heard[0] == heard[1]);
  }
  context("");
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&g_own);
  MPI_Type_free(&type);
}

// MPI_Request_get_status reports such a request as complete, and so does the call that ends it.
TOPIC(direct_persistent_asked) {
  using Any = int (*)(int, const MPI_Request*, int*, int*, MPI_Status*);
  using Some = int (*)(int, const MPI_Request*, int*, int*, MPI_Status*);
  const Any any = newer<Any>("MPI_Request_get_status_any");
  const Some some = newer<Some>("MPI_Request_get_status_some");
  MPI_Datatype type = column(kCount, 3);
  std::vector<double> data(3 * kCount, 5);
  constexpr int kWays = 3;
  for (int way = 0; way < kWays; ++way) {
    context("way " + std::to_string(way));
    if (g_rank == 0) {
      MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
      MPI_Send_init(data.data(), 1, type, 1, 3, MPI_COMM_WORLD, &requests[1]);
      MPI_Start(&requests[1]);
      int index = -1;
      int flag = 0;
      int listed = 0;
      if (way == 0) {
        while (flag == 0) MPI_Request_get_status(requests[1], &flag, MPI_STATUS_IGNORE);
        index = 1;
      } else if (way == 1 && any != nullptr) {
        while (flag == 0) any(2, requests, &index, &flag, MPI_STATUS_IGNORE);
      } else if (way == 2 && some != nullptr) {
        while (listed == 0) some(2, requests, &listed, &index, MPI_STATUSES_IGNORE);
        CHECK(listed == 1);
      } else {
        index = 1;
      }
      CHECK(index == 1);
      index = -1;
      MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
      CHECK(index == 1);
      MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
      CHECK(index == MPI_UNDEFINED);
      MPI_Request_free(&requests[1]);
    } else if (g_rank == 1) {
      std::vector<double> numbers(kCount);
      MPI_Recv(numbers.data(), kCount, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(std::all_of(numbers.begin(), numbers.end(), [](double n) { return n == 5; }));
    }
  }
  context("");
  MPI_Type_free(&type);
}

#if !defined(LACUNA_MPI_FAMILY_OMPI)  // which does not look at handles, and ends the program

// For a freed communicator, the program's error handler is called as often as without lacuna.
TOPIC(direct_bad_communicator) {
  return_errors(MPI_COMM_WORLD);
  return_errors(MPI_COMM_SELF);
  MPI_Datatype type = column(kCount, 3);
  std::vector<double> data(3 * kCount);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const MPI_Comm gone = comm;
  MPI_Comm_free(&comm);
  const auto heard = [&](bool on, const auto& call) {
    lacuna(on);
    const int before = handled_errors();
    call();
    return handled_errors() - before;
  };
  const int other = 1 - g_rank;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Message message = MPI_MESSAGE_NULL;
  int flag = 0;
  const auto same = [&](const char* name, const auto& call) {
    context(name);
    CHECK(heard(true, call) == heard(false, call));
    context("");
    lacuna(true);
  };
  same("MPI_Send", [&] { MPI_Send(data.data(), 1, type, other, 0, gone); });
  same("MPI_Isend", [&] { MPI_Isend(data.data(), 1, type, other, 0, gone, &request); });
  same("MPI_Recv", [&] { MPI_Recv(data.data(), 1, type, other, 0, gone, MPI_STATUS_IGNORE); });
  same("MPI_Send_init", [&] { MPI_Send_init(data.data(), 1, type, other, 0, gone, &request); });
  same("MPI_Iprobe", [&] { MPI_Iprobe(other, 0, gone, &flag, MPI_STATUS_IGNORE); });
  same("MPI_Improbe", [&] { MPI_Improbe(other, 0, gone, &flag, &message, MPI_STATUS_IGNORE); });
  same("MPI_Bcast", [&] { MPI_Bcast(data.data(), 1, type, 0, gone); });
  // The handler is still set on MPI_COMM_WORLD.
  same("MPI_Send to nobody", [&] { MPI_Send(data.data(), 1, type, 7, 0, MPI_COMM_WORLD); });
  CHECK(heard(true, [&] { MPI_Send(data.data(), 1, type, 7, 0, MPI_COMM_WORLD); }) == 1);
  MPI_Type_free(&type);
}

static std::vector<int> g_classes;
static void note_class(MPI_Comm*, int* code, ...) { g_classes.push_back(class_of(*code)); }

// A truncated message on a communicator that the program has freed since: the error is
// MPI_ERR_TRUNCATE, and not one of the communicator.
TOPIC(direct_truncation_after_free) {
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(note_class, &handler);
  MPI_Datatype type = column(kCount, 3);
  std::vector<double> data(3 * kCount, g_rank);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (const MPI_Comm each : {MPI_COMM_WORLD, MPI_COMM_SELF, comm})
    MPI_Comm_set_errhandler(each, handler);
  MPI_Request request = MPI_REQUEST_NULL;
  if (g_rank == 1) MPI_Irecv(data.data(), kCount / 2, MPI_DOUBLE, 0, 1, comm, &request);
  if (g_rank == 0) MPI_Send(data.data(), 1, type, 1, 1, comm);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm_free(&comm);
  g_classes.clear();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (g_rank == 1) CHECK(g_classes == std::vector<int>{MPI_ERR_TRUNCATE});
  for (const MPI_Comm each : {MPI_COMM_WORLD, MPI_COMM_SELF})
    MPI_Comm_set_errhandler(each, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&handler);
  MPI_Type_free(&type);
}

#endif
