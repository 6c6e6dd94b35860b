// Bcast and Alltoall: ranks that pack and ranks that do not belong together, and nothing else changes.
#include <stddef.h>

#include "../check.h"

#define PLACE 4096

// What one rank has is what all get.
static void to_all(int n, int root) {
  MPI_Datatype type = column(8, 3), own = column(n, 4);
  refill(rank + 1);
  memcpy(got, sent, kBytes);
  MPI_Bcast(got + PLACE, 2, type, 0, MPI_COMM_WORLD);  // specialized
  tell("to all", NULL, type);
  refill(rank + 3);
  memcpy(got, sent, kBytes);
  MPI_Bcast(got + PLACE, 1, own, root, MPI_COMM_WORLD);  // specialized
  tell("from another", NULL, type);
  MPI_Bcast(got + PLACE, 0, own, root, MPI_COMM_WORLD);  // specialized
  MPI_Bcast(got + PLACE, n - n, own, 0, MPI_COMM_SELF);  // specialized
  MPI_Type_free(&own);
  MPI_Type_free(&type);
}
// The other rank has the same signature in another type, whose code is not specialized.
static void other_types(void) {
  MPI_Datatype type = column(8, 3), shown = column(8, 2);
  look_at(&shown);
  refill(rank + 5);
  memcpy(got, sent, kBytes);
  if (rank == 0) {
    MPI_Bcast(got + PLACE, 2, type, 0, MPI_COMM_WORLD);  // specialized
    look_at(NULL);
  } else {
    MPI_Bcast(got + PLACE, 2, shown, 0, MPI_COMM_WORLD);  // asks: loaded from memory
  }
  tell("other types", NULL, type);
  refill(rank + 6);
  if (rank == 0) {
    MPI_Alltoall(sent + PLACE, 2, type, got + PLACE, 2, type, MPI_COMM_SELF);  // specialized
    look_at(NULL);
  } else {
    MPI_Alltoall(sent + PLACE, 2, shown, got + PLACE, 2, type, MPI_COMM_SELF);  // specialized
  }
  tell("to oneself", NULL, type);
  MPI_Type_free(&shown);
  MPI_Type_free(&type);
}
static void each_to_each(int n) {
  MPI_Datatype type = column(8, 3), tile, tiles;
  MPI_Type_vector(n, 1, 4, MPI_DOUBLE, &tile);
  MPI_Type_create_resized(tile, 0, 8, &tiles);
  MPI_Type_commit(&tiles);
  refill(rank + 7);
  MPI_Alltoall(sent + PLACE, 2, type, got + PLACE, 16, MPI_DOUBLE, MPI_COMM_WORLD);  // specialized
  tell("each to each", NULL, type);
  refill(rank + 8);
  MPI_Alltoall(sent + PLACE, n, MPI_DOUBLE, got + PLACE, 1, tiles, MPI_COMM_WORLD);  // specialized
  tell("tiles", NULL, type);
  refill(rank + 9);
  memcpy(got, sent, kBytes);
  MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got + PLACE, 1, type, MPI_COMM_WORLD);  // specialized
  tell("in place", NULL, type);
  MPI_Type_free(&tiles);
  MPI_Type_free(&tile);
  MPI_Type_free(&type);
}
// A collective's types must be of one signature on all ranks, which MPI_PACKED is not.
struct both {
  int number;
  double value;
};
static void of_several(void) {
  MPI_Datatype type, types[2] = {MPI_INT, MPI_DOUBLE};
  int lengths[2] = {1, 1};
  MPI_Aint places[2] = {offsetof(struct both, number), offsetof(struct both, value)};
  MPI_Type_create_struct(2, lengths, places, types, &type);
  MPI_Type_commit(&type);
  refill(rank + 10);
  memcpy(got, sent, kBytes);
  MPI_Bcast(got + PLACE, 3, type, 0, MPI_COMM_WORLD);  // left: several types
  tell("of several", NULL, type);
  MPI_Alltoall(sent + PLACE, 3, type, got + PLACE, 3, type, MPI_COMM_WORLD);  // left: several types
  tell("each of several", NULL, type);
  MPI_Type_free(&type);
}
static void flat(void) {
  MPI_Datatype type;
  MPI_Type_contiguous(6, MPI_INT, &type);
  MPI_Type_commit(&type);
  refill(rank + 11);
  memcpy(got, sent, kBytes);
  MPI_Bcast(got + PLACE, 3, type, 1, MPI_COMM_WORLD);  // left: no gaps
  tell("flat", NULL, type);
  MPI_Type_free(&type);
}
// Between two groups, who is the root is said otherwise.
static void between(void) {
  MPI_Comm inter;
  MPI_Datatype type = column(8, 3);
  MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, other, 1, &inter);
  refill(rank + 12);
  memcpy(got, sent, kBytes);
  MPI_Bcast(got + PLACE, 2, type, rank == 0 ? MPI_ROOT : 0, inter);  // specialized
  tell("between", NULL, type);
  refill(rank + 13);
  MPI_Alltoall(sent + PLACE, 2, type, got + PLACE, 2, type, inter);  // specialized
  tell("each between", NULL, type);
  MPI_Comm_free(&inter);
  MPI_Type_free(&type);
}
// Types in arrays: what is of one type in all places is packed.
static MPI_Datatype shown_types[2];
static void types_of_each(int n, int ranks) {
  MPI_Datatype type = column(8, 3), own = column(n, 4), mixed[2] = {type, own}, structs[2], same[2] = {own, own}, doubles[2];
  MPI_Datatype* list = malloc((size_t)ranks * sizeof *list);
  MPI_Datatype struct_type, parts[2] = {MPI_INT, MPI_DOUBLE};
  int lengths[2] = {1, 1}, counts[2] = {2, 1}, got_counts[2], places[2] = {4096, 256}, got_places[2] = {8192, 64}, none[2] = {0, 0};
  MPI_Aint fields[2] = {offsetof(struct both, number), offsetof(struct both, value)};
  MPI_Type_create_struct(2, lengths, fields, parts, &struct_type);
  MPI_Type_commit(&struct_type);
  for (int i = 0; i < ranks; ++i) list[i] = own, doubles[i] = MPI_DOUBLE;
  MPI_Alltoall(counts, 1, MPI_INT, got_counts, 1, MPI_INT, MPI_COMM_WORLD);
  refill(rank + 20);
  MPI_Alltoallw(sent, counts, places, list, got, got_counts, got_places, same, MPI_COMM_WORLD);  // specialized
  tell("a list", NULL, type);
  refill(rank + 21);
  for (int i = 0; i < ranks; ++i) got_counts[i] *= n;
  MPI_Alltoallw(sent, counts, places, list, got, got_counts, got_places, doubles, MPI_COMM_WORLD);  // specialized
  tell("to doubles", NULL, type);
  refill(rank + 22);
  MPI_Alltoallw(sent, none, places, list, got, none, got_places, same, MPI_COMM_WORLD);  // specialized
  tell("nothing", NULL, type);
  // Not all of one type: found when it runs. Both ranks have 8 doubles for rank 0 and n for rank 1.
  refill(rank + 23);
  counts[0] = counts[1] = 1;
  got_counts[0] = got_counts[1] = rank == 0 ? 8 : n;
  MPI_Alltoallw(sent, counts, places, mixed, got, got_counts, got_places, doubles, MPI_COMM_WORLD);  // specialized
  tell("mixed", NULL, type);
  // More than is packed.
  refill(rank + 24);
  counts[0] = counts[1] = 50;
  MPI_Alltoallw(sent, counts, none, list, got, counts, none, list, MPI_COMM_SELF);  // specialized
  tell("much", NULL, type);
  refill(rank + 25);
  memcpy(got, sent, kBytes);
  counts[0] = counts[1] = 1;
  MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, got, counts, got_places, same, MPI_COMM_WORLD);  // specialized
  tell("each in place", NULL, type);
  // Signatures stay what they are, and nobody knows what others put into a variable.
  refill(rank + 26);
  for (int i = 0; i < ranks; ++i) list[i] = struct_type;
  look_at(list);
  structs[0] = structs[1] = struct_type;
  MPI_Alltoallw(sent, counts, places, structs, got, counts, got_places, structs, MPI_COMM_WORLD);  // left: several types
  tell("structs of each", NULL, type);
  look_at(shown_types);
  memcpy(shown_types, same, sizeof same);
  MPI_Alltoallw(sent, counts, places, shown_types, got, counts, got_places, shown_types, MPI_COMM_WORLD);  // left: no type is seen
  tell("shown", NULL, type);
  free(list);
  MPI_Type_free(&struct_type);
  MPI_Type_free(&own);
  MPI_Type_free(&type);
}
// No template: the type is that of a file or a request, or nobody has written one.
static void without_templates(int ranks) {
  MPI_Datatype type = column(8, 3), types[2] = {type, type};
  int ones[2] = {1, 1}, places[2] = {0, 2}, in_bytes[2] = {0, 4096};
  MPI_Request request;
  refill(rank + 14);
  MPI_Alltoallw(sent, ones, in_bytes, types, got, ones, in_bytes, types, MPI_COMM_WORLD);  // specialized
  tell("types of each", NULL, type);
  MPI_Alltoallv(sent, ones, places, type, got, ones, places, type, MPI_COMM_WORLD);  // left: function: vector(8, 1, 3, double)
  tell("counts of each", NULL, type);
  MPI_Gather(sent, 1, type, got, 8, MPI_DOUBLE, ranks, MPI_COMM_WORLD);  // left: no template
  tell("gathered", NULL, type);
  if (rank == 0) {
    MPI_Send_init(sent, 1, type, 1, 5, MPI_COMM_WORLD, &request);  // left: started elsewhere
  } else {
    MPI_Recv_init(got, 8, MPI_DOUBLE, 0, 5, MPI_COMM_WORLD, &request);
  }
  MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  tell("started", NULL, type);
  MPI_Type_free(&type);
}
static int class_of(int code) {
  int found = MPI_SUCCESS;
  MPI_Error_class(code, &found);
  return found;
}
static void errors(int negative) {
  MPI_Datatype type = column(8, 3);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  int code = MPI_Bcast(got + PLACE, negative, type, 0, MPI_COMM_SELF);  // specialized
  if (rank == 1) printf("count %d\n", class_of(code) == MPI_ERR_COUNT);
  code = MPI_Bcast(got + PLACE, 1, type, 7, MPI_COMM_SELF);  // specialized
  if (rank == 1) printf("root %d\n", class_of(code) == MPI_ERR_ROOT);
  code = MPI_Alltoall(sent, negative, type, got, negative, type, MPI_COMM_SELF);  // specialized
  if (rank == 1) printf("counts %d\n", class_of(code) == MPI_ERR_COUNT);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  to_all(argc + 5, argc);
  other_types();
  each_to_each(argc + 3);
  of_several();
  flat();
  between();
  types_of_each(argc + 5, argc + 1);
  without_templates(argc);
  errors(-argc);
  MPI_Finalize();
  return 0;
}
