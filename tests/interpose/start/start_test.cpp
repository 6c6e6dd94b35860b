// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks of a node that cannot share memory, and communicators whose ranks are not processes: lacuna
// declines, and no rank waits for one that never comes.
#include <dlfcn.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/interpose/harness/arena_view.hpp"
#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int kCount = 4096;
constexpr int kStride = 3;

std::vector<double> spread_values(int from) {
  std::vector<double> data(size_t{kStride} * kCount);
  for (size_t i = 0; i < data.size(); ++i) data[i] = from * 1e6 + static_cast<double>(i);
  return data;
}

// Whether a receiver of every kStride-th of them has the right values.
bool has_come(const std::vector<double>& got, int from) {
  const std::vector<double> sent = spread_values(from);
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] != sent[kStride * i]) return false;
  }
  return true;
}

template <typename Function>
Function symbol(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

void messages_on(MPI_Comm comm, int rank, int size) {
  MPI_Datatype type = column(kCount, kStride);
  std::vector<double> out = spread_values(rank), in(kCount);
  for (int round = 0; round < 20; ++round) {
    in.assign(kCount, -1);
    MPI_Request request;
    MPI_Irecv(in.data(), kCount, MPI_DOUBLE, (rank + size - 1) % size, 1, comm, &request);
    MPI_Send(out.data(), 1, type, (rank + 1) % size, 1, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(has_come(in, (rank + size - 1) % size));
  }
  MPI_Type_free(&type);
}

}  // namespace

// Rank 1 runs without lacuna.
TOPIC(start_alone) {
  CHECK((symbol<void*>("lacuna_interposed") != nullptr) == (g_rank != 1));
  CHECK(arenas().empty());
  messages_on(MPI_COMM_WORLD, g_rank, g_size);
  MPI_Datatype type = column(kCount, kStride);
  std::vector<double> data =
      g_rank == 0 ? spread_values(0) : std::vector<double>(size_t{kStride} * kCount);
  MPI_Bcast(data.data(), 1, type, 0, MPI_COMM_WORLD);
  for (size_t i = 0; i < kCount; ++i) CHECK(data[kStride * i] == static_cast<double>(kStride * i));
  MPI_Type_free(&type);
}

// A rank waits in a collective for one that never comes, because that one has revoked the
// communicator.
TOPIC(start_revoked) {
  const auto revoke = symbol<int (*)(MPI_Comm)>("MPIX_Comm_revoke");
  CHECK(revoke != nullptr);
  CHECK(arenas().empty());
  if (revoke == nullptr) return;
  constexpr int kRevoked = 77;  // MPIX_ERR_REVOKED, which the header of a library without it lacks
  MPI_Datatype type = column(kCount, kStride);
  std::vector<double> data = spread_values(0);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Bcast(data.data(), 1, type, 0, comm);
  MPI_Barrier(comm);
  if (g_rank == 0)
    revoke(comm);
  else
    CHECK(class_of(MPI_Bcast(data.data(), 1, type, 0, comm)) == kRevoked);
  MPI_Comm_free(&comm);
  MPI_Type_free(&type);
}

// MPICH's communicators whose ranks are threads: two of each process.
TOPIC(start_threads_as_ranks) {
  const auto init = symbol<int (*)(MPI_Comm, int, MPI_Comm*)>("MPIX_Threadcomm_init");
  const auto begin = symbol<int (*)(MPI_Comm)>("MPIX_Threadcomm_start");
  const auto end = symbol<int (*)(MPI_Comm)>("MPIX_Threadcomm_finish");
  const auto free = symbol<int (*)(MPI_Comm*)>("MPIX_Threadcomm_free");
  CHECK(init != nullptr && begin != nullptr && end != nullptr && free != nullptr);
  CHECK(!arenas().empty());
  if (init == nullptr) return;
  MPI_Comm comm;
  init(MPI_COMM_WORLD, 2, &comm);
  const auto body = [&] {
    int rank = 0;
    int size = 0;
    begin(comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    CHECK(size == 2 * g_size);
    messages_on(comm, rank, size);
    end(comm);
  };
  std::thread other(body);
  body();
  other.join();
  free(&comm);
}

// Messages on MPICH's stream communicators may be received by functions that lacuna does not wrap
// (MPIX_Recv_enqueue, MPIX_Stream_recv; this library cannot make communicators for the latter).
TOPIC(start_streams) {
  using Stream = int;
  const auto make = symbol<int (*)(MPI_Info, Stream*)>("MPIX_Stream_create");
  const auto drop = symbol<int (*)(Stream*)>("MPIX_Stream_free");
  const auto attach = symbol<int (*)(MPI_Comm, Stream, MPI_Comm*)>("MPIX_Stream_comm_create");
  CHECK(make != nullptr && drop != nullptr && attach != nullptr);
  CHECK(!arenas().empty());
  if (make == nullptr) return;
  Stream stream;
  MPI_Comm comm;
  CHECK(make(MPI_INFO_NULL, &stream) == MPI_SUCCESS);
  CHECK(attach(MPI_COMM_WORLD, stream, &comm) == MPI_SUCCESS);
  MPI_Datatype type = column(kCount, kStride);
  for (const bool is_plain : {false, true}) {
    const int from = is_plain ? 70 : 50;
    std::vector<double> out = spread_values(from), in(kCount, -1);
    MPI_Comm on = is_plain ? MPI_COMM_WORLD : comm;
    if (g_rank == 0) MPI_Send(out.data(), 1, type, 1, 5, on);
    if (g_rank == 1) {
      MPI_Recv(in.data(), kCount, MPI_DOUBLE, 0, 5, on, MPI_STATUS_IGNORE);
      CHECK(has_come(in, from));
      CHECK(lies_in_arena(in.data(), 64) == is_plain);
    }
  }
  MPI_Type_free(&type);
  MPI_Comm_free(&comm);
  drop(&stream);
}
