// Types whose handles escape: the program's kernels for them are the preload's, where it is there, and nothing else
// changes. What must not be taken is registered here by hand.
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#include "../check.h"

#define PLACE 8192

typedef int kernel(const int64_t* numbers, char* mem, int64_t count, char* packed);
typedef void taker(MPI_Datatype type, const char* structure, const int64_t* values, int64_t value_count, kernel* pack,
                   kernel* unpack, const int64_t* numbers, int64_t number_count);

// Packs what no type says.
static int wrong(const int64_t* numbers, char* mem, int64_t count, char* packed) {
  (void)numbers, (void)mem;
  memset(packed, 0x77, (size_t)count * 8);
  return 0;
}

// Other code sees the handle, and uses it.
__attribute__((noinline)) static void use(const char* name, MPI_Datatype* shown, int count) {
  char packed[4096];
  int position = 0, bytes = 0;
  look_at(shown);
  MPI_Type_size(*shown, &bytes);
  for (int turn = 0; turn < 20; ++turn) {  // new types are the library's for a while
    refill(turn);
    position = 0;
    MPI_Pack(sent + PLACE, count, *shown, packed, sizeof packed, &position, MPI_COMM_WORLD);
    if (position != count * bytes) printf("%s: %d\n", name, position);
    position = 0;
    MPI_Unpack(packed, sizeof packed, &position, got + PLACE, count, *shown, MPI_COMM_WORLD);
    MPI_Sendrecv(sent + PLACE, count, *shown, rank, 1, got + 3 * PLACE, count, *shown, rank, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
  tell(name, NULL, *shown);
}

// Words at a stride, which the preload moves as well itself.
static void constant(int count) {
  MPI_Datatype type;
  MPI_Type_vector(5, 1, 3, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);  // registers
  use("constant", &type, count);
  MPI_Type_free(&type);
}
static void of_the_run_time(int n, int stride, int count) {
  MPI_Datatype type;
  MPI_Type_vector(n, 3, stride, MPI_INT, &type);
  MPI_Type_commit(&type);  // registers
  use("of the run time", &type, count);
  MPI_Type_free(&type);
}
struct part {
  char letter;
  int number;
  double values[2];
  short last;
};
static void structs(int count) {
  MPI_Datatype type, part, types[3] = {MPI_INT, MPI_DOUBLE, MPI_SHORT};
  int lengths[3] = {1, 2, 1};
  MPI_Aint places[3] = {offsetof(struct part, number), offsetof(struct part, values), offsetof(struct part, last)};
  MPI_Type_create_struct(3, lengths, places, types, &part);
  MPI_Type_create_resized(part, 0, sizeof(struct part), &type);
  MPI_Type_commit(&type);  // registers
  use("structs", &type, count);
  MPI_Type_free(&type);
  MPI_Type_free(&part);
}
// It begins before its buffer, and its elements go backwards.
static void backwards(int count) {
  MPI_Datatype type, part;
  int lengths[2] = {1, 2}, places[2] = {-3, 2};
  MPI_Type_indexed(2, lengths, places, MPI_FLOAT, &part);
  MPI_Type_create_resized(part, -16, -40, &type);
  MPI_Type_commit(&type);  // registers
  use("backwards", &type, count);
  MPI_Type_free(&type);
  MPI_Type_free(&part);
}
// Handles are given again: each type is what it was made as.
static void again(void) {
  for (int i = 0; i < 30; ++i) {
    MPI_Datatype type;
    if (i % 2 == 0) {
      MPI_Type_vector(4, 3, 5, MPI_FLOAT, &type);
    } else {
      MPI_Type_vector(4, 3, 7, MPI_FLOAT, &type);
    }
    MPI_Type_commit(&type);
    use("again", &type, 1);
    MPI_Type_free(&type);
  }
}
static void* volatile nobody;
static void by_hand(void) {
  taker* take = (taker*)dlsym(RTLD_DEFAULT, "lacuna_interposed_register");
  MPI_Datatype type = column(6, 4), other = column(7, 4), foreign = column(8, 4);
  nobody = &type;
  if (take != NULL) {
    take(type, "vector(6, 1, 5, double)", NULL, 0, wrong, wrong, NULL, 0);
    take(other, "this is no type", NULL, 0, wrong, wrong, NULL, 0);
    // Not of the program: it may be unloaded.
    take(foreign, "vector(8, 1, 4, double)", NULL, 0, (kernel*)dlsym(RTLD_DEFAULT, "memcpy"),
         (kernel*)dlsym(RTLD_DEFAULT, "memcpy"), NULL, 0);
  }
  use("another structure", &type, 2);
  use("no structure", &other, 2);
  use("of a library", &foreign, 2);
  MPI_Type_free(&foreign);
  MPI_Type_free(&other);
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  for (int count = 0; count <= 3; ++count) {
    constant(count);
    of_the_run_time(3 + argc, 4 + argc, count);
    structs(count);
    backwards(count);
  }
  structs(100);
  again();
  by_hand();
  MPI_Finalize();
  return 0;
}
