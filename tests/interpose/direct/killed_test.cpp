// SPDX-License-Identifier: BSD-3-Clause
//
// Programs to be killed: tests/cli/run/test_killed.py kills them, and checks what is left behind.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <vector>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int kDoubles = 1 << 19;

MPI_Datatype spread() {
  MPI_Datatype type;
  MPI_Type_create_resized(MPI_DOUBLE, 0, 16, &type);
  MPI_Type_commit(&type);
  return type;
}

// Written out at once, in case this process dies.
void say(const char* what, int number) {
  std::printf("rank %d: %s %d\n", g_rank, what, number);
  std::fflush(stdout);
}

}  // namespace

// Large messages around the ring of ranks, for ever.
TOPIC(killed_endless) {
  const MPI_Datatype type = spread();
  const int right = (g_rank + 1) % g_size;
  const int left = (g_rank + g_size - 1) % g_size;
  std::vector<double> out(2 * kDoubles, g_rank), in(kDoubles);
  for (int64_t round = 0;; ++round) {
    MPI_Request request;
    MPI_Irecv(in.data(), kDoubles, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &request);
    MPI_Send(out.data(), kDoubles, type, right, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (round == 3) say("goes on, process", static_cast<int>(getpid()));
  }
}

// Rank 0 dies while it packs: half of what it sends cannot be read, and the signal's default action
// ends it. Rank 1 has the first pieces and gets an error.
TOPIC(killed_in_the_middle) {
  const MPI_Datatype type = spread();
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  return_errors(comm);
  MPI_Barrier(comm);
  say("goes on, process", static_cast<int>(getpid()));
  if (g_rank == 0) {
    constexpr size_t kBytes = size_t{2} * kDoubles * sizeof(double);
    void* out = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(static_cast<char*>(out) + kBytes / 2, kBytes / 2, PROT_NONE);
    signal(SIGSEGV, [](int) { kill(getpid(), SIGKILL); });
    MPI_Send(out, kDoubles, type, 1, 0, comm);
  } else {
    std::vector<double> in(kDoubles);
    const int code = MPI_Recv(in.data(), kDoubles, MPI_DOUBLE, 0, 0, comm, MPI_STATUS_IGNORE);
    say(class_of(code) == MPI_ERR_OTHER && handled_errors() == 1 ? "has the error, class"
                                                                 : "has another answer, class",
        class_of(code));
  }
  _exit(3);  // MPI_Finalize would wait for the dead
}

// Rank 1 stops before a collective in which the others wait for it (test_doctor.py examines them
// meanwhile, and continues it).
TOPIC(killed_stopped) {
  const MPI_Datatype type = spread();
  std::vector<double> data(2 * kDoubles, g_rank);
  MPI_Bcast(data.data(), kDoubles, type, 0, MPI_COMM_WORLD);
  say("goes on, process", static_cast<int>(getpid()));
  if (g_rank == 1) raise(SIGSTOP);
  data.assign(data.size(), g_rank);
  MPI_Bcast(data.data(), kDoubles, type, 0, MPI_COMM_WORLD);
  CHECK(data[0] == 0 && data[2] == 0);
}
