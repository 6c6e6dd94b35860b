// SPDX-License-Identifier: BSD-3-Clause
// Collectives with a vector between each two ranks, natively and with lacuna, interleaved in one
// job. `lacuna bench preload` starts it on each MPI library, and the thresholds of rooms
// (interpose/direct/rooms/room.cpp) are from its results. Ways are named as in main.cpp.
//
// Usage: lacuna-bench-collectives-FAMILY --out FILE [--seconds S] [--most BYTES] [--only
// NAME[,...]]
//          under `lacuna run`, any number of ranks; NAME: a call, or call-run/bytes
#include <mpi.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/arguments.hpp"
#include "bench/harness/job.hpp"
#include "bench/harness/json_lines.hpp"
#include "bench/preload/lines.hpp"

namespace lacuna::bench {
namespace {

constexpr const char* kProgram = "lacuna-bench-collectives";
constexpr int kLengths[] = {16, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20};
constexpr int kRuns[] = {8, 512, 4096};  // with gaps as long; and one without
constexpr double kBatchSeconds = 4e-4;
constexpr int kMostIterations = 200;
constexpr int kLeastRounds = 5;
constexpr int kMostRounds = 41;
constexpr int kMessagesToLearn = 16;  // main.cpp

struct Options {
  std::string out;
  double seconds = 0.1;           // for a row
  int most_bytes = 64 << 10;      // between two ranks
  std::vector<std::string> only;  // none: all
};

struct Way {
  const char* name;
  bool lacuna;
};
constexpr Way kWays[] = {{"nn", false}, {"nn*", false}, {"ll", true}};

int g_rank = 0;
int g_size = 0;

// The data of all calls: a block for each rank.
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
  const char* function;
  void (*call)(Data& d, MPI_Comm comm);
};

// Neighbourhoods are lines.
const Case kCases[] = {
    {"bcast", "MPI_Bcast",
     [](Data& d, MPI_Comm comm) { MPI_Bcast(d.from.data(), 1, d.type, 0, comm); }},
    {"gather", "MPI_Gather",
     [](Data& d, MPI_Comm comm) {
       MPI_Gather(d.from.data(), 1, d.type, d.to.data(), 1, d.type, 0, comm);
     }},
    {"gatherv", "MPI_Gatherv",
     [](Data& d, MPI_Comm comm) {
       MPI_Gatherv(d.from.data(), 1, d.type, d.to.data(), d.ones.data(), d.places.data(), d.type, 0,
                   comm);
     }},
    {"scatter", "MPI_Scatter",
     [](Data& d, MPI_Comm comm) {
       MPI_Scatter(d.from.data(), 1, d.type, d.to.data(), 1, d.type, 0, comm);
     }},
    {"scatterv", "MPI_Scatterv",
     [](Data& d, MPI_Comm comm) {
       MPI_Scatterv(d.from.data(), d.ones.data(), d.places.data(), d.type, d.to.data(), 1, d.type,
                    0, comm);
     }},
    {"allgather", "MPI_Allgather",
     [](Data& d, MPI_Comm comm) {
       MPI_Allgather(d.from.data(), 1, d.type, d.to.data(), 1, d.type, comm);
     }},
    {"allgatherv", "MPI_Allgatherv",
     [](Data& d, MPI_Comm comm) {
       MPI_Allgatherv(d.from.data(), 1, d.type, d.to.data(), d.ones.data(), d.places.data(), d.type,
                      comm);
     }},
    {"alltoall", "MPI_Alltoall",
     [](Data& d, MPI_Comm comm) {
       MPI_Alltoall(d.from.data(), 1, d.type, d.to.data(), 1, d.type, comm);
     }},
    {"alltoallv", "MPI_Alltoallv",
     [](Data& d, MPI_Comm comm) {
       MPI_Alltoallv(d.from.data(), d.ones.data(), d.places.data(), d.type, d.to.data(),
                     d.ones.data(), d.places.data(), d.type, comm);
     }},
    {"alltoallw", "MPI_Alltoallw",
     [](Data& d, MPI_Comm comm) {
       MPI_Alltoallw(d.from.data(), d.ones.data(), d.bytes.data(), d.types.data(), d.to.data(),
                     d.ones.data(), d.bytes.data(), d.types.data(), comm);
     }},
    {"neighbor_allgather", "MPI_Neighbor_allgather",
     [](Data& d, MPI_Comm comm) {
       MPI_Neighbor_allgather(d.from.data(), 1, d.type, d.to.data(), 1, d.type, comm);
     }},
    {"neighbor_alltoall", "MPI_Neighbor_alltoall",
     [](Data& d, MPI_Comm comm) {
       MPI_Neighbor_alltoall(d.from.data(), 1, d.type, d.to.data(), 1, d.type, comm);
     }},
    {"neighbor_alltoallw", "MPI_Neighbor_alltoallw",
     [](Data& d, MPI_Comm comm) {
       MPI_Neighbor_alltoallw(d.from.data(), d.ones.data(), d.far.data(), d.types.data(),
                              d.to.data(), d.ones.data(), d.far.data(), d.types.data(), comm);
     }},
};

// The time until all ranks have finished.
double seconds_of(const std::function<void()>& call, int times) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < times; ++i) call();
  MPI_Barrier(MPI_COMM_WORLD);
  return (MPI_Wtime() - start) / times;
}

int same_for_all(int value) {
  MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return value;
}

struct Item {
  const Case* one;
  int length;
  int run;  // as long as the length: without gaps
  std::string id() const {
    return std::string(one->name) + "-" + (run == length ? "whole" : std::to_string(run)) + "/" +
           (length < 1 << 10   ? std::to_string(length) + "B"
            : length < 1 << 20 ? std::to_string(length >> 10) + "KiB"
                               : std::to_string(length >> 20) + "MiB");
  }
};

std::vector<Item> items(const Options& options) {
  std::vector<Item> found;
  const auto add = [&](const Item& item) {
    const auto asked = [&](const std::string& name) {
      return name == item.one->name || name == item.id();
    };
    const auto& only = options.only;
    if (only.empty() || std::any_of(only.begin(), only.end(), asked)) found.push_back(item);
  };
  for (const Case& one : kCases) {
    for (const int length : kLengths) {
      if (length > options.most_bytes) continue;
      for (const int run : kRuns) {
        if (2 * run <= length) add({&one, length, run});
      }
      add({&one, length, length});
    }
  }
  return found;
}

// On a new communicator, so that no back-off from earlier calls is in effect.
void measure(const Item& item, const Options& options, MPI_Comm topology, JsonLines& out) {
  MPI_Comm comm;
  MPI_Comm_dup(topology, &comm);
  Data data(item.length, item.run);
  const auto call = [&] { item.one->call(data, comm); };
  int iterations = 1;
  for (const Way& way : kWays) {
    switch_lacuna(way.lacuna);
    seconds_of(call, kMessagesToLearn);
    const double each = seconds_of(call, 3);
    const int fit = static_cast<int>(std::min(kBatchSeconds / each, double{kMostIterations}));
    iterations = same_for_all(std::max(iterations, fit));
  }
  std::vector<double> seconds[std::size(kWays)];
  bool is_taken = false;
  const double begin = MPI_Wtime();
  for (int round = 0, more = 1; more != 0; ++round) {
    for (size_t turn = 0; turn < std::size(kWays); ++turn) {
      const size_t shifted = (turn + static_cast<size_t>(round)) % std::size(kWays);
      const size_t i = round % 2 == 0 ? shifted : std::size(kWays) - 1 - shifted;
      switch_lacuna(kWays[i].lacuna);
      call();
      const int64_t before = taken(item.one->function);
      seconds[i].push_back(seconds_of(call, iterations));
      if (kWays[i].lacuna) is_taken = taken(item.one->function) > before;
    }
    more = round + 1 < kLeastRounds ||
           (MPI_Wtime() - begin < options.seconds && round + 1 < kMostRounds);
    more = same_for_all(more);
  }
  switch_lacuna(true);
  MPI_Comm_free(&comm);
  out.write("{\"kind\": \"row\", \"id\": " + json_string(item.id()) +
            ", \"bytes\": " + std::to_string(item.length) +
            ", \"contiguous\": " + truth(item.run == item.length) + "}");
  for (size_t i = 0; i < std::size(kWays); ++i) {
    const std::string about = ", \"taken\": " + truth(kWays[i].lacuna && is_taken);
    out.write(times_line(item.id(), kWays[i].name, about, iterations, seconds[i]));
  }
}

Options parse(int argc, char** argv) {
  Options options;
  const auto fail = [](const std::string& what) { fail_job(kProgram, what); };
  const auto names = [&](const std::string& value) {
    for (size_t at = 0; at <= value.size();) {
      const size_t end = std::min(value.find(',', at), value.size());
      options.only.push_back(value.substr(at, end - at));
      at = end + 1;
    }
  };
  read_arguments(argc, argv,
                 {text_argument("--out", options.out),
                  seconds_argument("--seconds", options.seconds),
                  count_argument("--most", options.most_bytes),
                  {"--only", names}},
                 fail);
  if (options.out.empty()) fail("--out FILE is needed");
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_size);
  const Options options = parse(argc, argv);
  const std::vector<Item> all = items(options);
  if (all.empty()) fail_job(kProgram, "no such call or row in --only");
  JsonLines out;
  if (g_rank == 0 && !out.open(options.out))
    fail_job(kProgram, "cannot write " + options.out + ": " + std::strerror(errno));
  out.write(header_line(all.size(), ""));
  MPI_Comm line;
  const int periodic = 0;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &g_size, &periodic, 0, &line);
  for (const Item& item : all) {
    const bool among_neighbors = std::string_view(item.one->name).starts_with("neighbor");
    measure(item, options, among_neighbors ? line : MPI_COMM_WORLD, out);
  }
  MPI_Comm_free(&line);
  out.write(kEndLine);
  MPI_Finalize();
  return 0;
}

}  // namespace lacuna::bench

int main(int argc, char** argv) { return lacuna::bench::main(argc, argv); }
