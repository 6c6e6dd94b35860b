// Every constructor, with numbers known and not, both ways. A comment says what becomes of the Send and the Recv.
#include <stddef.h>

#include "../check.h"

struct cell {
  int id;
  double x[3];
  char tag[4];
  short s;
};

#define WITH(make, name, count)                                                    \
  MPI_Datatype type;                                                               \
  MPI_Status status;                                                               \
  make;                                                                            \
  MPI_Type_commit(&type);                                                          \
  refill(__LINE__);                                                                \
  if (rank == 0) MPI_Send(sent + 8192, count, type, 1, 3, MPI_COMM_WORLD);         \
  if (rank == 1) MPI_Recv(got + 8192, count, type, 0, 3, MPI_COMM_WORLD, &status); \
  tell(name, rank == 1 ? &status : NULL, type);                                    \
  MPI_Type_free(&type)

static void contiguous(void) { WITH(MPI_Type_contiguous(7, MPI_INT, &type), "contiguous", 3); }  // specialized
static void vector(void) { WITH(MPI_Type_vector(5, 2, 7, MPI_DOUBLE, &type), "vector", 1); }     // specialized
static void vectors(void) { WITH(MPI_Type_vector(5, 2, 7, MPI_FLOAT, &type), "vectors", 4); }    // specialized
static void backwards(void) { WITH(MPI_Type_vector(5, 1, -3, MPI_DOUBLE, &type), "backwards", 1); }  // specialized
static void hvector(void) { WITH(MPI_Type_create_hvector(6, 3, 29, MPI_SHORT, &type), "hvector", 1); }  // specialized
static void odd_extent(void) { WITH(MPI_Type_create_hvector(6, 3, 29, MPI_SHORT, &type), "odd", 2); }  // left: extent
__attribute__((noinline)) static void shape(int n, int length, int stride, int count) {
  WITH(MPI_Type_vector(n, length, stride, MPI_DOUBLE, &type), "shape", count);  // specialized
}
__attribute__((noinline)) static void runs(int n, int length, int stride) {
  WITH(MPI_Type_create_hvector(n, length, stride, MPI_CHAR, &type), "runs", 1);  // specialized
}
static void dup_of(void) {
  MPI_Datatype one;
  MPI_Type_vector(3, 1, 5, MPI_INT, &one);
  WITH(MPI_Type_dup(one, &type), "dup", 2);  // specialized
  MPI_Type_free(&one);
}
static void nested(void) {
  MPI_Datatype one, two;
  MPI_Type_vector(3, 1, 5, MPI_INT, &one);
  MPI_Type_create_resized(one, 0, 64, &two);
  WITH(MPI_Type_create_hvector(4, 2, 300, two, &type), "nested", 2);  // specialized
  MPI_Type_free(&one);
  MPI_Type_free(&two);
}
static void resized(void) {
  MPI_Datatype one;
  MPI_Type_vector(8, 1, 16, MPI_DOUBLE, &one);
  WITH(MPI_Type_create_resized(one, -8, 8, &type), "resized", 5);  // specialized
  MPI_Type_free(&one);
}
static void indexed(void) {
  int lengths[4] = {1, 3, 0, 2}, places[4] = {10, -2, 5, 20};
  WITH(MPI_Type_indexed(4, lengths, places, MPI_INT, &type), "indexed", 2);  // specialized
}
static void hindexed(void) {
  int lengths[3] = {2, 1, 4};
  MPI_Aint places[3] = {100, 3, 41};
  WITH(MPI_Type_create_hindexed(3, lengths, places, MPI_SHORT, &type), "hindexed", 1);  // specialized
}
static void indexed_block(void) {
  static const int places[20] = {0, 3, 5, 9, 12, 17, 20, 22, 29, 31, 40, 43, 45, 49, 52, 57, 60, 62, 69, 71};
  WITH(MPI_Type_create_indexed_block(20, 2, places, MPI_DOUBLE, &type), "indexed_block", 1);  // specialized
}
static void long_table(void) {
  static const int places[100] = {1, 5, 9, 90, 70, 50, [99] = 1000, [7] = 20, [8] = 30};
  WITH(MPI_Type_create_indexed_block(100, 1, places, MPI_INT, &type), "long_table", 1);  // specialized
}
static void hindexed_block(void) {
  MPI_Aint places[3] = {0, 1001, 517};
  WITH(MPI_Type_create_hindexed_block(3, 5, places, MPI_CHAR, &type), "hindexed_block", 3);  // specialized
}
static void structs(void) {
  int lengths[4] = {1, 3, 4, 1};
  MPI_Aint places[4] = {offsetof(struct cell, id), offsetof(struct cell, x), offsetof(struct cell, tag), offsetof(struct cell, s)};
  MPI_Datatype types[4] = {MPI_INT, MPI_DOUBLE, MPI_CHAR, MPI_SHORT}, one;
  MPI_Type_create_struct(4, lengths, places, types, &one);
  WITH(MPI_Type_create_resized(one, 0, sizeof(struct cell), &type), "structs", 9);  // specialized
  MPI_Type_free(&one);
}
static void one_struct(void) {
  int lengths[2] = {1, 3};
  MPI_Aint places[2] = {0, 8};
  MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
  WITH(MPI_Type_create_struct(2, lengths, places, types, &type), "struct", 1);  // specialized
}
struct rare {
  _Bool known;
  MPI_Aint place;
  MPI_Offset offset[2];
  MPI_Count count;
};
static void rare_basics(void) {
  int lengths[4] = {1, 1, 2, 1};
  MPI_Aint places[4] = {offsetof(struct rare, known), offsetof(struct rare, place), offsetof(struct rare, offset), offsetof(struct rare, count)};
  MPI_Datatype types[4] = {MPI_C_BOOL, MPI_AINT, MPI_OFFSET, MPI_COUNT};
  WITH(MPI_Type_create_struct(4, lengths, places, types, &type), "rare basics", 3);  // specialized
}
static void offsets(void) { WITH(MPI_Type_vector(9, 1, 2, MPI_OFFSET, &type), "offsets", 2); }  // specialized
static void padded(void) {  // its extent is for the library to say
  int lengths[2] = {3, 1};
  MPI_Aint places[2] = {0, 24};
  MPI_Datatype types[2] = {MPI_DOUBLE, MPI_INT};
  WITH(MPI_Type_create_struct(2, lengths, places, types, &type), "padded", 3);  // left
}
static void subarray_c(void) {
  int sizes[3] = {10, 9, 8}, subsizes[3] = {3, 2, 4}, starts[3] = {5, 1, 2};
  WITH(MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &type), "subarray_c", 2);  // specialized
}
static void subarray_fortran(void) {
  int sizes[2] = {10, 9}, subsizes[2] = {1, 9}, starts[2] = {5, 0};
  WITH(MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_DOUBLE, &type), "subarray_f", 1);  // specialized
}
__attribute__((noinline)) static void subarray_of(int n, int m) {
  int sizes[2] = {n, m}, subsizes[2] = {n - 2, 1}, starts[2] = {1, m - 2};
  WITH(MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &type), "subarray_of", 1);  // specialized
}
static void marked(void) {  // a bound that was set hides the others
  MPI_Datatype one;
  MPI_Type_create_resized(MPI_INT, 0, 12, &one);
  int lengths[2] = {1, 1};
  MPI_Aint places[2] = {0, 32};
  MPI_Datatype types[2] = {one, MPI_DOUBLE};
  WITH(MPI_Type_create_struct(2, lengths, places, types, &type), "marked", 2);  // left
  MPI_Type_free(&one);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  contiguous();
  vector();
  vectors();
  backwards();
  hvector();
  odd_extent();
  shape(argc + 9, argc, argc + 4, argc);
  shape(argc + 9, argc + 1, argc + 4, argc + 2);
  shape(argc + 99, argc + 8, argc + 9, argc);
  shape(argc + 4, argc + 1099, argc + 1199, argc);  // more than pays
  shape(argc - 1, argc, argc, argc);
  for (int length = 0; length <= 130; ++length) {
    runs(argc + 6, length, length + 3);
    runs(argc + length % 3, length, -length - argc);
  }
  dup_of();
  nested();
  resized();
  indexed();
  hindexed();
  indexed_block();
  long_table();
  hindexed_block();
  structs();
  one_struct();
  rare_basics();
  offsets();
  padded();
  subarray_c();
  subarray_fortran();
  subarray_of(argc + 11, argc + 5);
  marked();
  MPI_Finalize();
  return 0;
}
