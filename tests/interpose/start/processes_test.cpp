// SPDX-License-Identifier: BSD-3-Clause
//
// Processes that come and go: children of fork, jobs that a job spawns, communicators of sessions.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int kN = 300;  // 2400 bytes in 8-byte blocks

std::vector<double> matrix(int seed) {
  std::vector<double> data(kN * kN);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<double>(i) + 1e6 * seed;
  return data;
}

// The first column is what matrix(seed) has there, everything else is untouched (-1).
bool has_column_of(const std::vector<double>& data, int seed) {
  for (int i = 0; i < kN * kN; ++i) {
    const double expected = i % kN == 0 ? i + 1e6 * seed : -1;
    if (data[static_cast<size_t>(i)] != expected) return false;
  }
  return true;
}

// Every rank sends a column to each of the `pairs` ranks of the (other) group, and receives theirs:
// by messages, and by a collective.
void exchange(MPI_Comm comm, int pairs, int seed, int seed_of_others) {
  MPI_Datatype type = column(kN);
  const std::vector<double> mine = matrix(seed);
  std::vector<std::vector<double>> theirs(static_cast<size_t>(pairs),
                                          std::vector<double>(kN * kN, -1));
  std::vector<MPI_Request> requests(static_cast<size_t>(2 * pairs));
  for (int i = 0; i < pairs; ++i) {
    MPI_Irecv(theirs[static_cast<size_t>(i)].data(), 1, type, i, 5, comm,
              &requests[static_cast<size_t>(i)]);
  }
  for (int i = 0; i < pairs; ++i) {
    MPI_Isend(mine.data(), 1, type, i, 5, comm, &requests[static_cast<size_t>(pairs + i)]);
  }
  MPI_Waitall(2 * pairs, requests.data(), MPI_STATUSES_IGNORE);
  for (int i = 0; i < pairs; ++i)
    CHECK(has_column_of(theirs[static_cast<size_t>(i)], seed_of_others + i));
  std::vector<double> all(static_cast<size_t>(pairs * kN * kN), -1), one(kN * kN);
  MPI_Datatype whole;  // a column, as long as the matrix
  MPI_Type_create_resized(type, 0, kN * kN * 8, &whole);
  MPI_Type_commit(&whole);
  MPI_Allgather(mine.data(), 1, whole, all.data(), 1, whole, comm);
  for (int i = 0; i < pairs; ++i) {
    std::copy_n(all.begin() + i * kN * kN, kN * kN, one.begin());
    CHECK(has_column_of(one, seed_of_others + i));
  }
  MPI_Type_free(&whole);
  MPI_Type_free(&type);
}

// Parents are 0, 1, ...; children 100, 101, ...
void talk(MPI_Comm between, bool parent) {
  int others = 0, rank = 0, size = 0;
  MPI_Comm_remote_size(between, &others);
  exchange(between, others, (parent ? 0 : 100) + g_rank, parent ? 100 : 0);
  MPI_Comm merged;
  MPI_Intercomm_merge(between, parent ? 0 : 1, &merged);
  MPI_Comm_rank(merged, &rank);
  MPI_Comm_size(merged, &size);
  exchange(merged, size, 1000 + rank, 1000);
  MPI_Comm_free(&merged);
  MPI_Comm_disconnect(&between);
}

}  // namespace

TOPIC(processes_spawn) {
  char command[4096] = "";
  CHECK(readlink("/proc/self/exe", command, sizeof command - 1) > 0);
  char topic[] = "processes_spawned";
  char perhaps[] = "--perhaps";  // Open MPI's launcher gives them no preload library
  char* arguments[] = {perhaps, topic, nullptr};
  MPI_Comm children;
  std::vector<int> errors(2, MPI_SUCCESS);
  CHECK(MPI_Comm_spawn(command, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                       errors.data()) == MPI_SUCCESS);
  talk(children, true);
}

// One of the children is without lacuna.
TOPIC(processes_spawn_unlike) {
  char command[4096] = "";
  CHECK(readlink("/proc/self/exe", command, sizeof command - 1) > 0);
  char topic[] = "processes_spawned";
  char perhaps[] = "--perhaps";
  char env[] = "env", unset[] = "-u", preload[] = "LD_PRELOAD";
  char* as_it_is[] = {perhaps, topic, nullptr};
  char* unlike[] = {unset, preload, command, perhaps, topic, nullptr};
  char* commands[] = {command, env};
  char** arguments[] = {as_it_is, unlike};
  const int counts[] = {1, 1};
  const MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
  MPI_Comm children;
  std::vector<int> errors(2, MPI_SUCCESS);
  CHECK(MPI_Comm_spawn_multiple(2, commands, arguments, counts, infos, 0, MPI_COMM_WORLD, &children,
                                errors.data()) == MPI_SUCCESS);
  talk(children, true);
}

// Run by the children; does nothing in a job that was not spawned.
TOPIC(processes_spawned) {
  MPI_Comm parents;
  MPI_Comm_get_parent(&parents);
  CHECK(parents != MPI_COMM_NULL);
  if (parents != MPI_COMM_NULL) talk(parents, false);
}

// A child made by fork(), to run a command or to end at once, disturbs nothing.
TOPIC(processes_fork) {
  exchange(MPI_COMM_WORLD, g_size, g_rank, 0);
  for (const bool runs : {false, true}) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      if (runs) execl("/bin/true", "true", nullptr);
      _exit(0);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
          WEXITSTATUS(status) == 0);
    exchange(MPI_COMM_WORLD, g_size, g_rank, 0);
  }
  // While messages are in flight.
  MPI_Datatype type = column(kN);
  const std::vector<double> mine = matrix(g_rank);
  std::vector<double> theirs(kN * kN, -1);
  const int peer = g_rank ^ 1;
  MPI_Request requests[2];
  MPI_Isend(mine.data(), 1, type, peer, 6, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(theirs.data(), 1, type, peer, 6, MPI_COMM_WORLD, &requests[1]);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(has_column_of(theirs, peer));
  MPI_Type_free(&type);
}

#if MPI_VERSION >= 4 || (defined(LACUNA_MPI_FAMILY_OMPI) && OMPI_MAJOR_VERSION >= 5)

// A session beside MPI_COMM_WORLD: its communicators work, and lacuna is off until it ends.
TOPIC(processes_session) {
  MPI_Session session;
  CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) == MPI_SUCCESS);
  MPI_Group group;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm comm;
  MPI_Comm_create_from_group(group, "lacuna.test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  int size = 0;
  MPI_Comm_size(comm, &size);
  CHECK(size == g_size);
  exchange(comm, size, g_rank, 0);
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  CHECK(taken_in_all() == 0);
  MPI_Session_finalize(&session);
  exchange(MPI_COMM_WORLD, g_size, g_rank, 0);
  CHECK(taken_in_all() > 0);
}

#endif

namespace {

// Requests that are active when MPI_Finalize is called.
struct Ending {
  MPI_Datatype type;
  std::vector<double> mine, early, late;
  MPI_Request requests[2];
};
Ending* g_ending = nullptr;

// MPI still works here (MPI 4.1, 11.4.1: before any other part of MPI_Finalize).
int end_last(MPI_Comm, int, void*, void*) {
  Ending& ending = *g_ending;
  if (g_rank == 0) {
    MPI_Status status;
    int count = 0;
    MPI_Recv(ending.late.data(), 1, ending.type, 1, 7, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, ending.type, &count);
    CHECK(count == 1 && has_column_of(ending.late, 3));
    MPI_Wait(&ending.requests[0], MPI_STATUS_IGNORE);
    CHECK(has_column_of(ending.early, 3));
  } else if (g_rank == 1) {
    MPI_Waitall(2, ending.requests, MPI_STATUSES_IGNORE);
  }
  MPI_Bcast(g_rank == 0 ? ending.mine.data() : ending.late.data(), 1, ending.type, 0,
            MPI_COMM_WORLD);
  if (g_rank != 0) CHECK(has_column_of(ending.late, 3));
  MPI_Type_free(&ending.type);
  delete g_ending;
  return MPI_SUCCESS;
}

}  // namespace

// Messages that are sent before MPI_Finalize and received in it.
TOPIC(processes_finalize) {
  const std::vector<double> empty(kN * kN, -1);
  g_ending = new Ending{column(kN), matrix(3), empty, empty, {MPI_REQUEST_NULL, MPI_REQUEST_NULL}};
  Ending& ending = *g_ending;
  if (g_rank == 0)
    MPI_Irecv(ending.early.data(), 1, ending.type, 1, 6, MPI_COMM_WORLD, &ending.requests[0]);
  if (g_rank == 1) {
    for (int i = 0; i < 2; ++i)
      MPI_Isend(ending.mine.data(), 1, ending.type, 0, 6 + i, MPI_COMM_WORLD, &ending.requests[i]);
  }
  int keyval = 0;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_last, &keyval, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, keyval, nullptr);
  MPI_Comm_free_keyval(&keyval);
  CHECK(true);
}
