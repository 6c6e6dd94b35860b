// Two sends to one rank: a comment behind the second says why they are not merged. It is only compiled.
#include <mpi.h>

static double data[4096];
void work(double* what);

void same_tag(int to) {
  MPI_Send(data, 10, MPI_DOUBLE, to, 3, MPI_COMM_WORLD);
  MPI_Send(data + 99, 10, MPI_DOUBLE, to, 3, MPI_COMM_WORLD);  // pair: REASON
}
void other_tag(int to) {
  MPI_Send(data, 10, MPI_DOUBLE, to, 3, MPI_COMM_WORLD);
  MPI_Send(data + 99, 10, MPI_DOUBLE, to, 4, MPI_COMM_WORLD);  // pair: their tags differ
}
void nonblocking(int to) {
  MPI_Request requests[2];
  MPI_Isend(data, 10, MPI_DOUBLE, to, 3, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(data + 99, 10, MPI_DOUBLE, to, 3, MPI_COMM_WORLD, &requests[1]);  // pair: REASON
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}
void both_ways(int to, int from, int other) {
  MPI_Sendrecv(data, 9, MPI_DOUBLE, to, 3, data + 50, 9, MPI_DOUBLE, from, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(data + 10, 9, MPI_DOUBLE, to, 3, data + 60, 9, MPI_DOUBLE, from, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // pair: BOTH
  work(data);
  MPI_Sendrecv(data, 9, MPI_DOUBLE, to, 3, data + 50, 9, MPI_DOUBLE, from, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(data + 10, 9, MPI_DOUBLE, to, 3, data + 60, 9, MPI_DOUBLE, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // pair: TWO
}
// To another rank or communicator, of another mode, or with something else in between: no pair.
void no_pairs(int to, MPI_Comm comm) {
  MPI_Request request;
  MPI_Send(data, 10, MPI_DOUBLE, to, 3, MPI_COMM_WORLD);
  MPI_Send(data, 10, MPI_DOUBLE, to + 1, 3, MPI_COMM_WORLD);
  MPI_Send(data, 10, MPI_DOUBLE, to + 1, 3, comm);
  MPI_Isend(data, 10, MPI_DOUBLE, to + 1, 3, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Send(data, 10, MPI_DOUBLE, to, 3, comm);
  work(data);
  MPI_Send(data, 10, MPI_DOUBLE, to, 3, comm);
  if (to > 7) MPI_Send(data, 10, MPI_DOUBLE, to, 3, comm);
}
#ifdef SOURCE
void receive(int n) {
  for (int i = 0; i < n; ++i) MPI_Recv(data, 10, MPI_DOUBLE, SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
#endif
