/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives whose requests are freed, and whose messages are sent while this rank is in
 * MPI_Finalize, which completes them in libraries that synchronise there. Two ranks; the exit
 * status of the first says whether all data are in place after MPI_Finalize. */
#include <mpi.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kLong = 20000, kShort = 20, kPlain = 100, kBlock = 200, kPage = 4096 };

static double long_data[3 * kLong], short_data[3 * kShort], part[4 * 3 * kShort],
    plain[3 * kShort + kPlain], never[3 * kShort];

static void set(double* data, int n, double value) {
  int i;
  for (i = 0; i < n; ++i) data[i] = value;
}

/* The first `n` of each `stride` are 1, and all else is as it was. */
static int wrong(const double* data, int n, int stride, int all) {
  int i, bad = 0;
  for (i = 0; i < all; ++i) bad += data[i] != (i % stride == 0 && i / stride < n ? 1 : -1);
  return bad;
}

static void receive(void* data, int count, MPI_Datatype type, int tag) {
  MPI_Request request;
  MPI_Irecv(data, count, type, 1, tag, MPI_COMM_WORLD, &request);
  MPI_Request_free(&request);
}

/* kBlock doubles in each of two pages, of which the program has protected the one between. */
static double* protected_pages(void) {
  char* all = mmap(NULL, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED || mprotect(all + kPage, kPage, PROT_NONE) != 0) return NULL;
  return (double*)all;
}

/* Called in MPI_Finalize. */
static int tell(MPI_Comm comm, int keyval, void* value, void* extra) {
  int word = 0;
  (void)comm, (void)keyval, (void)value, (void)extra;
  MPI_Send(&word, 1, MPI_INT, 1, 9, MPI_COMM_WORLD);
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  MPI_Datatype long_type, short_type, apart, pages;
  double* const guarded = protected_pages();
  int rank, word, keyval, i, bad = guarded == NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Type_vector(kLong, 1, 3, MPI_DOUBLE, &long_type);
  MPI_Type_vector(kShort, 1, 3, MPI_DOUBLE, &short_type);
  MPI_Type_create_resized(short_type, 0, 3 * kShort * sizeof(double), &apart);
  MPI_Type_create_hvector(2, kBlock, 2 * kPage, MPI_DOUBLE, &pages);
  MPI_Type_commit(&pages);
  MPI_Type_commit(&long_type);
  MPI_Type_commit(&short_type);
  MPI_Type_commit(&apart);
  set(long_data, 3 * kLong, rank == 0 ? -1 : 1);
  set(short_data, 3 * kShort, rank == 0 ? -1 : 1);
  set(part, 4 * 3 * kShort, rank == 0 ? -1 : 1);
  set(plain, 3 * kShort + kPlain, rank == 0 ? -1 : 1);
  set(never, 3 * kShort, -1);
  if (rank == 0) {
    receive(long_data, 1, long_type, 1);
    receive(short_data, 1, short_type, 2);
    receive(part, 4, apart, 3);
    receive(guarded, 1, pages, 6);
    receive(plain, kPlain, MPI_DOUBLE, 4);
    receive(never, 1, short_type, 5);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, tell, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
  } else if (rank == 1) {
    MPI_Recv(&word, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    usleep(200000); /* the other one has gone on by now; if it has not, all is well anyway */
    MPI_Send(long_data, 1, long_type, 0, 1, MPI_COMM_WORLD);
    MPI_Send(short_data, 1, short_type, 0, 2, MPI_COMM_WORLD);
    MPI_Send(part, kShort + kShort / 2, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD);
    MPI_Send(long_data, 2 * kBlock, MPI_DOUBLE, 0, 6, MPI_COMM_WORLD);
    /* The last message shows that all have arrived; without it, Open MPI may lose some. */
    MPI_Ssend(plain, 1, short_type, 0, 4, MPI_COMM_WORLD);
  }
  MPI_Type_free(&pages);
  MPI_Type_free(&long_type);
  MPI_Type_free(&short_type);
  MPI_Type_free(&apart);
  MPI_Finalize();
  if (rank == 0) {
    bad += wrong(long_data, kLong, 3, 3 * kLong);
    bad += wrong(short_data, kShort, 3, 3 * kShort);
    bad += wrong(part, kShort + kShort / 2, 3, 4 * 3 * kShort);
    bad += wrong(plain, kShort, 1, kPlain);
    for (i = 0; i < kBlock; ++i) bad += guarded[i] != 1 || guarded[2 * kPage / 8 + i] != 1;
    bad += wrong(never, 0, 3, 3 * kShort);
    if (bad != 0) fprintf(stderr, "%d values are wrong\n", bad);
  }
  return bad != 0;
}
