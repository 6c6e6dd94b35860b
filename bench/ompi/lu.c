// SPDX-License-Identifier: BSD-3-Clause
//
// LU (figure 6): factorization with row pivoting; rows are dealt out cyclically, in groups of 8.
// Which rows are exchanged depends on the pivots, and the rest of a row gets shorter: 1000 bytes on
// average.
#include <math.h>

#include "lanes.h"

enum { kOrder = 250, kGroup = 8, kTimes = 10 };

static double g_rows[kOrder][kOrder];  // a rank uses those that are its own
static double g_pivot[kOrder];
static double g_away[kOrder];
static int g_order_of[kOrder];  // which row of the matrix is in this place now

static int owner(int row) { return row / kGroup % 2; }

static double element(int i, int j) {
  const unsigned mixed = (unsigned)(i * 7919 + j) * 2654435761U;
  return (double)(mixed >> 12 & 0xFFFF) / 65536.0 - 0.5;
}

static void fill(void) {
  for (int i = 0; i < kOrder; ++i) {
    g_order_of[i] = i;
    for (int j = 0; j < kOrder; ++j) g_rows[i][j] = element(i, j);
  }
}

static void swap_rows(double* one, double* other) {
  for (int j = 0; j < kOrder; ++j) {
    const double kept = one[j];
    one[j] = other[j];
    other[j] = kept;
  }
}

// The row from k on with the largest element in column k: each rank proposes one, rank 0 decides.
static int find_pivot(int k) {
  double best[2] = {-1, k};
  for (int i = k; i < kOrder; ++i) {
    if (owner(i) != g_rank || fabs(g_rows[i][k]) <= best[0]) continue;
    best[0] = fabs(g_rows[i][k]);
    best[1] = i;
  }
  if (g_rank == 0) {
    double theirs[2];
    IN_MPI(MPI_Recv(theirs, 2, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (theirs[0] > best[0]) memcpy(best, theirs, sizeof(best));
    IN_MPI(MPI_Send(&best[1], 1, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD));
  } else {
    IN_MPI(MPI_Send(best, 2, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD));
    IN_MPI(MPI_Recv(&best[1], 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  return (int)best[1];
}

static void exchange_rows(int k, int pivot) {
  const int kept = g_order_of[k];
  g_order_of[k] = g_order_of[pivot];
  g_order_of[pivot] = kept;
  if (owner(k) == owner(pivot)) {
    if (owner(k) == g_rank) swap_rows(g_rows[k], g_rows[pivot]);
    return;
  }
  double* mine = owner(k) == g_rank ? g_rows[k] : g_rows[pivot];
  memcpy(g_away, mine, sizeof(g_away));
  if (g_rank == 0) {
    IN_MPI(MPI_Send(g_away, kOrder, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD));
    IN_MPI(MPI_Recv(mine, kOrder, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  } else {
    IN_MPI(MPI_Recv(mine, kOrder, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    IN_MPI(MPI_Send(g_away, kOrder, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD));
  }
}

static void factorize_once(void) {
  fill();
  for (int k = 0; k < kOrder; ++k) {
    const int pivot = find_pivot(k);
    if (pivot != k) exchange_rows(k, pivot);
    const double* row = g_pivot;
    if (owner(k) == g_rank) {
      row = g_rows[k];
      IN_MPI(MPI_Send(&g_rows[k][k], kOrder - k, MPI_DOUBLE, 1 - g_rank, 4, MPI_COMM_WORLD));
    } else {
      IN_MPI(MPI_Recv(&g_pivot[k], kOrder - k, MPI_DOUBLE, 1 - g_rank, 4, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE));
    }
    for (int i = k + 1; i < kOrder; ++i) {
      if (owner(i) != g_rank) continue;
      double* mine = g_rows[i];
      const double by = mine[k] / row[k];
      mine[k] = by;
      for (int j = k + 1; j < kOrder; ++j) mine[j] -= by * row[j];
    }
  }
}

static int g_times;

static void factorize(void) {
  for (int time = 0; time < g_times; ++time) factorize_once();
}

// L times U is the matrix with its rows in another order.
static int check(void) {
  for (int i = 0; i < kOrder; ++i) {
    double* row = g_rows[i];
    if (owner(i) == 0 && g_rank == 1)
      MPI_Recv(row, kOrder, MPI_DOUBLE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (owner(i) == 0 && g_rank == 0) MPI_Send(row, kOrder, MPI_DOUBLE, 1, 5, MPI_COMM_WORLD);
  }
  int right = 1;
  for (int i = 0; i < kOrder && g_rank == 1; i += 3) {
    for (int j = 0; j < kOrder; j += 7) {
      double sum = i <= j ? g_rows[i][j] : 0;
      for (int k = 0; k < i && k <= j; ++k) sum += g_rows[i][k] * g_rows[k][j];
      right = right && fabs(sum - element(g_order_of[i], j)) < 1e-9;
    }
  }
  MPI_Bcast(&right, 1, MPI_INT, 1, MPI_COMM_WORLD);
  return right;
}

int main(int argc, char** argv) {
  begin(argc, argv, 1);
  g_times = g_quick ? 1 : kTimes;
  measure("LU", 8 * kOrder / 2, g_times, 1, factorize, check);
  return finish();
}
