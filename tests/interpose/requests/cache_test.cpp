// SPDX-License-Identifier: BSD-3-Clause
//
// LACUNA_PERSISTENT_CACHE=1: sends and receives whose arguments come again are done by requests
// made for them, and nothing else can be told: data, statuses, errors, and when a communicator
// dies.
#include <dlfcn.h>

#include <cstring>
#include <thread>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

int64_t cached(bool made = false) {
  using Cached = int64_t (*)(int);
  static const auto ask = reinterpret_cast<Cached>(dlsym(RTLD_DEFAULT, "lacuna_interposed_cached"));
  return ask != nullptr ? ask(made ? 1 : 0) : -1;
}

// The other rank receives what this one sends, in turn.
void exchange(const void* from, int send_count, void* to, int receive_count, MPI_Datatype type,
              int tag, MPI_Comm comm, MPI_Status* status) {
  const int other = 1 - g_rank;
  if (g_rank == 0) MPI_Send(from, send_count, type, other, tag, comm);
  MPI_Recv(to, receive_count, type, other, tag, comm, status);
  if (g_rank == 1) MPI_Send(from, send_count, type, other, tag, comm);
}

// All that a status says; cleared before, so that what a library leaves alone is the same.
struct Seen {
  explicit Seen(const MPI_Status& status)
      : source(status.MPI_SOURCE), tag(status.MPI_TAG), error(status.MPI_ERROR) {
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    MPI_Get_elements(&status, MPI_INT, &elements);
    MPI_Test_cancelled(&status, &cancelled);
  }
  bool operator==(const Seen&) const = default;

  int source, tag, error, count = 0, elements = 0, cancelled = 0;
};

MPI_Status blank() {
  MPI_Status status;
  std::memset(&status, 0, sizeof(status));
  return status;
}

}  // namespace

TOPIC(cache_same_messages) {
  const int other = 1 - g_rank;
  for (const int sent : {0, 1, 7, 1000, 100000}) {
    context(std::to_string(sent) + " doubles");
    std::vector<double> from(100001), to(100001), native;
    std::vector<Seen> seen[2];
    for (const bool on : {false, true}) {
      lacuna(on);
      const int64_t before = cached(), made = cached(true);
      for (int turn = 0; turn < 6; ++turn) {
        std::fill(from.begin(), from.end(), 10 * turn + g_rank + 1);
        std::fill(to.begin(), to.end(), -1);
        MPI_Status status = blank();
        exchange(from.data(), sent, to.data(), sent + 1, MPI_DOUBLE, 3, MPI_COMM_WORLD, &status);
        seen[on].emplace_back(status);
        const std::vector<double> part(static_cast<size_t>(sent), 10 * turn + other + 1);
        CHECK(std::equal(part.begin(), part.end(), to.begin()));
        CHECK(to[static_cast<size_t>(sent)] == -1);
      }
      // The first time they are noted, and the second time they get a request.
      CHECK(cached() - before == (on ? 10 : 0));
      CHECK(cached(true) - made == (on ? 2 : 0));
    }
    CHECK(seen[0] == seen[1]);
  }
  context("");
  // Packed data are such messages.
  MPI_Datatype type = column(16);
  std::vector<double> matrix(256, g_rank), into(256, -1);
  for (int turn = 0; turn < 4; ++turn) {
    matrix[16] = turn;
    exchange(matrix.data(), 1, into.data(), 1, type, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(into[0] == other && into[16] == turn && into[1] == -1);
  }
  MPI_Type_free(&type);
}

TOPIC(cache_wildcards_and_null) {
  const int other = 1 - g_rank;
  const int64_t before = cached();
  for (int turn = 0; turn < 4; ++turn) {
    int value = 10 * turn + g_rank, to = -1;
    MPI_Status status = blank();
    if (g_rank == 0) MPI_Send(&value, 1, MPI_INT, other, turn, MPI_COMM_WORLD);
    MPI_Recv(&to, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    if (g_rank == 1) MPI_Send(&value, 1, MPI_INT, other, turn, MPI_COMM_WORLD);
    int count = -1;
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(to == 10 * turn + other);
    CHECK(status.MPI_SOURCE == other && status.MPI_TAG == turn && count == 1);
  }
  CHECK(cached() - before == 3);  // the tags of the sends differ
  for (int turn = 0; turn < 4; ++turn) {
    int value = 1;
    MPI_Status status = blank();
    MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
    CHECK(value == 1 && (!unpacks_nothing() || status.MPI_SOURCE == MPI_PROC_NULL));
    double nothing = 0;
    exchange(nullptr, 0, &nothing, 0, MPI_DOUBLE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  CHECK(cached() - before == 3 + 3);  // of the latter the receives
  // To oneself, among other requests of the program's.
  for (int turn = 0; turn < 4; ++turn) {
    int value = turn, to = -1, third = -1;
    MPI_Request request, posted;
    MPI_Irecv(&third, 1, MPI_INT, g_rank, 7, MPI_COMM_WORLD, &posted);
    MPI_Isend(&value, 1, MPI_INT, g_rank, 6, MPI_COMM_WORLD, &request);
    MPI_Recv(&to, 1, MPI_INT, g_rank, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Send(&value, 1, MPI_INT, g_rank, 7, MPI_COMM_WORLD);
    MPI_Wait(&posted, MPI_STATUS_IGNORE);
    CHECK(to == turn && third == turn && request == MPI_REQUEST_NULL);
  }
}

namespace {

int g_deleted = 0;
int note_deleted(MPI_Comm, int, void*, void*) {
  ++g_deleted;
  return MPI_SUCCESS;
}

}  // namespace

// A communicator dies when it is freed, and its successor, often under the same handle, has
// requests of its own.
TOPIC(cache_communicators) {
  int keyval = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, note_deleted, &keyval, nullptr);
  double value = 0, to = 0;
  const int64_t before = cached(), made = cached(true);
  for (int turn = 0; turn < 20; ++turn) {
    MPI_Comm comm;
    if (turn % 3 == 0) {
      MPI_Comm_split(MPI_COMM_WORLD, 0, -g_rank, &comm);  // the ranks change places
    } else {
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    }
    MPI_Comm_set_attr(comm, keyval, nullptr);
    for (int i = 0; i < 3; ++i) {
      value = 100 * turn + 10 * i + g_rank;
      int rank = 0;
      MPI_Comm_rank(comm, &rank);
      const int other = 1 - rank;
      if (g_rank == 0) MPI_Send(&value, 1, MPI_DOUBLE, other, 0, comm);
      MPI_Recv(&to, 1, MPI_DOUBLE, other, 0, comm, MPI_STATUS_IGNORE);
      if (g_rank == 1) MPI_Send(&value, 1, MPI_DOUBLE, other, 0, comm);
      CHECK(to == 100 * turn + 10 * i + 1 - g_rank);
    }
    g_deleted = 0;
    if (turn % 2 == 0) {
      MPI_Comm_free(&comm);
    } else {
      MPI_Comm_disconnect(&comm);
    }
    CHECK(comm == MPI_COMM_NULL && g_deleted == 1);
  }
  CHECK(cached() - before == 80);
  CHECK(cached(true) - made == 40);
  MPI_Comm_free_keyval(&keyval);
  // Between groups, where the peer is a rank of the other one.
  MPI_Comm between;
  MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - g_rank, 9, &between);
  const int64_t then = cached();
  for (int i = 0; i < 4; ++i) {
    value = 10 * i + g_rank;
    if (g_rank == 0) MPI_Send(&value, 1, MPI_DOUBLE, 0, 0, between);
    MPI_Recv(&to, 1, MPI_DOUBLE, 0, 0, between, MPI_STATUS_IGNORE);
    if (g_rank == 1) MPI_Send(&value, 1, MPI_DOUBLE, 0, 0, between);
    CHECK(to == 10 * i + 1 - g_rank);
  }
  CHECK(cached() - then == 6);
  MPI_Comm_free(&between);
}

// More arguments than there is room for.
TOPIC(cache_is_bounded) {
  std::vector<int> from(5000), to(5000);
  for (int turn = 0; turn < 3; ++turn) {
    for (size_t i = 0; i < from.size(); ++i) {
      from[i] = static_cast<int>(i) * 10 + turn;
      exchange(&from[i], 1, &to[i], 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    CHECK(from == to);
  }
  // Those in use stay.
  const int64_t before = cached();
  for (size_t i = 0; i < from.size(); ++i) {
    exchange(&from[i], 1, &to[i], 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    exchange(&from[0], 1, &to[0], 1, MPI_INT, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  CHECK(cached() - before >= 2 * 4998);
}

// The error of a call comes out of it, and the next call is as good as ever.
TOPIC(cache_errors) {
  with_each_handler([&](bool own) {
    double line[20] = {}, to[20] = {};
    const MPI_Comm world = MPI_COMM_WORLD;
    const std::function<int()> mistakes[] = {
        [&] { return MPI_Send(line, 1, MPI_DOUBLE, 5, 0, world); },
        [&] { return MPI_Send(line, 1, MPI_DOUBLE, g_rank, -5, world); },
        [&] { return MPI_Send(line, -1, MPI_DOUBLE, g_rank, 0, world); },
        [&] { return MPI_Send(line, 1, MPI_DATATYPE_NULL, g_rank, 0, world); },
        [&] { return MPI_Send(line, 1, MPI_DOUBLE, g_rank, 0, MPI_COMM_NULL); },
        [&] { return MPI_Recv(to, 1, MPI_DOUBLE, 7, 0, world, MPI_STATUS_IGNORE); },
        [&] { return MPI_Recv(to, -1, MPI_DOUBLE, 0, 0, world, MPI_STATUS_IGNORE); },
    };
    for (const auto& mistake : mistakes) {
      int classes[2] = {}, handled[2] = {};
      for (const bool on : {false, true}) {
        lacuna(on);
        for (int again = 0; again < 3; ++again) {
          const int before = handled_errors();
          classes[on] = class_of(mistake());
          handled[on] = handled_errors() - before;
        }
      }
      context("mistake " + std::to_string(&mistake - mistakes));
      CHECK(classes[0] == classes[1] && handled[0] == handled[1]);
      CHECK(own ? handled[1] == 1 : classes[1] != MPI_SUCCESS);
    }
    // Every second message is too long.
    std::vector<int> seen[2];
    for (const bool on : {false, true}) {
      context(on ? "too long, lacuna" : "too long");
      lacuna(on);
      const int64_t before = cached();
      for (int turn = 0; turn < 8; ++turn) {
        MPI_Barrier(world);
        const int handled_before = handled_errors();
        if (g_rank == 0) {
          MPI_Send(line, turn % 2 == 0 ? 4 : 20, MPI_DOUBLE, 1, 1, world);
        } else {
          const int code = MPI_Recv(to, 4, MPI_DOUBLE, 0, 1, world, MPI_STATUS_IGNORE);
          seen[on].push_back(class_of(code));
          seen[on].push_back(handled_errors() - handled_before);
        }
      }
      // A handler of the program's: nothing is cached.
      CHECK(own || !on ? cached() == before : cached() > before);
    }
    CHECK(seen[0] == seen[1]);
    context("");
  });
}

// Threads share buffers, receives with the same arguments, and the room.
TOPIC(cache_threads) {
  constexpr int kThreads = 4;
  constexpr int kTurns = 200;
  std::vector<int> from(kThreads), sum(kThreads);
  std::vector<MPI_Comm> bases(kThreads);
  for (MPI_Comm& base : bases) MPI_Comm_dup(MPI_COMM_SELF, &base);
  std::vector<std::thread> threads;
  for (int id = 0; id < kThreads; ++id) {
    threads.emplace_back([&, id] {
      const size_t at = static_cast<size_t>(id);
      MPI_Comm own;
      MPI_Comm_dup(bases[at], &own);
      const int other = 1 - g_rank;
      from[at] = id + 1;
      const int shared = 5;
      for (int turn = 0; turn < kTurns; ++turn) {
        int to = 0;
        if (g_rank == 0) MPI_Send(&from[at], 1, MPI_INT, other, id, MPI_COMM_WORLD);
        MPI_Recv(&to, 1, MPI_INT, other, id, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (g_rank == 1) MPI_Send(&from[at], 1, MPI_INT, other, id, MPI_COMM_WORLD);
        sum[at] += to;
        // All threads with the same arguments.
        static int everyone = 0;
        if (g_rank == 0) MPI_Send(&shared, 0, MPI_INT, other, 99, MPI_COMM_WORLD);
        MPI_Recv(&everyone, 0, MPI_INT, other, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (g_rank == 1) MPI_Send(&shared, 0, MPI_INT, other, 99, MPI_COMM_WORLD);
        if (turn % 50 == 49) {
          MPI_Comm_free(&own);
          MPI_Comm_dup(bases[at], &own);
        }
        MPI_Request request;
        MPI_Irecv(&to, 1, MPI_INT, 0, 1, own, &request);
        MPI_Send(&from[at], 1, MPI_INT, 0, 1, own);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        sum[at] += to;
      }
      MPI_Comm_free(&own);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (MPI_Comm& base : bases) MPI_Comm_free(&base);
  for (int id = 0; id < kThreads; ++id)
    CHECK(sum[static_cast<size_t>(id)] == 2 * kTurns * (id + 1));
  CHECK(cached() > kThreads * kTurns);
}
