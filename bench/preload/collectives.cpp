// SPDX-License-Identifier: BSD-3-Clause
// Collectives with a vector between each two ranks, natively and with lacuna in turns, in one job:
// what the thresholds of rooms (interpose/direct/room.cpp) are taken from. Each row is a median.
//
// Usage: lacuna-bench-collectives-FAMILY [NAME ...]            under `lacuna run`, any number of
// ranks
#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string_view>
#include <vector>

namespace {

constexpr int kRuns[] = {8, 64, 512, 4096, 32768};
constexpr int kLeastBytes = 1 << 10;
constexpr int kMostBytes = 1 << 20;
constexpr double kBatchSeconds = 4e-4;
constexpr int kRounds = 15;

int g_rank = 0;
int g_size = 0;

void lacuna(bool on) {
  using Switch = void (*)(int);
  static const auto found =
      reinterpret_cast<Switch>(dlsym(RTLD_DEFAULT, "lacuna_interposed_switch"));
  if (found != nullptr) found(on ? 1 : 0);
}

// What all calls are made of: a block for each rank.
struct Data {
  MPI_Datatype type;
  std::vector<char> from, to;
  std::vector<int> ones, places, bytes;
  std::vector<MPI_Aint> far;
  std::vector<MPI_Datatype> types;

  Data(int length, int run) {
    const int step = run == length ? run : 2 * run;
    const int extent = length / run * step;
    MPI_Datatype vector;
    MPI_Type_vector(length / run, run, step, MPI_BYTE, &vector);
    MPI_Type_create_resized(vector, 0, extent, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&vector);
    from.assign(static_cast<size_t>(extent) * static_cast<size_t>(g_size), 1);
    to = from;
    for (int i = 0; i < g_size; ++i) {
      ones.push_back(1);
      places.push_back(i);
      bytes.push_back(i * extent);
      far.push_back(bytes.back());
      types.push_back(type);
    }
  }
  ~Data() { MPI_Type_free(&type); }
  Data(const Data&) = delete;
  Data& operator=(const Data&) = delete;
};

struct Case {
  const char* name;
  void (*call)(Data& d, MPI_Comm comm);
};

// Neighbourhoods are lines.
const Case kCases[] = {
    {"bcast", [](Data& d, MPI_Comm comm) { MPI_Bcast(d.from.data(), 1, d.type, 0, comm); }},
    {"gather",
     [](Data& d, MPI_Comm comm) {
       MPI_Gather(d.from.data(), 1, d.type, d.to.data(), 1, d.type, 0, comm);
     }},
    {"gatherv",
     [](Data& d, MPI_Comm comm) {
       MPI_Gatherv(d.from.data(), 1, d.type, d.to.data(), d.ones.data(), d.places.data(), d.type, 0,
                   comm);
     }},
    {"scatter",
     [](Data& d, MPI_Comm comm) {
       MPI_Scatter(d.from.data(), 1, d.type, d.to.data(), 1, d.type, 0, comm);
     }},
    {"scatterv",
     [](Data& d, MPI_Comm comm) {
       MPI_Scatterv(d.from.data(), d.ones.data(), d.places.data(), d.type, d.to.data(), 1, d.type,
                    0, comm);
     }},
    {"allgather",
     [](Data& d, MPI_Comm comm) {
       MPI_Allgather(d.from.data(), 1, d.type, d.to.data(), 1, d.type, comm);
     }},
    {"allgatherv",
     [](Data& d, MPI_Comm comm) {
       MPI_Allgatherv(d.from.data(), 1, d.type, d.to.data(), d.ones.data(), d.places.data(), d.type,
                      comm);
     }},
    {"alltoall",
     [](Data& d, MPI_Comm comm) {
       MPI_Alltoall(d.from.data(), 1, d.type, d.to.data(), 1, d.type, comm);
     }},
    {"alltoallv",
     [](Data& d, MPI_Comm comm) {
       MPI_Alltoallv(d.from.data(), d.ones.data(), d.places.data(), d.type, d.to.data(),
                     d.ones.data(), d.places.data(), d.type, comm);
     }},
    {"alltoallw",
     [](Data& d, MPI_Comm comm) {
       MPI_Alltoallw(d.from.data(), d.ones.data(), d.bytes.data(), d.types.data(), d.to.data(),
                     d.ones.data(), d.bytes.data(), d.types.data(), comm);
     }},
    {"neighbor_allgather",
     [](Data& d, MPI_Comm comm) {
       MPI_Neighbor_allgather(d.from.data(), 1, d.type, d.to.data(), 1, d.type, comm);
     }},
    {"neighbor_alltoall",
     [](Data& d, MPI_Comm comm) {
       MPI_Neighbor_alltoall(d.from.data(), 1, d.type, d.to.data(), 1, d.type, comm);
     }},
    {"neighbor_alltoallw",
     [](Data& d, MPI_Comm comm) {
       MPI_Neighbor_alltoallw(d.from.data(), d.ones.data(), d.far.data(), d.types.data(),
                              d.to.data(), d.ones.data(), d.far.data(), d.types.data(), comm);
     }},
};

// Until all ranks are through.
double seconds_of(const std::function<void()>& call, int times) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < times; ++i) call();
  MPI_Barrier(MPI_COMM_WORLD);
  return (MPI_Wtime() - start) / times;
}

double median(std::vector<double>* values) {
  std::sort(values->begin(), values->end());
  return (*values)[values->size() / 2];
}

// On a communicator of its own, that has no habits yet.
void measure(const Case& one, int length, int run, MPI_Comm topology) {
  MPI_Comm comm;
  MPI_Comm_dup(topology, &comm);
  Data data(length, run);
  const auto call = [&] { one.call(data, comm); };
  for (const bool on : {false, true}) {
    lacuna(on);
    seconds_of(call, 3);
  }
  int times = std::max(1, static_cast<int>(kBatchSeconds / seconds_of(call, 3)));
  times = std::min(times, 200);
  MPI_Bcast(&times, 1, MPI_INT, 0, MPI_COMM_WORLD);
  std::vector<double> seconds[2];
  for (int i = 0; i < 2 * kRounds; ++i) {
    const bool on = i % 2 != 0;
    lacuna(on);
    call();
    seconds[on].push_back(seconds_of(call, times));
  }
  lacuna(true);
  MPI_Comm_free(&comm);
  if (g_rank != 0) return;
  const double native = median(&seconds[0]) * 1e6, ours = median(&seconds[1]) * 1e6;
  std::printf("%-20s %8d bytes in runs of %7d: native %9.2f us, lacuna %9.2f us, %6.2f\n", one.name,
              length, run, native, ours, native / ours);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_size);
  MPI_Comm line;
  const int periodic = 0;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &g_size, &periodic, 0, &line);
  for (const Case& one : kCases) {
    const auto asked = [&](const char* name) { return std::strcmp(name, one.name) == 0; };
    if (argc > 1 && std::none_of(argv + 1, argv + argc, asked)) continue;
    const bool among_neighbors = std::string_view(one.name).starts_with("neighbor");
    for (int length = kLeastBytes; length <= kMostBytes; length *= 4) {
      for (const int run : kRuns) {
        if (2 * run <= length) measure(one, length, run, among_neighbors ? line : MPI_COMM_WORLD);
      }
      measure(one, length, length, among_neighbors ? line : MPI_COMM_WORLD);
    }
  }
  MPI_Comm_free(&line);
  MPI_Finalize();
}
