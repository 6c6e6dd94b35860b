// Functions of MPI that the program has itself, as tools do: they are called as often, and for what is not a message,
// too.
#include "../check.h"

static int sends, receives, packs, vectors;
int MPI_Send(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  ++sends;
  return PMPI_Send(buffer, count, type, to, tag, comm);
}
int MPI_Recv(void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
  ++receives;
  return PMPI_Recv(buffer, count, type, from, tag, comm, status);
}
int MPI_Pack(const void* in, int count, MPI_Datatype type, void* out, int size, int* at, MPI_Comm comm) {
  ++packs;
  return PMPI_Pack(in, count, type, out, size, at, comm);
}
int MPI_Type_vector(int count, int length, int stride, MPI_Datatype old, MPI_Datatype* made) {
  ++vectors;
  return PMPI_Type_vector(count, length, stride, old, made);
}

static void messages(void) {
  MPI_Datatype type = column(6, 5);
  for (int i = 0; i < 3; ++i) {
    refill(i);
    if (rank == 0) MPI_Send(sent, 2, type, 1, 5, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(got, 2, type, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    tell("message", NULL, type);
  }
  MPI_Type_free(&type);
}
static void packing(void) {
  MPI_Datatype type = column(6, 5);
  int at = 0;
  refill(7);
  MPI_Pack(sent, 1, type, got, 64, &at, MPI_COMM_WORLD);
  tell("packing", NULL, type);
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  messages();
  packing();
  if (rank == 1) printf("sends %d receives %d packs %d vectors %d\n", sends, receives, packs, vectors);
  int others = sends;
  MPI_Bcast(&others, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == 1) printf("sends of the other %d\n", others);
  MPI_Finalize();
  return 0;
}
