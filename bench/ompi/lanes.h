// SPDX-License-Identifier: BSD-3-Clause
//
// Shared by the programs of Ogawa & Matsuoka 1996: the lanes (variants) that run interleaved in one
// binary, their timing, and the lines that `lacuna bench papers` reads.
//
// Usage: PROGRAM --out FILE --lane NAME [--rounds N] [--quick 0|1]                       (2 ranks)
//
// If kept_requests.c is preloaded, the lanes are `generic` and `cache`; else there is one, called
// NAME.
#ifndef LACUNA_BENCH_OMPI_LANES_H_
#define LACUNA_BENCH_OMPI_LANES_H_

#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int g_rank;
static int g_quick;
static int g_rounds = 5;
static const char* g_lane = "generic";
static FILE* g_out;
static void (*g_switch)(int);

// In an additional round, the time in MPI calls is measured.
static int g_counts_mpi;
static double g_mpi_seconds;
#define IN_MPI(call)                                                \
  do {                                                              \
    const double begin_of_call = g_counts_mpi ? MPI_Wtime() : 0;    \
    call;                                                           \
    if (g_counts_mpi) g_mpi_seconds += MPI_Wtime() - begin_of_call; \
  } while (0)

static void fail(const char* what) {
  fprintf(stderr, "lacuna-bench-ompi: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
  abort();
}

static void begin(int argc, char** argv, int rows) {
  MPI_Init(&argc, &argv);
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* out = NULL;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--out") == 0) out = argv[i + 1];
    if (strcmp(argv[i], "--lane") == 0) g_lane = argv[i + 1];
    if (strcmp(argv[i], "--rounds") == 0) g_rounds = atoi(argv[i + 1]);
    if (strcmp(argv[i], "--quick") == 0) g_quick = atoi(argv[i + 1]);
  }
  if (out == NULL || ranks != 2 || g_rounds < 1) fail("--out FILE and two ranks are needed");
  *(void**)&g_switch = dlsym(RTLD_DEFAULT, "kept_requests_switch");
  if (g_rank != 0) return;
  g_out = fopen(out, "w");
  if (g_out == NULL) fail("cannot write --out");
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);
  version[strcspn(version, "\n,\"\\")] = '\0';
  for (char* c = version; *c != '\0'; ++c) {
    if (*c == '\t') *c = ' ';
  }
  fprintf(g_out, "{\"kind\":\"header\",\"rows\":%d,\"has_cache\":%s,\"mpi_library\":\"%s\",", rows,
          g_switch != NULL ? "true" : "false", version);
#if defined(__clang__)
  fprintf(g_out, "\"compiler\":\"clang %s\"}\n", __clang_version__);
#else
  fprintf(g_out, "\"compiler\":\"gcc %s\"}\n", __VERSION__);
#endif
}

static int finish(void) {
  if (g_rank == 0) {
    fprintf(g_out, "{\"kind\":\"end\"}\n");
    fclose(g_out);
  }
  MPI_Finalize();
  return 0;
}

// Times one run of `work`, whose result `check` verifies.
static double time_once(void (*work)(void), int (*check)(void)) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  work();
  MPI_Barrier(MPI_COMM_WORLD);
  const double seconds = MPI_Wtime() - start;
  if (!check()) fail("wrong result");
  return seconds;
}

// All lanes, interleaved. A sample is the time of `work`, divided by `units`.
static void measure(const char* name, int bytes, int units, int may_be_cached, void (*work)(void),
                    int (*check)(void)) {
  const int lanes = g_switch != NULL && may_be_cached ? 2 : 1;
  for (int round = 0; round <= g_rounds + 1; ++round) {
    for (int lane = 0; lane < lanes; ++lane) {
      const char* lane_name = g_switch == NULL ? g_lane : lane == 1 ? "cache" : "generic";
      MPI_Barrier(MPI_COMM_WORLD);
      if (g_switch != NULL) g_switch(lane);
      g_counts_mpi = round > g_rounds;
      g_mpi_seconds = 0;
      const double seconds = time_once(work, check);
      if (g_switch != NULL) g_switch(1);
      if (g_rank != 0 || round == 0) continue;  // the first is for the caches
      if (round <= g_rounds) {
        fprintf(g_out,
                "{\"kind\":\"sample\",\"id\":\"%s\",\"lane\":\"%s\",\"bytes\":%d,\"s\":%.9g}\n",
                name, lane_name, bytes, seconds / units);
      } else {
        fprintf(g_out, "{\"kind\":\"in_mpi\",\"id\":\"%s\",\"lane\":\"%s\",\"share\":%.4f}\n", name,
                lane_name, g_mpi_seconds / seconds);
      }
      fflush(g_out);
    }
  }
  if (g_rank == 0) fprintf(g_out, "{\"kind\":\"row\",\"id\":\"%s\"}\n", name);
}

#endif  // LACUNA_BENCH_OMPI_LANES_H_
