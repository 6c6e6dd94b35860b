// Messages that have no room in the frame: packed into memory that is kept from one to the next, up
// to several at once.
#include "../check.h"

enum { kLarge = 12 << 20 };
static char *large_sent, *large_got;

static void refill_large(int seed) {
  for (int i = 0; i < kLarge; ++i) {
    large_sent[i] = (char)((i * 2654435761u + (unsigned)seed * 977u + (unsigned)rank) >> 13);
    large_got[i] = (char)(0xa5 ^ seed);
  }
}

static void tell_large(const char* name, const MPI_Status* status, MPI_Datatype type) {
  unsigned long long sum = 14695981039346656037ull;
  for (int i = 0; i < kLarge; ++i) sum = (sum ^ (unsigned char)large_got[i]) * 1099511628211ull;
  int count = -1, elements = -1;
  if (status != NULL) {
    MPI_Get_count(status, type, &count);
    MPI_Get_elements(status, type, &elements);
  }
  if (rank == 1) printf("%s %016llx count %d elements %d\n", name, sum, count, elements);
}

static MPI_Datatype threes(int n) {
  MPI_Datatype type;
  MPI_Type_vector(n, 3, 5, MPI_FLOAT, &type);
  MPI_Type_commit(&type);
  return type;
}

__attribute__((noinline)) static void there(int n) {
  MPI_Datatype type = threes(n);
  MPI_Status status;
  refill_large(n);
  if (rank == 0) MPI_Send(large_sent, 1, type, 1, 1, MPI_COMM_WORLD);           // specialized
  if (rank == 1) MPI_Recv(large_got, 1, type, 0, 1, MPI_COMM_WORLD, &status);  // specialized
  tell_large("there", rank == 1 ? &status : NULL, type);
  // Half of what there is room for, down to a part of a run.
  refill_large(n + 1);
  if (rank == 0) MPI_Send(large_sent, 3 * (n / 2) + 1, MPI_FLOAT, 1, 1, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(large_got, 2, type, 0, 1, MPI_COMM_WORLD, &status);  // specialized
  tell_large("part", rank == 1 ? &status : NULL, type);
  MPI_Recv(large_got, 1, type, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);  // specialized
  MPI_Send(large_sent, 1, type, MPI_PROC_NULL, 1, MPI_COMM_WORLD);          // specialized
  tell_large("nobody", &status, type);
  MPI_Type_free(&type);
}

__attribute__((noinline)) static void both_ways(int n) {
  MPI_Status status;
  for (int turn = 0; turn < 4; ++turn) {
    MPI_Datatype type = threes(n);
    refill_large(turn);
    MPI_Sendrecv(large_sent, 1, type, other, 1, large_got, 1, type, other, 1, MPI_COMM_WORLD, &status);  // specialized
    tell_large("both", &status, type);
    MPI_Type_free(&type);
    n -= n / 3;
  }
}

// Several are under way at once, of sizes of the run time and of constant ones.
__attribute__((noinline)) static void at_once(int n) {
  MPI_Datatype type = threes(n), fixed = threes(20000);
  MPI_Request requests[6];
  MPI_Status statuses[6];
  for (int turn = 0; turn < 3; ++turn) {
    refill_large(turn);
    MPI_Irecv(large_got, 1, type, other, 1, MPI_COMM_WORLD, &requests[0]);                // specialized
    MPI_Irecv(large_got + kLarge / 3, 1, fixed, other, 2, MPI_COMM_WORLD, &requests[1]);  // specialized
    MPI_Irecv(large_got + kLarge / 2, 1, type, other, 3, MPI_COMM_WORLD, &requests[2]);   // specialized
    MPI_Isend(large_sent, 1, type, other, 3, MPI_COMM_WORLD, &requests[3]);               // specialized
    MPI_Isend(large_sent + kLarge / 3, 1, fixed, other, 2, MPI_COMM_WORLD, &requests[4]);  // specialized
    MPI_Isend(large_sent + kLarge / 2, 1, type, other, 1, MPI_COMM_WORLD, &requests[5]);  // specialized
    MPI_Waitall(6, requests, statuses);
    tell_large("at once", &statuses[1], fixed);
  }
  MPI_Type_free(&type);
  MPI_Type_free(&fixed);
}

// What does not fit is an error, which comes back, and after which all goes on.
__attribute__((noinline)) static void too_long(int n) {
  MPI_Datatype type = threes(n);
  MPI_Status status;
  int class = -1;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  refill_large(5);
  if (rank == 0) MPI_Send(large_sent, 3 * n + 3, MPI_FLOAT, 1, 1, MPI_COMM_WORLD);
  if (rank == 1) {
    MPI_Error_class(MPI_Recv(large_got, 1, type, 0, 1, MPI_COMM_WORLD, &status), &class);  // specialized
    printf("too long: %d\n", class == MPI_ERR_TRUNCATE);
  }
  MPI_Error_class(MPI_Send(large_sent, 1, type, 7, 1, MPI_COMM_WORLD), &class);  // specialized
  if (rank == 1) printf("no such rank: %d\n", class == MPI_ERR_RANK);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Error_class(MPI_Isend(large_sent, 1, type, 7, 1, MPI_COMM_WORLD, &request), &class);  // specialized
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == 1) printf("no such rank later: %d\n", class == MPI_ERR_RANK);
  MPI_Type_free(&type);
  both_ways(n);
}

// Types in an array, made in a loop, and lists that have no room in the frame.
__attribute__((noinline)) static void in_a_loop(int n, const int* places) {
  MPI_Datatype parts[2], type;
  MPI_Status status;
  for (int i = 0; i < 2; ++i) {
    int* tripled = malloc((size_t)n * sizeof(int));
    for (int k = 0; k < n; ++k) tripled[k] = places[k] * (3 + i);
    MPI_Type_create_indexed_block(n, 3, tripled, MPI_FLOAT, &parts[i]);
    free(tripled);
  }
  const int ones[2] = {1, 1};
  const MPI_Aint at[2] = {0, kLarge / 2};
  MPI_Type_create_struct(2, ones, at, parts, &type);
  MPI_Type_commit(&type);
  refill_large(6);
  MPI_Sendrecv(large_sent, 1, type, other, 1, large_got, 1, type, other, 1, MPI_COMM_WORLD, &status);  // specialized
  tell_large("in a loop", &status, type);
  MPI_Type_free(&parts[0]);
  MPI_Type_free(&parts[1]);
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  large_sent = malloc(kLarge);
  large_got = malloc(kLarge);
  there(argc * 400);     // in the frame
  there(argc * 30000);   // 360 kB
  there(argc * 500000);  // 6 MB
  both_ways(argc * 500000);
  at_once(argc * 90000);
  enum { kPlaces = 100000 };
  int* places = malloc(kPlaces * sizeof(int));
  for (int i = 0; i < kPlaces; ++i) places[i] = (int)(i * 7919L % kPlaces);
  in_a_loop(700, places);
  in_a_loop(kPlaces, places);
  too_long(argc * 40000);
  free(places);
  free(large_sent);
  free(large_got);
  MPI_Finalize();
  return 0;
}
