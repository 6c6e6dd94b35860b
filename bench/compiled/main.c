// SPDX-License-Identifier: BSD-3-Clause
//
// Times the exchanges of sites.c, which `lacuna bench compiled` and `lacuna tune --compiled`
// compile and start (python/lacuna/compiler/bench_program.py).
//
// Usage: PROGRAM --out FILE --rows FILE [--samples N] [--seconds S]                      (2 ranks)
//
// A row: ID KIND N BYTES LANE,LANE,... Lanes: `native` (plainly compiled), `by_hand`, and by
// lacuna-cc two letters: whether sends (the first) and receives are its own (s) or left to the
// library (n); g: own sends that leave a gap in the packed data; c: receives without gaps. Lanes
// run interleaved; the data of each are compared with those of `native` first.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sites.h"

enum { kMostLanes = 12, kMostLine = 512 };

static int g_rank;
static FILE* g_out;

static void fail(const char* what, const char* where) {
  fprintf(stderr, "lacuna-bench-compiled: %s: %s\n", what, where);
  MPI_Abort(MPI_COMM_WORLD, 1);
  abort();
}

static void* memory(size_t bytes) {
  void* made = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (made == NULL) fail("no memory", "a row");
  memset(made, 0, bytes);
  return made;
}

// Word by word: byte by byte it took longer than the messages. `bytes`: at least a word.
static unsigned long long sum_of(const char* data, size_t bytes) {
  unsigned long long sum = 14695981039346656037ull, word;
  for (size_t i = 0; i + sizeof word <= bytes; i += sizeof word) {
    memcpy(&word, data + i, sizeof word);
    sum = (sum ^ word) * 1099511628211ull;
    sum ^= sum >> 32;  // so that differences in a word's last bytes are not lost
  }
  memcpy(&word, data + bytes - sizeof word, sizeof word);  // the rest, with some bytes again
  return (sum ^ word) * 1099511628211ull;
}

static Run* find(const struct Site* sites, const char* kind, int by_hand) {
  for (; sites->kind != NULL; ++sites) {
    if (strcmp(sites->kind, kind) == 0) return by_hand ? sites->by_hand : sites->derived;
  }
  return NULL;
}

static double run(const char* kind, const char* lane, struct Trip trip, int rounds) {
  const int is_by_hand = strcmp(lane, "by_hand") == 0;
  const int is_ours = strlen(lane) == 2;
  const struct Site* ours = lane[0] == 'g' ? g_sites_apart : g_sites_ours;
  Run* found = find(is_ours ? ours : g_sites_plain, kind, is_by_hand);
  if (found == NULL) fail("no such site", kind);
  trip.rounds = rounds;
  trip.plain_send = is_ours && lane[0] == 'n';
  trip.plain_receive = is_ours && lane[1] == 'n';
  trip.receives_packed = is_ours && lane[1] == 'c';
  MPI_Barrier(MPI_COMM_WORLD);
  return found(&trip);
}

// A random list of offsets, each with room for four doubles.
static int* shuffled(int n) {
  int* list = memory((size_t)n * sizeof(int) + 1);
  for (int i = 0; i < n; ++i) list[i] = i * 4;
  unsigned seed = 1;
  for (int i = n - 1; i > 0; --i) {
    seed = seed * 1664525u + 1013904223u;
    const int j = (int)(seed % (unsigned)(i + 1));
    const int one = list[i];
    list[i] = list[j];
    list[j] = one;
  }
  return list;
}

static void row(const char* id, const char* kind, int n, int bytes, char* lanes, int samples,
                double seconds) {
  const int is_plane = strncmp(kind, "plane", 5) == 0;
  const struct Plane plane = plane_of(n, bytes / n / (int)sizeof(double));
  const size_t blocks = is_plane ? (size_t)plane.side * plane.row * sizeof(double) : (size_t)n * 96;
  const size_t span = blocks + (size_t)bytes * 2 + 4096;
  int* list = shuffled(n);
  struct Trip trip = {memory(span),
                      memory(span),
                      memory(2 * (size_t)bytes + 64),
                      list,
                      n,
                      1,
                      1 - g_rank,
                      g_rank == 0,
                      0,
                      0,
                      0};
  for (size_t i = 0; i < span; ++i)
    trip.sent[i] = (char)((i * 2654435761u + (unsigned)g_rank * 977u) >> 13);
  const char* names[kMostLanes];
  int count = 0;
  for (char* one = strtok(lanes, ","); one != NULL && count < kMostLanes; one = strtok(NULL, ","))
    names[count++] = one;
  unsigned long long wanted = 0;
  for (int i = -1; i < count; ++i) {
    memset(trip.got, 0, span);
    run(kind, i < 0 ? "native" : names[i], trip, 1);
    const unsigned long long sum = sum_of(trip.got, span);
    if (i < 0) wanted = sum;
    if (sum != wanted) fail("other bytes than MPI's arrive", id);
  }
  int rounds = 1;
  for (;;) {  // as many rounds as fit into a sample's time, in the slowest lane
    double took = 0;
    for (int i = 0; i < count; ++i) {
      const double lane = run(kind, names[i], trip, rounds);
      if (lane > took) took = lane;
    }
    MPI_Bcast(&took, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    const double enough = seconds / (samples * count);
    if (took >= enough / 2 || rounds >= 1 << 20) break;
    const double more = took > 0 ? enough / took : 16;
    rounds = (int)(rounds * (more > 16 ? 16 : more < 2 ? 2 : more));
  }
  for (int sample = 0; sample < samples; ++sample) {
    for (int i = 0; i < count; ++i) {
      const double took = run(kind, names[i], trip, rounds) / rounds;
      if (g_rank == 0) {
        fprintf(g_out, "{\"kind\":\"sample\",\"id\":\"%s\",\"lane\":\"%s\",\"s\":%.9g}\n", id,
                names[i], took);
      }
    }
  }
  if (g_rank == 0) {
    fprintf(g_out, "{\"kind\":\"row\",\"id\":\"%s\"}\n", id);
    fflush(g_out);
  }
  free(trip.sent);
  free(trip.got);
  free(trip.packed);
  free(list);
}

static void start(const char* path, int rows) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  g_out = fopen(path, "w");
  if (g_out == NULL) fail("cannot write", path);
  MPI_Get_library_version(version, &length);
  version[strcspn(version, "\n,\"\\")] = '\0';
  for (char* c = version; *c != '\0'; ++c) {
    if (*c == '\t') *c = ' ';
  }
  fprintf(g_out, "{\"kind\":\"header\",\"rows\":%d,\"mpi_library\":\"%s\",\"compiler\":\"%s\"}\n",
          rows, version, "clang " __clang_version__);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int ranks = 0, samples = 5;
  double seconds = 0.2;
  const char *out = NULL, *rows = NULL;
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--out") == 0) out = argv[i + 1];
    if (strcmp(argv[i], "--rows") == 0) rows = argv[i + 1];
    if (strcmp(argv[i], "--samples") == 0) samples = atoi(argv[i + 1]);
    if (strcmp(argv[i], "--seconds") == 0) seconds = atof(argv[i + 1]);
  }
  FILE* file = rows == NULL ? NULL : fopen(rows, "r");
  if (file == NULL || out == NULL || ranks != 2 || samples < 1)
    fail("--out FILE, --rows FILE and two ranks are needed", "arguments");
  char line[kMostLine], id[128], kind[64], lanes[64];
  int n = 0, bytes = 0, count = 0;
  while (fgets(line, sizeof line, file) != NULL) ++count;
  rewind(file);
  if (g_rank == 0) start(out, count);
  while (fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "%127s %63s %d %d %63s", id, kind, &n, &bytes, lanes) != 5)
      fail("not a row", line);
    row(id, kind, n, bytes, lanes, samples, seconds);
  }
  fclose(file);
  if (g_rank == 0) {
    fprintf(g_out, "{\"kind\":\"end\"}\n");
    fclose(g_out);
  }
  MPI_Finalize();
  return 0;
}
