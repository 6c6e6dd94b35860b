// SPDX-License-Identifier: BSD-3-Clause
//
// Requests that C code makes and Fortran code completes: mpi_wait and its like, as a Fortran
// compiler
// would call them. They end in MPI_Wait (MPICH) or PMPI_Wait (Open MPI), and lacuna sees both.
// Programs in Fortran: fortran_test.F90.
#include "tests/interpose/harness/harness.hpp"

using namespace test;

extern "C" {
void mpi_wait_(MPI_Fint* request, MPI_Fint* status, MPI_Fint* error);
void mpi_waitall_(MPI_Fint* count, MPI_Fint* requests, MPI_Fint* statuses, MPI_Fint* error);
void mpi_test_(MPI_Fint* request, MPI_Fint* flag, MPI_Fint* status, MPI_Fint* error);
void mpi_send_(void* buf, MPI_Fint* count, MPI_Fint* type, MPI_Fint* dest, MPI_Fint* tag,
               MPI_Fint* comm, MPI_Fint* error);
}

TOPIC(fortran_completes_requests_of_c) {
  MPI_Datatype type = column(16);
  const int other = 1 - g_rank;
  for (int way = 0; way < 3; ++way) {
    context("way " + std::to_string(way));
    std::vector<double> to(256, -1), also(256, -1), line(16);
    for (int i = 0; i < 16; ++i) line[static_cast<size_t>(i)] = i + way;
    MPI_Request requests[2];
    MPI_Irecv(to.data(), 1, type, other, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(also.data(), 1, type, other, 1, MPI_COMM_WORLD, &requests[1]);
    for (const int tag : {0, 1}) MPI_Send(line.data(), 16, MPI_DOUBLE, other, tag, MPI_COMM_WORLD);
    MPI_Fint handles[2] = {MPI_Request_c2f(requests[0]), MPI_Request_c2f(requests[1])};
    MPI_Fint statuses[2][16], two = 2, error = -1, flag = 0;
    if (way == 0) {
      for (MPI_Fint& handle : handles) mpi_wait_(&handle, statuses[0], &error);
    } else if (way == 1) {
      mpi_waitall_(&two, handles, statuses[0], &error);
    } else {
      for (MPI_Fint& handle : handles) {
        for (flag = 0; flag == 0;) mpi_test_(&handle, &flag, statuses[0], &error);
      }
    }
    CHECK(error == MPI_SUCCESS);
    bool right = true;
    for (int i = 0; i < 256; ++i) {
      const double expected = i % 16 == 0 ? i / 16 + way : -1;
      right = right && to[static_cast<size_t>(i)] == expected &&
              also[static_cast<size_t>(i)] == expected;
    }
    CHECK(right);
  }
  context("");
  CHECK(taken("MPI_Irecv") == 6);
  // A message from Fortran to C.
  std::vector<double> matrix(256), line(16, -1);
  for (size_t i = 0; i < 256; ++i) matrix[i] = static_cast<double>(i);
  MPI_Fint one = 1, tag = 7, error = -1, to = other, fortran_type = MPI_Type_c2f(type),
           comm = MPI_Comm_c2f(MPI_COMM_WORLD);
  MPI_Request request;
  MPI_Irecv(line.data(), 16, MPI_DOUBLE, other, 7, MPI_COMM_WORLD, &request);
  CHECK(taken_by("MPI_Send", [&] {
          mpi_send_(matrix.data(), &one, &fortran_type, &to, &tag, &comm, &error);
        }) == 1);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < 16; ++i) CHECK(line[static_cast<size_t>(i)] == 16 * i);
  // Other calls are still handled.
  CHECK(taken_by("MPI_Sendrecv", [&] {
          MPI_Sendrecv(matrix.data(), 1, type, other, 0, line.data(), 16, MPI_DOUBLE, other, 0,
                       MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }) == 1);
  MPI_Type_free(&type);
}
