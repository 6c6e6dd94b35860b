/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program that uses a session and never calls MPI_Init: lacuna stays off. Two ranks exchange a
 * column; the exit status says whether it is right. With an argument it calls MPI_Init, too, and
 * MPI_Finalize while a column is in flight in the session. */
#include <mpi.h>
#include <stdio.h>

enum { kN = 64 };

int main(int argc, char** argv) {
  const int with_world = argc > 1;
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  MPI_Datatype column;
  MPI_Request request;
  double matrix[kN * kN], to[kN * kN];
  int rank, i, wrong = 0;
  if (with_world) MPI_Init(&argc, &argv);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "lacuna.sessions", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Type_vector(kN, 1, kN, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  for (i = 0; i < kN * kN; ++i) {
    matrix[i] = i + 1e6 * rank;
    to[i] = -1;
  }
  if (with_world) {
    MPI_Isend(matrix, 1, column, 1 - rank, 0, comm, &request);
    MPI_Finalize();
    MPI_Recv(to, 1, column, 1 - rank, 0, comm, MPI_STATUS_IGNORE);
  } else {
    MPI_Irecv(to, 1, column, 1 - rank, 0, comm, &request);
    MPI_Send(matrix, 1, column, 1 - rank, 0, comm);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (i = 0; i < kN * kN; ++i) wrong += to[i] != (i % kN == 0 ? i + 1e6 * (1 - rank) : -1);
  MPI_Type_free(&column);
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
  if (wrong != 0) fprintf(stderr, "sessions_program: rank %d: %d wrong elements\n", rank, wrong);
  return wrong != 0;
}
