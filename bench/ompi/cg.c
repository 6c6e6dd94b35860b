// SPDX-License-Identifier: BSD-3-Clause
//
// CG (figure 6): conjugate gradients over a sparse 128 x 128 matrix, half of the rows on each rank.
// Every message is one number: a neighbour's element, or a part of a dot product. There is little
// computation in between.
#include <math.h>

#include "lanes.h"

enum { kOrder = 128, kMine = kOrder / 2, kSolves = 20, kSteps = 64 };

static double g_x[kMine], g_r[kMine], g_q[kMine];
static double g_p[kMine + 2];  // with a neighbour's element on each side
static int g_solves;

// The sum over both ranks, in the same order on both.
static double dot(const double* one, const double* other) {
  double mine = 0, theirs = 0;
  for (int i = 0; i < kMine; ++i) mine += one[i] * other[i];
  if (g_rank == 0) {
    IN_MPI(MPI_Send(&mine, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD));
    IN_MPI(MPI_Recv(&theirs, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return mine + theirs;
  }
  IN_MPI(MPI_Recv(&theirs, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  IN_MPI(MPI_Send(&mine, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD));
  return theirs + mine;
}

// q = A p, where A has 2.5 on its diagonal and -1 beside it.
static void apply(void) {
  if (g_rank == 0) {
    IN_MPI(MPI_Send(&g_p[kMine], 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD));
    IN_MPI(MPI_Recv(&g_p[kMine + 1], 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  } else {
    IN_MPI(MPI_Recv(&g_p[0], 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    IN_MPI(MPI_Send(&g_p[1], 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD));
  }
  for (int i = 0; i < kMine; ++i) g_q[i] = 2.5 * g_p[i + 1] - g_p[i] - g_p[i + 2];
}

static double right_side(int i) { return 1 + (g_rank * kMine + i) % 5; }

static void solve_once(void) {
  memset(g_p, 0, sizeof(g_p));
  for (int i = 0; i < kMine; ++i) {
    g_x[i] = 0;
    g_r[i] = g_p[i + 1] = right_side(i);
  }
  double squares = dot(g_r, g_r);
  for (int step = 0; step < kSteps; ++step) {
    apply();
    const double length = squares / dot(&g_p[1], g_q);
    for (int i = 0; i < kMine; ++i) {
      g_x[i] += length * g_p[i + 1];
      g_r[i] -= length * g_q[i];
    }
    const double now = dot(g_r, g_r);
    const double part = now / squares;
    for (int i = 0; i < kMine; ++i) g_p[i + 1] = g_r[i] + part * g_p[i + 1];
    squares = now;
  }
}

static void solve(void) {
  for (int i = 0; i < g_solves; ++i) solve_once();
}

static int check(void) {
  memcpy(&g_p[1], g_x, sizeof(g_x));
  g_p[0] = g_p[kMine + 1] = 0;
  apply();
  double worst = 0;
  for (int i = 0; i < kMine; ++i) worst = fmax(worst, fabs(g_q[i] - right_side(i)));
  return worst < 1e-9;
}

int main(int argc, char** argv) {
  begin(argc, argv, 1);
  g_solves = g_quick ? 2 : kSolves;
  measure("CG", 8, g_solves, 1, solve, check);
  return finish();
}
