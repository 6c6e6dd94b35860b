// SPDX-License-Identifier: BSD-3-Clause
//
// Sending and receiving in one call, in place and nonblocking; and partitioned communication, which
// lacuna passes on. What is newer than MPI 3.1 is looked up, so that one source serves all
// libraries.
#include "tests/interpose/harness/complete.hpp"
#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

#define LOOK_UP(name, ...) const auto name = newer<int (*)(__VA_ARGS__)>("MPI_" #name)

LOOK_UP(Isendrecv, const void*, int, MPI_Datatype, int, int, void*, int, MPI_Datatype, int, int,
        MPI_Comm, MPI_Request*);
LOOK_UP(Isendrecv_replace, void*, int, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Request*);
LOOK_UP(Psend_init, const void*, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info,
        MPI_Request*);
LOOK_UP(Precv_init, void*, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info,
        MPI_Request*);
LOOK_UP(Pready, int, MPI_Request);
LOOK_UP(Parrived, MPI_Request, int, int*);

enum class Way { kSendrecvReplace, kIsendrecv, kIsendrecvReplace };
const struct {
  Way way;
  const char* name;
} kWays[] = {{Way::kSendrecvReplace, "MPI_Sendrecv_replace"},
             {Way::kIsendrecv, "MPI_Isendrecv"},
             {Way::kIsendrecvReplace, "MPI_Isendrecv_replace"}};

// In MPICH 4.0 both crash with types with gaps.
bool has_isendrecv() { return Isendrecv != nullptr && unpacks_nothing(); }
bool exists(Way way) { return way == Way::kSendrecvReplace || has_isendrecv(); }

// `to` holds what is sent, and afterwards what was received.
void transfer(Way way, Buffer* to, int count, MPI_Datatype type, int dest, int source,
              MPI_Status* status) {
  Buffer from = *to;
  MPI_Request request = MPI_REQUEST_NULL;
  switch (way) {
    case Way::kSendrecvReplace:
      MPI_Sendrecv_replace(to->base(), count, type, dest, 6, source, 6, MPI_COMM_WORLD, status);
      return;
    case Way::kIsendrecv:
      Isendrecv(from.base(), count, type, dest, 6, to->base(), count, type, source, 6,
                MPI_COMM_WORLD, &request);
      break;
    case Way::kIsendrecvReplace:
      Isendrecv_replace(to->base(), count, type, dest, 6, source, 6, MPI_COMM_WORLD, &request);
  }
  MPI_Wait(&request, status);
  CHECK(request == MPI_REQUEST_NULL);
}

void compare(Way way, int count, MPI_Datatype type, int dest, int source) {
  Buffer to[2] = {{type, count}, {type, count}};
  std::vector<StatusView> seen;
  for (const bool on : {false, true}) {
    lacuna(on);
    to[on].fill(static_cast<unsigned>(g_rank) + 1);
    MPI_Status status{};
    // The right bytes are those of the library's MPI_Sendrecv_replace: with types with gaps, the
    // nonblocking one of MPICH 5.0.2 and Intel MPI 2021.19 delivers wrong bytes.
    transfer(on ? way : Way::kSendrecvReplace, &to[on], count, type, dest, source, &status);
    seen.emplace_back(status, type);
  }
  CHECK(to[0] == to[1]);
  // In MPICH and Intel MPI the status of the nonblocking ones is not the receive's.
  if (way == Way::kSendrecvReplace) CHECK(seen[0] == seen[1]);
}

}  // namespace

TOPIC(exchange_same_messages) {
  std::vector<Shape> shapes = all_shapes();
  for (const auto& [way, name] : kWays) {
    if (!exists(way)) continue;
    for (const Shape& shape : shapes) {
      for (const int count : {0, 1, 7}) {
        context(std::string(name) + " of " + shape.name + " x " + std::to_string(count));
        const int64_t before = taken(name);
        compare(way, count, shape.type, 1 - g_rank, 1 - g_rank);
        const bool expected = shape.taken && count > 1 && exists(way);
        if (expected) CHECK(taken(name) - before == 1);
        compare(way, count, shape.type, g_rank, g_rank);
      }
    }
  }
  free_shapes(&shapes);
}

// Along a line of ranks, whose ends use MPI_PROC_NULL. Large and short messages.
TOPIC(exchange_shift) {
  MPI_Datatype narrow = column(512), type;
  MPI_Type_create_resized(narrow, 0, sizeof(double), &type);
  MPI_Type_commit(&type);
  for (const auto& [way, name] : kWays) {
    if (!exists(way)) continue;
    for (const int count : {1, 64}) {
      context(std::string(name) + ", " + std::to_string(count) + " columns");
      compare(way, count, type, 1 - g_rank, 1 - g_rank);
      compare(way, count, type, g_rank == 0 ? 1 : MPI_PROC_NULL, g_rank == 0 ? MPI_PROC_NULL : 0);
    }
  }
  context("short");
  // What is received is shorter than what is sent; the rest of the memory stays unchanged.
  double matrix[64], line[3] = {-1, -2, -3};
  MPI_Datatype eight = column(8);
  for (int i = 0; i < 64; ++i) matrix[i] = i;
  MPI_Status status;
  MPI_Request request;
  MPI_Isend(line, 3, MPI_DOUBLE, g_rank, 1, MPI_COMM_WORLD, &request);
  MPI_Sendrecv_replace(matrix, 1, eight, 1 - g_rank, 2, g_rank, 1, MPI_COMM_WORLD, &status);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(StatusView(status, eight).elements == 3);
  for (int i = 0; i < 64; ++i) CHECK(matrix[i] == (i % 8 == 0 && i < 24 ? -1 - i / 8 : i));
  MPI_Recv(matrix, 8, MPI_DOUBLE, 1 - g_rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < 8; ++i) CHECK(matrix[i] == 8 * i);
  for (MPI_Datatype* each : {&narrow, &type, &eight}) MPI_Type_free(each);
}

// Several at once, in every way to complete them, after the types were freed.
TOPIC(exchange_every_completion) {
  MPI_Datatype type = column(16);
  Buffer warm(type, 1);
  MPI_Sendrecv_replace(warm.base(), 1, type, g_rank, 0, g_rank, 0, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
  MPI_Type_free(&type);
  if (!has_isendrecv()) return;
  const int other = 1 - g_rank;
  for (int how = 0; how <= static_cast<int>(How::kGetStatus); ++how) {
    context("completion " + std::to_string(how));
    type = column(16);
    Buffer from(type, 1), to(type, 1), replaced(type, 1);
    from.fill(1);
    to.fill(1);
    replaced.fill(1);
    std::vector<double> line(16, -1);
    std::vector<MPI_Request> requests(4);
    Isendrecv(from.base(), 1, type, other, 0, to.base(), 1, type, other, 0, MPI_COMM_WORLD,
              &requests[0]);
    Isendrecv_replace(replaced.base(), 1, type, other, 1, other, 1, MPI_COMM_WORLD, &requests[1]);
    Isendrecv(from.base(), 1, type, other, 2, line.data(), 16, MPI_DOUBLE, other, 2, MPI_COMM_WORLD,
              &requests[2]);
    Isendrecv(line.data(), 0, MPI_DOUBLE, MPI_PROC_NULL, 3, to.base(), 1, type, MPI_PROC_NULL, 3,
              MPI_COMM_WORLD, &requests[3]);
    MPI_Type_free(&type);
    complete(static_cast<How>(how), &requests, how % 2 == 0, [](int, const MPI_Status*) {});
    CHECK(to == from && replaced == from);
    CHECK(line[0] != -1 && line[15] != -1);
  }
}

// Requests of partitioned communication next to persistent ones of lacuna's.
TOPIC(exchange_partitioned) {
  MPI_Datatype type = column(16);
  Buffer from(type, 1), to(type, 1);
  from.fill(1);
  MPI_Request requests[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL,
                             MPI_REQUEST_NULL};
  const int other = 1 - g_rank;
  MPI_Recv_init(to.base(), 1, type, other, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(from.base(), 1, type, other, 0, MPI_COMM_WORLD, &requests[1]);
  constexpr int kPartitions = 4;
  // Not to oneself, and only if the library has it.
  const bool partitioned = Psend_init != nullptr && Precv_init != nullptr;
  Buffer parts(type, 1), arrived(type, 1);
  double line[kPartitions * 8], into[kPartitions * 8];
  for (int i = 0; i < kPartitions * 8; ++i) line[i] = i + 100 * g_rank;
  int count = 2;
  if (partitioned) {
    Precv_init(into, kPartitions, 8, MPI_DOUBLE, other, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
               &requests[2]);
    Psend_init(line, kPartitions, 8, MPI_DOUBLE, other, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
               &requests[3]);
    count = 4;
  }
  for (int turn = 0; turn < 4; ++turn) {
    to.fill(1);
    for (double& value : into) value = -1;
    if (turn % 2 == 0) {
      MPI_Startall(count, requests);
    } else {
      for (int i = 0; i < count; ++i) MPI_Start(&requests[i]);
    }
    if (partitioned) {
      for (int i = kPartitions - 1; i >= 0; --i) CHECK(Pready(i, requests[3]) == MPI_SUCCESS);
      int flag = 0;
      CHECK(Parrived(requests[2], 0, &flag) == MPI_SUCCESS);
    }
    if (turn < 2) {
      MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    } else {
      for (int i = 0; i < count; ++i) {
        for (int flag = 0; flag == 0;) MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
      }
    }
    CHECK(to == from);
    for (int i = 0; i < kPartitions * 8 && partitioned; ++i) CHECK(into[i] == i + 100 * other);
  }
  for (int i = 0; i < count; ++i) {
    MPI_Request_free(&requests[i]);
    CHECK(requests[i] == MPI_REQUEST_NULL);
  }
  CHECK(taken("MPI_Recv_init") == 1);
  MPI_Type_free(&type);
}
