// SPDX-License-Identifier: BSD-3-Clause
//
// Rooms that follow each other: communicators that are freed while a slow member is still in their
// last collective, and new ones that are used at once (the model is tests/model/rooms.pml).
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int kDoubles = 2000;

// Every other double, of which `type` is one lot.
struct Lots {
  MPI_Datatype type = column(kDoubles, 2);
  std::vector<double> places;
  explicit Lots(int lots) : places(static_cast<size_t>(lots) * 2 * kDoubles, -1) {}
  ~Lots() { MPI_Type_free(&type); }
  Lots(const Lots&) = delete;
  Lots& operator=(const Lots&) = delete;

  void fill(double value) {
    for (size_t i = 0; i < 2 * kDoubles; i += 2) places[i] = value;
  }
  bool holds(double value) const {
    for (size_t i = 0; i + 1 < 2 * kDoubles; i += 2) {
      if (places[i] != value || places[i + 1] != -1) return false;
    }
    return true;
  }
};

bool cast(Lots* lots, double value, MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  lots->fill(rank == 0 ? value : 0);
  return MPI_Bcast(lots->places.data(), 1, lots->type, 0, comm) == MPI_SUCCESS &&
         lots->holds(value);
}

// A communicator of rank 0 and another rank; MPI_COMM_NULL in the others.
MPI_Comm with_first(int other) {
  MPI_Comm pair = MPI_COMM_NULL;
  if (g_rank != 0 && g_rank != other) return pair;
  const int ranks[] = {0, other};
  MPI_Group world, both;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 2, ranks, &both);
  MPI_Comm_create_group(MPI_COMM_WORLD, both, other, &pair);
  MPI_Group_free(&both);
  MPI_Group_free(&world);
  return pair;
}

}  // namespace

// Rank 1 waits in a collective and is stopped. Rank 0 joins it, frees the communicator and uses
// another one, of which rank 1 is no member.
TOPIC(rooms_freed_while_read) {
  Lots lots(1);
  MPI_Comm first = with_first(1);
  if (first != MPI_COMM_NULL) {
    CHECK(cast(&lots, 1, first));
    CHECK(cast(&lots, 2, first));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (g_rank == 1) {
    const int pid = getpid();
    MPI_Send(&pid, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    CHECK(cast(&lots, 3, first));
  }
  int pid = 0;
  if (g_rank == 0) {
    MPI_Recv(&pid, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    usleep(300000);  // rank 1 is waiting by then, or the topic tries less
    kill(pid, SIGSTOP);
    CHECK(cast(&lots, 3, first));
  }
  if (first != MPI_COMM_NULL) MPI_Comm_free(&first);
  MPI_Comm second = with_first(2);
  if (second != MPI_COMM_NULL) {
    bool right = true;
    for (int i = 0; i < 20; ++i) right = cast(&lots, 4 + i, second) && right;
    CHECK(right);
    MPI_Comm_free(&second);
  }
  if (g_rank == 0) kill(pid, SIGCONT);
  MPI_Barrier(MPI_COMM_WORLD);
}

// Many of them, of all ranks and of one, each used a few times, without a stop.
TOPIC(rooms_made_and_freed) {
  Lots lots(1), other(1);
  lots.fill(1);
  bool right = true;
  for (int i = 0; i < 150; ++i) {
    MPI_Comm all, half, self;
    MPI_Comm_dup(MPI_COMM_WORLD, &all);
    right = cast(&lots, i, all) && right;
    MPI_Comm_free(&all);
    MPI_Comm_split(MPI_COMM_WORLD, (g_rank + i) % 2, -g_rank, &half);
    right = cast(&lots, i + 0.5, half) && right;
    MPI_Comm_free(&half);
    MPI_Comm_dup(MPI_COMM_SELF, &self);
    for (int j = 0; j < 9; ++j) {
      MPI_Allgather(lots.places.data(), 1, lots.type, other.places.data(), 1, other.type, self);
      right = right && other.holds(i + 0.5);
    }
    MPI_Comm_free(&self);
  }
  CHECK(right);
}
