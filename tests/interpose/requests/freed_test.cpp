// SPDX-License-Identifier: BSD-3-Clause
//
// Requests that the program frees while they are active: communicators that are disconnected
// meanwhile, and every way in which a program may find out that a freed receive has completed.
#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

using Doubles = std::vector<double>;

// Every third double is `value`, and the rest as it was.
bool has_come(const Doubles& data, double value) {
  for (size_t i = 0; i < data.size(); ++i)
    if (data[i] != (i % 3 == 0 ? value : -1)) return false;
  return true;
}

// One message from rank 0 to rank 1 on `comm`, of which one side's request is freed.
struct Case {
  const char* name;
  void (*send)(const double* data, MPI_Datatype type, MPI_Comm comm);
  void (*receive)(double* data, MPI_Datatype type, MPI_Comm comm);
};

void send(const double* data, MPI_Datatype type, MPI_Comm comm) {
  MPI_Send(data, 1, type, 1, 0, comm);
}

void isend(const double* data, MPI_Datatype type, MPI_Comm comm) {
  MPI_Request request;
  MPI_Isend(data, 1, type, 1, 0, comm, &request);
  MPI_Request_free(&request);
}

void start_send(const double* data, MPI_Datatype type, MPI_Comm comm) {
  MPI_Request request;
  MPI_Ssend_init(data, 1, type, 1, 0, comm, &request);
  MPI_Start(&request);
  MPI_Request_free(&request);
}

void receive(double* data, MPI_Datatype type, MPI_Comm comm) {
  MPI_Recv(data, 1, type, 0, 0, comm, MPI_STATUS_IGNORE);
}

void irecv(double* data, MPI_Datatype type, MPI_Comm comm) {
  MPI_Request request;
  MPI_Irecv(data, 1, type, 0, 0, comm, &request);
  MPI_Request_free(&request);
}

void start_receive(double* data, MPI_Datatype type, MPI_Comm comm) {
  MPI_Request request;
  MPI_Recv_init(data, 1, type, 0, 0, comm, &request);
  MPI_Start(&request);
  MPI_Request_free(&request);
}

void receive_matched(double* data, MPI_Datatype type, MPI_Comm comm) {
  MPI_Message message;
  MPI_Request request;
  MPI_Mprobe(0, 0, comm, &message, MPI_STATUS_IGNORE);
  MPI_Imrecv(data, 1, type, &message, &request);
  MPI_Request_free(&request);
}

}  // namespace

#if defined(LACUNA_MPI_FAMILY_OMPI)  // does not wait if both sides have freed their requests
constexpr bool kWaits = false;
#else
constexpr bool kWaits = true;
#endif

// MPI_Comm_disconnect returns, and the freed requests have completed by then.
TOPIC(freed_disconnect) {
  const Case cases[] = {
      {"send", isend, receive},           {"persistent send", start_send, receive},
      {"receive", send, irecv},           {"persistent receive", send, start_receive},
      {"matched", send, receive_matched}, {"both", isend, irecv},
  };
  for (const int n : {200, 100000}) {
    MPI_Datatype type = column(n, 3);
    for (const Case& one : cases) {
      if (!kWaits && one.send == isend && one.receive == irecv) continue;
      context(std::string(one.name) + " of " + std::to_string(n));
      Doubles data(static_cast<size_t>(3 * n), g_rank == 0 ? n : -1);
      MPI_Comm comm;
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
      if (g_rank == 0) one.send(data.data(), type, comm);
      if (g_rank == 1) one.receive(data.data(), type, comm);
      MPI_Comm_disconnect(&comm);
      CHECK(comm == MPI_COMM_NULL);
      if (g_rank == 1) CHECK(has_come(data, n));
    }
    MPI_Type_free(&type);
  }
  context("");
}

// The send of MPI_Isendrecv_replace may be a request of lacuna's own, for which nobody waits: the
// program's request completes with the receive.
TOPIC(freed_disconnect_isendrecv) {
  using Replace = int (*)(void*, int, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Request*);
  const auto replace = newer<Replace>("MPI_Isendrecv_replace");
  constexpr int kN = 100000;
  MPI_Datatype type = column(kN, 3);
  Doubles data(kN, -1), other(3 * kN, 5);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Sendrecv(other.data(), 1, type, 1 - g_rank, 2, data.data(), kN, MPI_DOUBLE, 1 - g_rank, 2,
               comm, MPI_STATUS_IGNORE);
  CHECK(data == Doubles(kN, 5));
  data.assign(kN, g_rank);
  if (g_rank == 0 && replace != nullptr) {
    MPI_Request request;
    replace(data.data(), kN, MPI_DOUBLE, 1, 0, 1, 1, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(data == Doubles(kN, 5));
  } else if (g_rank == 0) {
    MPI_Send(data.data(), kN, MPI_DOUBLE, 1, 0, comm);
    MPI_Recv(data.data(), kN, MPI_DOUBLE, 1, 1, comm, MPI_STATUS_IGNORE);
  } else if (g_rank == 1) {
    MPI_Request request;
    MPI_Isend(other.data(), 1, type, 0, 1, comm, &request);
    MPI_Recv(data.data(), kN, MPI_DOUBLE, 0, 0, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(data == Doubles(kN, 0));
  }
  MPI_Comm_disconnect(&comm);
  MPI_Type_free(&type);
}

// Whichever call tells the program that the sender has gone on, even if lacuna is off, or has no
// part in that call.
TOPIC(freed_receive_is_there) {
  constexpr int kN = 40;
  MPI_Datatype type = column(kN, 3);
  int word = 0, count = 0;
  MPI_Win win;
  MPI_Win_create(&word, sizeof(word), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  const auto ssend = [&] { MPI_Ssend(&word, 1, MPI_INT, 1, 1, MPI_COMM_WORLD); };
  const auto recv = [&] { MPI_Recv(&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); };
  struct Way {
    const char* name;
    std::function<void()> of_sender, of_receiver;
  };
  const std::function<void()> barrier = [] { MPI_Barrier(MPI_COMM_WORLD); };
  const std::function<void()> bcast = [&] { MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD); };
  const std::function<void()> gather = [&] {
    MPI_Gather(&word, 1, MPI_INT, g_rank == 1 ? &count : nullptr, 1, MPI_INT, 1, MPI_COMM_SELF);
  };
  const std::function<void()> fence = [&] { MPI_Win_fence(0, win); };
  const Way ways[] = {
      {"MPI_Recv", ssend, recv},
      {"MPI_Wait", ssend,
       [&] {
         MPI_Request request;
         MPI_Irecv(&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &request);
         MPI_Wait(&request, MPI_STATUS_IGNORE);
       }},
      {"MPI_Probe", [&] { MPI_Send(&word, 1, MPI_INT, 1, 1, MPI_COMM_WORLD); },
       [&] { MPI_Probe(0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }},
      {"MPI_Iprobe", [&] { MPI_Send(&word, 1, MPI_INT, 1, 1, MPI_COMM_WORLD); },
       [&] {
         for (int flag = 0; flag == 0;) MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
       }},
      {"MPI_Sendrecv", [&] { ssend(); },
       [&] {
         MPI_Sendrecv(&word, 1, MPI_INT, MPI_PROC_NULL, 1, &count, 1, MPI_INT, 0, 1, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE);
       }},
      {"MPI_Barrier", barrier, barrier},
      {"MPI_Bcast", bcast, bcast},
      {"MPI_Win_fence", fence, fence},
  };
  for (const bool on : {true, false}) {
    for (const Way& way : ways) {
      context(std::string(way.name) + (on ? "" : ", lacuna off"));
      for (int turn = 0; turn < 5; ++turn) {
        Doubles data(3 * kN, g_rank == 0 ? turn : -1);
        if (g_rank == 1) irecv(data.data(), type, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        lacuna(on || g_rank == 0);  // the send is handled in any case
        if (g_rank == 0) {
          send(data.data(), type, MPI_COMM_WORLD);
          way.of_sender();
        } else if (g_rank == 1) {
          way.of_receiver();
          CHECK(has_come(data, turn));
        }
        lacuna(true);
        if (std::string(way.name).find("robe") != std::string::npos && g_rank == 1) recv();
        MPI_Barrier(MPI_COMM_WORLD);
      }
    }
  }
  context("");
  MPI_Win_free(&win);
  MPI_Type_free(&type);
}

// The same while another thread is about to unpack it.
TOPIC(freed_receive_of_threads) {
  constexpr int kN = 100000;
  constexpr int kRounds = 60;
  MPI_Datatype type = column(kN, 3);
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (g_rank == 1 && !over) {
      int flag = 0;
      MPI_Iprobe(0, 99, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
      MPI_Request none = MPI_REQUEST_NULL;
      MPI_Test(&none, &flag, MPI_STATUS_IGNORE);
    }
  });
  for (int round = 0; round < kRounds; ++round) {
    Doubles data(3 * kN, g_rank == 0 ? round : -1);
    int word = 0;
    if (g_rank == 1) irecv(data.data(), type, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (g_rank == 0) {
      send(data.data(), type, MPI_COMM_WORLD);
      MPI_Send(&word, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    } else if (g_rank == 1) {
      MPI_Recv(&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(has_come(data, round));
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  over = true;
  other.join();
  MPI_Type_free(&type);
}
