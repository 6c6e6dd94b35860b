// SPDX-License-Identifier: BSD-3-Clause
//
// A profiling tool as a library between the program and MPI: counts what lacuna passes on.
#include <mpi.h>
#include <unistd.h>

extern "C" {

// How long MPI_Isend takes here after the library's has begun, in microseconds.
__attribute__((visibility("default"))) unsigned tool_isend_us = 0;

__attribute__((visibility("default"))) int tool_sends = 0;
__attribute__((visibility("default"))) int tool_last_count = 0;
__attribute__((visibility("default"))) int tool_commits = 0;

__attribute__((visibility("default"))) int MPI_Send(const void* buf, int count,
                                                    MPI_Datatype datatype, int dest, int tag,
                                                    MPI_Comm comm) {
  ++tool_sends;
  tool_last_count = count;
  return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

// A function that lacuna wraps, too, under its PMPI name: that call must leave this tool.
__attribute__((visibility("default"))) int MPI_Type_commit(MPI_Datatype* datatype) {
  ++tool_commits;
  return PMPI_Type_commit(datatype);
}

__attribute__((visibility("default"))) int MPI_Isend(const void* buf, int count,
                                                     MPI_Datatype datatype, int dest, int tag,
                                                     MPI_Comm comm, MPI_Request* request) {
  const int code = PMPI_Isend(buf, count, datatype, dest, tag, comm, request);
  if (tool_isend_us > 0) usleep(tool_isend_us);
  return code;
}

// By a jump, as the last statement.
__attribute__((visibility("default"))) int MPI_Bcast(void* buffer, int count, MPI_Datatype datatype,
                                                     int root, MPI_Comm comm) {
  return PMPI_Bcast(buffer, count, datatype, root, comm);
}
}
