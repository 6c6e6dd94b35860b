// What is wrong or slow with types: a comment behind a call says what is warned of. It is only compiled.
#include <mpi.h>

static double data[4096];
MPI_Datatype seen_by_all;
void look_at(MPI_Datatype* type);

void uncommitted(int to) {
  MPI_Datatype type;
  MPI_Type_vector(4, 1, 8, MPI_DOUBLE, &type);
  MPI_Send(data, 1, type, to, 0, MPI_COMM_WORLD);  // warned: never committed
  MPI_Type_free(&type);
}
// Another variable commits it; somebody else may; a copy is as committed as the original.
void committed_elsewhere(int to) {
  MPI_Datatype type, same, copy;
  MPI_Type_vector(4, 1, 8, MPI_DOUBLE, &type);
  same = type;
  MPI_Type_commit(&same);
  MPI_Send(data, 1, type, to, 0, MPI_COMM_WORLD);
  MPI_Type_dup(type, &copy);
  MPI_Send(data, 1, copy, to, 0, MPI_COMM_WORLD);
  MPI_Type_free(&copy);
  MPI_Type_free(&type);
  MPI_Type_vector(4, 1, 9, MPI_DOUBLE, &type);
  look_at(&type);
  MPI_Send(data, 1, type, to, 0, MPI_COMM_WORLD);
}
void leaked(int to) {
  MPI_Datatype type;
  MPI_Type_vector(4, 1, 8, MPI_DOUBLE, &type);  // warned: never freed, and nobody
  MPI_Type_commit(&type);
  MPI_Send(data, 1, type, to, 0, MPI_COMM_WORLD);
}
void leaked_in_a_loop(int n, int to) {
  for (int i = 0; i < n; ++i) {
    MPI_Datatype type;
    MPI_Type_vector(i, 1, 8, MPI_DOUBLE, &type);  // warned: another one made in each iteration
    MPI_Type_commit(&type);
    MPI_Send(data, 1, type, to, 0, MPI_COMM_WORLD);
  }
}
// Others have these: they may free them.
MPI_Datatype returned(int n) {
  MPI_Datatype type;
  MPI_Type_vector(n, 1, 8, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  return type;
}
void stored(int n, MPI_Datatype* place) {
  MPI_Type_vector(n, 1, 8, MPI_DOUBLE, place);
  MPI_Type_commit(place);
  MPI_Type_vector(n, 1, 9, MPI_DOUBLE, &seen_by_all);
  MPI_Type_commit(&seen_by_all);
}
void freed_on_a_way(int n, int to) {
  MPI_Datatype part, type;
  MPI_Type_contiguous(n, MPI_DOUBLE, &part);
  MPI_Type_vector(n, 1, 8, part, &type);
  MPI_Type_free(&part);
  MPI_Type_commit(&type);
  MPI_Ssend(data, 1, type, to, 0, MPI_COMM_WORLD);
  if (n > 7) MPI_Type_free(&type);
}
// The same type in each iteration; one that differs, is made once, or is not made at all any more.
void made_in_a_loop(int n, int to) {
  for (int i = 0; i < n; ++i) {
    MPI_Datatype type;
    MPI_Type_vector(n, 1, 8, MPI_DOUBLE, &type);  // warned: make it once
    MPI_Type_commit(&type);
    MPI_Ssend(data, 1, type, to, 0, MPI_COMM_WORLD);
    MPI_Type_free(&type);
  }
  MPI_Datatype once = MPI_DATATYPE_NULL;
  for (int i = 0; i < n; ++i) {
    MPI_Datatype type;
    MPI_Type_vector(i, 1, 8, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    MPI_Ssend(data, 1, type, to, 0, MPI_COMM_WORLD);
    MPI_Type_free(&type);
    if (once == MPI_DATATYPE_NULL) {
      MPI_Type_vector(n, 1, 9, MPI_DOUBLE, &once);
      MPI_Type_commit(&once);
    }
    MPI_Ssend(data, 1, once, to, 0, MPI_COMM_WORLD);
  }
  if (once != MPI_DATATYPE_NULL) MPI_Type_free(&once);
  for (int i = 0; i < n; ++i) {
    MPI_Datatype type;
    MPI_Type_vector(4, 1, 8, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    MPI_Send(data, 1, type, to, 0, MPI_COMM_WORLD);
    MPI_Type_free(&type);
  }
}
void impossible(void) {
  MPI_Datatype type;
  MPI_Request request;
  MPI_Send(data, -1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);                                  // warned: count
  MPI_Send(data, 1, MPI_DOUBLE, -77, 0, MPI_COMM_WORLD);                                 // warned: rank
  MPI_Isend(data, 1, MPI_DOUBLE, 1, -77, MPI_COMM_WORLD, &request);                      // warned: tag
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Send(data, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD);                      // warned: rank
  MPI_Type_vector(4, -2, 8, MPI_DOUBLE, &type);                                          // warned: negative
  MPI_Type_commit(&type);
  MPI_Type_free(&type);
}
void possible(int n) {
  const int lengths[2] = {1, 2}, places[2] = {-4, 8};
  MPI_Datatype type;
  MPI_Send(data, 0, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  MPI_Recv(data, 1, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(data, 1, MPI_DOUBLE, 1, 3, data + 9, 1, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Type_vector(4, n, -8, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&type);
  MPI_Type_indexed(2, lengths, places, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&type);
}
int main(int argc, char** argv) {
  MPI_Datatype type;
  MPI_Init(&argc, &argv);
  MPI_Type_vector(argc, 1, 8, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  MPI_Ssend(data, 1, type, 0, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
