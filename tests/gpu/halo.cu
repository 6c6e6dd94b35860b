// SPDX-License-Identifier: BSD-3-Clause
//
// lacuna-gpu-halo-FAMILY: two ranks on one device exchange the three faces of a cube of doubles in
// device memory, in three ways:
//
//   types     derived types and device addresses; lacuna must be preloaded (or the MPI library must
//             know devices)
//   blocks    a cudaMemcpyAsync for each run, to and from pinned memory; of faces with more than
//             kMostCopies runs that many are timed, and the time is scaled up ("scaled": 1)
//   by hand   a kernel packs to pinned memory, the same call with contiguous data, a kernel unpacks
//
// The call is MPI_Sendrecv, or MPI_Alltoallw (`--call alltoallw`). Each way is checked first, with
// all bytes of the cube compared. Then they take turns. Rank 0 prints a line for each face and way,
// and writes the same as JSON.
//
//   lacuna-gpu-halo-FAMILY [--size N] [--rounds N] [--call sendrecv|alltoallw] [--json FILE]
#include <cuda_runtime.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr long kMostCopies = 4096;
constexpr int kTag = 3;

int g_rank = 0;
long g_n = 512;
double* g_cube = nullptr;
double* g_pinned[2] = {nullptr, nullptr};  // sent, received
cudaStream_t g_stream;
bool g_is_collective = false;

void need(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "lacuna-gpu-halo: rank %d: %s: %s\n", g_rank, what,
               cudaGetErrorString(error));
  MPI_Abort(MPI_COMM_WORLD, 3);
}

// A face: `runs` runs of `length` doubles, `stride` apart. The inner one is sent, the outer one
// received.
struct Face {
  const char* name;
  long runs, length, stride;
  long inner, outer;  // of the first run
  MPI_Datatype type;
  long bytes() const { return runs * length * 8; }
};

__host__ __device__ double value(int rank, long place) {
  return static_cast<double>(place) + 0.25 * rank;
}

__global__ void fill(double* cube, long count, int rank) {
  const long step = static_cast<long>(gridDim.x) * blockDim.x;
  for (long i = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    cube[i] = value(rank, i);
}

template <bool kPack>
__global__ void move(double* face, double* packed, long runs, long length, long stride) {
  const long all = runs * length, step = static_cast<long>(gridDim.x) * blockDim.x;
  for (long i = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x; i < all; i += step) {
    const unsigned run = static_cast<unsigned>(i) / static_cast<unsigned>(length);
    double* const there = face + run * stride + (i - run * length);
    if (kPack)
      packed[i] = *there;
    else
      *there = packed[i];
  }
}

template <bool kPack>
void move_by_kernel(const Face& face, long place, double* packed) {
  const int blocks = static_cast<int>(std::min<long>((face.runs * face.length + 255) / 256, 1024));
  move<kPack>
      <<<blocks, 256, 0, g_stream>>>(g_cube + place, packed, face.runs, face.length, face.stride);
  need(cudaGetLastError(), "launch");
  need(cudaStreamSynchronize(g_stream), "kernel");
}

void exchange(const double* out, double* in, int count, MPI_Datatype type) {
  if (!g_is_collective) {
    MPI_Sendrecv(out, count, type, 1 - g_rank, kTag, in, count, type, 1 - g_rank, kTag,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return;
  }
  const int counts[] = {g_rank == 0 ? 0 : count, g_rank == 0 ? count : 0}, places[] = {0, 0};
  const MPI_Datatype types[] = {type, type};
  MPI_Alltoallw(out, counts, places, types, in, counts, places, types, MPI_COMM_WORLD);
}

void exchange_packed(const Face& face) {
  exchange(g_pinned[0], g_pinned[1], static_cast<int>(face.runs * face.length), MPI_DOUBLE);
}

void by_types(const Face& face) {
  exchange(g_cube + face.inner, g_cube + face.outer, 1, face.type);
}

void by_hand(const Face& face) {
  move_by_kernel<true>(face, face.inner, g_pinned[0]);
  exchange_packed(face);
  move_by_kernel<false>(face, face.outer, g_pinned[1]);
}

// `runs`: how many are copied.
void copy_blocks(const Face& face, long runs, bool packs) {
  const size_t bytes = static_cast<size_t>(face.length) * 8;
  for (long i = 0; i < runs; ++i) {
    double* const there = g_cube + (packs ? face.inner : face.outer) + i * face.stride;
    double* const packed = g_pinned[packs ? 0 : 1] + i * face.length;
    need(cudaMemcpyAsync(packs ? packed : there, packs ? there : packed, bytes, cudaMemcpyDefault,
                         g_stream),
         "copy");
  }
  need(cudaStreamSynchronize(g_stream), "copies");
}

void by_blocks(const Face& face) {
  copy_blocks(face, face.runs, true);
  exchange_packed(face);
  copy_blocks(face, face.runs, false);
}

// Seconds for a whole exchange, of which perhaps a part of the copies was timed.
double time_blocks(const Face& face) {
  const long runs = std::min(face.runs, kMostCopies);
  const double scale = static_cast<double>(face.runs) / static_cast<double>(runs);
  const double begin = MPI_Wtime();
  copy_blocks(face, runs, true);
  const double packed = MPI_Wtime();
  exchange_packed(face);
  const double exchanged = MPI_Wtime();
  copy_blocks(face, runs, false);
  return scale * (packed - begin + MPI_Wtime() - exchanged) + (exchanged - packed);
}

void fill_cube() {
  fill<<<1024, 256, 0, g_stream>>>(g_cube, g_n * g_n * g_n, g_rank);
  need(cudaStreamSynchronize(g_stream), "fill");
}

// Whether all of the cube is as it must be after one exchange of this face.
bool is_right(const Face& face, std::vector<double>* host) {
  const long count = g_n * g_n * g_n;
  need(cudaMemcpy(host->data(), g_cube, static_cast<size_t>(count) * 8, cudaMemcpyDeviceToHost),
       "read");
  for (long run = 0; run < face.runs; ++run) {
    for (long i = 0; i < face.length; ++i) {
      const long shift = run * face.stride + i;
      double* const there = host->data() + face.outer + shift;
      if (*there != value(1 - g_rank, face.inner + shift)) return false;
      *there = value(g_rank, face.outer + shift);
    }
  }
  for (long i = 0; i < count; ++i)
    if ((*host)[static_cast<size_t>(i)] != value(g_rank, i)) return false;
  return true;
}

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 30;
  std::string json;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--size") == 0) g_n = std::atol(argv[i + 1]);
    if (std::strcmp(argv[i], "--rounds") == 0) rounds = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--call") == 0)
      g_is_collective = std::strcmp(argv[i + 1], "alltoallw") == 0;
    if (std::strcmp(argv[i], "--json") == 0) json = argv[i + 1];
  }
  MPI_Init(&argc, &argv);
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != 2 || g_n < 4 || rounds < 1) {
    std::fprintf(stderr,
                 "lacuna-gpu-halo: needs two ranks, --size 4 or more, --rounds 1 or more\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const long n = g_n;
  need(cudaSetDevice(0), "device");
  need(cudaStreamCreateWithFlags(&g_stream, cudaStreamNonBlocking), "stream");
  need(cudaMalloc(reinterpret_cast<void**>(&g_cube), static_cast<size_t>(n * n * n) * 8), "memory");
  for (double*& pinned : g_pinned)
    need(cudaMallocHost(reinterpret_cast<void**>(&pinned), static_cast<size_t>(n * n) * 8),
         "pinned memory");
  Face faces[] = {{"z: one run", 1, n * n, n * n, n * n, 0, MPI_DATATYPE_NULL},
                  {"y: runs of a row", n, n, n * n, n, 0, MPI_DATATYPE_NULL},
                  {"x: runs of 8 bytes", n * n, 1, n, 1, 0, MPI_DATATYPE_NULL}};
  for (Face& face : faces) {
    MPI_Type_vector(static_cast<int>(face.runs), static_cast<int>(face.length),
                    static_cast<int>(face.stride), MPI_DOUBLE, &face.type);
    MPI_Type_commit(&face.type);
  }
  struct Way {
    const char* name;
    void (*exchange)(const Face&);
  };
  const Way ways[] = {{"types", by_types}, {"blocks", by_blocks}, {"by hand", by_hand}};
  constexpr int kWays = 3;

  int wrong = 0;
  {
    std::vector<double> host(static_cast<size_t>(n * n * n));
    for (const Face& face : faces) {
      for (const Way& way : ways) {
        fill_cube();
        MPI_Barrier(MPI_COMM_WORLD);
        way.exchange(face);
        const bool ok = is_right(face, &host);
        if (!ok) {
          std::fprintf(stderr, "lacuna-gpu-halo: rank %d: wrong values: %s, %s\n", g_rank,
                       face.name, way.name);
          ++wrong;
        }
      }
    }
  }
  int all_wrong = 0;
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(library, &length);
  for (char* c = library; *c != '\0'; ++c)
    if (*c == '\n' || *c == '\t' || *c == '"' || *c == ',') *c = *c == '\t' ? ' ' : '\0';
  cudaDeviceProp device{};
  need(cudaGetDeviceProperties(&device, 0), "properties");

  const char* const call = g_is_collective ? "Alltoallw" : "Sendrecv";
  FILE* const out = g_rank == 0 && !json.empty() ? std::fopen(json.c_str(), "w") : nullptr;
  if (g_rank == 0)
    std::printf("%s, %s, MPI_%s, %ld^3 doubles, %d rounds, medians in microseconds, %d wrong\n",
                library, device.name, call, n, rounds, all_wrong);
  if (out != nullptr)
    std::fprintf(out,
                 "{\"library\": \"%s\", \"device\": \"%s\", \"call\": \"%s\", \"size\": %ld, "
                 "\"rounds\": %d, \"wrong\": %d, \"rows\": [",
                 library, device.name, call, n, rounds, all_wrong);
  const char* separator = "";
  for (const Face& face : faces) {
    std::vector<double> times[kWays];
    for (int round = -3; round < rounds; ++round) {
      for (int way = 0; way < kWays; ++way) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = MPI_Wtime();
        double seconds = 0;
        if (way == 1) {
          seconds = time_blocks(face);
        } else {
          ways[way].exchange(face);
          seconds = MPI_Wtime() - begin;
        }
        double slower = 0;
        MPI_Allreduce(&seconds, &slower, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (round >= 0) times[way].push_back(slower * 1e6);
      }
    }
    const double lacuna = median(times[0]);
    for (int way = 0; way < kWays && g_rank == 0; ++way) {
      const bool is_scaled = way == 1 && face.runs > kMostCopies;
      const double us = median(times[way]);
      std::printf("  %-20s %9ld bytes  %-8s %12.1f us%s  %.2f of types\n", face.name, face.bytes(),
                  ways[way].name, us, is_scaled ? " (scaled up)" : "", us / lacuna);
      if (out == nullptr) continue;
      std::fprintf(out,
                   "%s\n  {\"face\": \"%s\", \"bytes\": %ld, \"runs\": %ld, \"way\": \"%s\", "
                   "\"median_us\": %.2f, \"scaled\": %d, \"us\": [",
                   separator, face.name, face.bytes(), face.runs, ways[way].name, us,
                   is_scaled ? 1 : 0);
      for (size_t i = 0; i < times[way].size(); ++i)
        std::fprintf(out, "%s%.2f", i == 0 ? "" : ", ", times[way][i]);
      std::fprintf(out, "]}");
      separator = ",";
    }
  }
  if (out != nullptr) {
    std::fprintf(out, "\n]}\n");
    std::fclose(out);
  }
  for (Face& face : faces) MPI_Type_free(&face.type);
  MPI_Finalize();
  return all_wrong == 0 ? 0 : 1;
}
