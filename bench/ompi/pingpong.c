// SPDX-License-Identifier: BSD-3-Clause
//
// Ping-pong (figure 5): half of a round trip, of messages whose size and peer are constants. The
// sizes are those of CG, LU and MM; the last is every second double, as a derived type.
#include "lanes.h"

enum { kTrips = 2000, kMost = 2048 };

static double g_here[2 * kMost];
static int g_trips;

static void fill(void) {
  for (int i = 0; i < 2 * kMost; ++i) g_here[i] = g_rank == 0 ? i + 1 : 0;
}

static void trips_of_8(void) {
  for (int i = 0; i < g_trips; ++i) {
    if (g_rank == 0) {
      IN_MPI(MPI_Send(g_here, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD));
      IN_MPI(MPI_Recv(g_here, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else {
      IN_MPI(MPI_Recv(g_here, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      IN_MPI(MPI_Send(g_here, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD));
    }
  }
}

static void trips_of_1k(void) {
  for (int i = 0; i < g_trips; ++i) {
    if (g_rank == 0) {
      IN_MPI(MPI_Send(g_here, 128, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD));
      IN_MPI(MPI_Recv(g_here, 128, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else {
      IN_MPI(MPI_Recv(g_here, 128, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      IN_MPI(MPI_Send(g_here, 128, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD));
    }
  }
}

static void trips_of_16k(void) {
  for (int i = 0; i < g_trips; ++i) {
    if (g_rank == 0) {
      IN_MPI(MPI_Send(g_here, 2048, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD));
      IN_MPI(MPI_Recv(g_here, 2048, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else {
      IN_MPI(MPI_Recv(g_here, 2048, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      IN_MPI(MPI_Send(g_here, 2048, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD));
    }
  }
}

static void trips_of_strided(void) {
  MPI_Datatype strided;
  MPI_Type_vector(128, 1, 2, MPI_DOUBLE, &strided);
  MPI_Type_commit(&strided);
  for (int i = 0; i < g_trips; ++i) {
    if (g_rank == 0) {
      IN_MPI(MPI_Send(g_here, 1, strided, 1, 0, MPI_COMM_WORLD));
      IN_MPI(MPI_Recv(g_here, 1, strided, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else {
      IN_MPI(MPI_Recv(g_here, 1, strided, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      IN_MPI(MPI_Send(g_here, 1, strided, 0, 0, MPI_COMM_WORLD));
    }
  }
  MPI_Type_free(&strided);
}

// Rank 1 began with zeros; afterwards it has rank 0's values where the message has data, and zeros
// elsewhere.
static int g_count, g_stride;

static int check(void) {
  int right = 1;
  for (int i = 0; i < 2 * kMost; ++i) {
    const int is_data = i < g_count * g_stride && i % g_stride == 0;
    right = right && g_here[i] == (g_rank == 0 || is_data ? i + 1 : 0);
  }
  fill();
  return right;
}

static void row(const char* name, int count, int stride, void (*trips)(void)) {
  g_count = count;
  g_stride = stride;
  measure(name, 8 * count, 2 * g_trips, stride == 1, trips, check);
}

int main(int argc, char** argv) {
  begin(argc, argv, 4);
  g_trips = g_quick ? kTrips / 20 : kTrips;
  fill();
  row("8 B", 1, 1, trips_of_8);
  row("1 KiB", 128, 1, trips_of_1k);
  row("16 KiB", 2048, 1, trips_of_16k);
  row("1 KiB, strided", 128, 2, trips_of_strided);
  return finish();
}
