// SPDX-License-Identifier: BSD-3-Clause
//
// MM (figure 6): a product of two square matrices whose columns are dealt out cyclically, in pairs.
// For each pair the owner sends its two columns of A, 16 KiB; then each rank updates its columns of
// C. There is much computation for each message.
#include "lanes.h"

enum { kOrder = 1024, kPair = 2, kMine = kOrder / 2 };

// By columns; a rank has every second pair.
static double g_a[kMine][kOrder], g_b[kMine][kOrder], g_c[kMine][kOrder];
static double g_panel[kPair][kOrder];
static int g_pairs;  // how many are multiplied

static double a(int i, int j) { return (double)((3 * i + 5 * j) % 7 - 3); }
static double b(int i, int j) { return (double)((2 * i + j) % 5 - 2); }

// The column of the matrix that this rank has at `mine`.
static int column_of(int mine) { return (mine / kPair * 2 + g_rank) * kPair + mine % kPair; }

static void fill(void) {
  for (int mine = 0; mine < kMine; ++mine) {
    for (int i = 0; i < kOrder; ++i) {
      g_a[mine][i] = a(i, column_of(mine));
      g_b[mine][i] = b(i, column_of(mine));
    }
  }
}

static void multiply(void) {
  memset(g_c, 0, sizeof(g_c));
  for (int pair = 0; pair < g_pairs; ++pair) {
    const int owner = pair % 2;
    const double* panel = &g_panel[0][0];
    if (owner == g_rank) {
      panel = g_a[pair / 2 * kPair];
      IN_MPI(MPI_Send(panel, kPair * kOrder, MPI_DOUBLE, 1 - g_rank, 0, MPI_COMM_WORLD));
    } else {
      IN_MPI(MPI_Recv(g_panel, kPair * kOrder, MPI_DOUBLE, 1 - g_rank, 0, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE));
    }
    const double* one = panel;
    const double* other = panel + kOrder;
    for (int mine = 0; mine < kMine; ++mine) {
      const double by_one = g_b[mine][pair * kPair];
      const double by_other = g_b[mine][pair * kPair + 1];
      double* c = g_c[mine];
      for (int i = 0; i < kOrder; ++i) c[i] += one[i] * by_one + other[i] * by_other;
    }
  }
}

// The numbers are integers, so the comparison is exact.
static int check(void) {
  for (int mine = 0; mine < kMine; mine += 97) {
    for (int i = 0; i < kOrder; i += 61) {
      double sum = 0;
      for (int k = 0; k < g_pairs * kPair; ++k) sum += a(i, k) * b(k, column_of(mine));
      if (sum != g_c[mine][i]) return 0;
    }
  }
  return 1;
}

int main(int argc, char** argv) {
  begin(argc, argv, 1);
  g_pairs = g_quick ? 16 : kOrder / kPair;
  fill();
  measure("MM", 8 * kPair * kOrder, 1, 1, multiply, check);
  return finish();
}
