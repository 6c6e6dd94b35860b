// Data of several types that come packed and are received into structs by the library itself, which
// MPICH cannot do with all sizes. A persistent receive is never replaced.
#include "../check.h"

struct Point {
  int number;
  double place;
  char name;
};
static struct Point out[4096], in[4096];

static MPI_Datatype points(void) {
  const int lengths[] = {1, 1, 1};
  const MPI_Aint places[] = {0, 8, 16};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
  MPI_Datatype fields, type;
  MPI_Type_create_struct(3, lengths, places, types, &fields);
  MPI_Type_create_resized(fields, 0, sizeof(struct Point), &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&fields);
  return type;
}

static void tell_points(const char* name, int n) {
  int wrong = 0;
  for (int i = 0; i < n; ++i) {
    const struct Point* point = &in[i];
    wrong += point->number != i || point->place != i * 0.5 || point->name != (char)i;
  }
  if (rank == 1) printf("%s of %d: %d wrong\n", name, n, wrong);
  memset(in, 0, sizeof in);
}

__attribute__((noinline)) static void sizes_of_the_run_time(int n, int peer) {
  MPI_Datatype type = points();
  MPI_Request receive, begun, send;
  MPI_Recv_init(in, n, type, peer, 0, MPI_COMM_WORLD, &receive);
  MPI_Start(&receive);
  MPI_Send(out, n, type, peer, 0, MPI_COMM_WORLD);  // specialized
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  tell_points("sent", n);
  MPI_Start(&receive);
  MPI_Isend(out, n, type, peer, 0, MPI_COMM_WORLD, &begun);  // specialized
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  MPI_Wait(&begun, MPI_STATUS_IGNORE);
  tell_points("begun", n);
  MPI_Start(&receive);
  MPI_Sendrecv(out, n, type, peer, 0, NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);  // a send
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  tell_points("exchanged", n);
  MPI_Request_free(&receive);
  // The other way round: what the library sends is received packed.
  MPI_Send_init(out, n, type, peer, 0, MPI_COMM_WORLD, &send);
  MPI_Start(&send);
  MPI_Recv(in, n, type, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // specialized
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  tell_points("received", n);
  MPI_Request_free(&send);
  MPI_Type_free(&type);
}

// Of a size that the compiler knows; the type is made for the send alone.
__attribute__((noinline)) static void size_that_is_known(int peer) {
  enum { kPoints = 2000 };
  for (int turn = 0; turn < 2; ++turn) {
    MPI_Datatype its = points(), type = points();
    MPI_Request receive;
    look_at(&its);
    MPI_Recv_init(in, kPoints, its, peer, 0, MPI_COMM_WORLD, &receive);
    MPI_Start(&receive);
    MPI_Send(out, kPoints, type, peer, 0, MPI_COMM_WORLD);  // specialized
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    MPI_Request_free(&receive);
    MPI_Type_free(&its);
    MPI_Type_free(&type);
    tell_points("known", kPoints);
  }
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  for (int i = 0; i < 4096; ++i) out[i] = (struct Point){i, i * 0.5, (char)i};
  static const int kCounts[] = {10, 615, 616, 629, 630, 631, 700, 1230, 1300, 4096};
  for (unsigned i = 0; i < sizeof kCounts / sizeof *kCounts; ++i) {
    sizes_of_the_run_time(kCounts[i], other);
    sizes_of_the_run_time(kCounts[i], rank);
  }
  size_that_is_known(other);
  size_that_is_known(rank);
  MPI_Finalize();
  return 0;
}
