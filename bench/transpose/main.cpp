// SPDX-License-Identifier: BSD-3-Clause
// The matrix transpose of [Byna2003], figures 6 and 7: rank 0 sends an n x n matrix of doubles
// column by column with a derived type, rank 1 receives it contiguously and sends it back the same
// way; half the round trip is one transfer. And on rank 0 alone: MPI_Pack and MPI_Unpack of the
// same type against memcpy of the same bytes.
//
// All methods run interleaved in this one job, because two launches of one program can differ by
// more than the methods do. switch_lacuna() switches lacuna off and on; without the preload, its
// rows are left out. Every method's result is checked, element by element, before anything is
// timed.
//
// Usage: lacuna-bench-transpose-FAMILY --out FILE --n N[,N...] [--repetitions R]      (two ranks)
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bench/harness/arguments.hpp"
#include "bench/harness/job.hpp"
#include "bench/harness/json_lines.hpp"

namespace lacuna::bench {
namespace {

constexpr double kMinSampleSeconds =
    2e-3;  // shorter ones are repeated, so that clock and barrier do not matter
constexpr int kMaxIterations = 10000;
constexpr int kMaxN = 16383;  // MPI_Pack counts bytes in an int
constexpr int kTag = 1;

constexpr const char* kProgram = "lacuna-bench-transpose";
[[noreturn]] void fail(const std::string& what) { fail_job(kProgram, what); }

// The memory of a rank for one n. The constructors fill it, so that every page is touched before it
// is timed.
struct Matrices {
  explicit Matrices(int order)
      : n(order),
        elements(static_cast<size_t>(order) * static_cast<size_t>(order)),
        source(elements),
        received(elements, -1.0) {
    for (size_t i = 0; i < elements; ++i) source[i] = static_cast<double>(i);
    MPI_Datatype column;
    MPI_Type_vector(n, 1, n, MPI_DOUBLE, &column);
    MPI_Datatype next_column;
    MPI_Type_create_resized(column, 0, sizeof(double), &next_column);
    MPI_Type_contiguous(n, next_column, &transposed);
    MPI_Type_commit(&transposed);
    MPI_Type_free(&next_column);
    MPI_Type_free(&column);
    int bound = 0;
    MPI_Pack_size(1, transposed, MPI_COMM_WORLD, &bound);
    packed.assign(std::max(elements, static_cast<size_t>(bound) / sizeof(double) + 1), -1.0);
  }
  ~Matrices() { MPI_Type_free(&transposed); }
  Matrices(const Matrices&) = delete;
  Matrices& operator=(const Matrices&) = delete;

  [[nodiscard]] int count() const { return static_cast<int>(elements); }
  [[nodiscard]] size_t bytes() const { return elements * sizeof(double); }
  [[nodiscard]] int packed_bytes() const {
    return static_cast<int>(packed.size() * sizeof(double));
  }

  int n;
  size_t elements;
  std::vector<double> source;    // element i is i
  std::vector<double> received;  // where messages arrive, and where MPI_Unpack writes
  std::vector<double> packed;
  MPI_Datatype transposed = MPI_DATATYPE_NULL;
};

// Packing as a user writes it.
void pack_by_hand(const double* matrix, int order, double* packed) {
  const auto n = static_cast<size_t>(order);
  for (size_t column = 0; column < n; ++column) {
    for (size_t row = 0; row < n; ++row) packed[column * n + row] = matrix[row * n + column];
  }
}

enum class Way { kNative, kLacuna, kByHand, kContiguous, kPack, kUnpack, kPackByHand, kMemcpy };

struct Method {
  const char* name;
  Way way;
  bool lacuna;     // MPI_Pcontrol(1) while it runs
  bool ping_pong;  // else on rank 0 alone
};

constexpr Method kMethods[] = {
    {"native", Way::kNative, false, true},
    {"lacuna", Way::kLacuna, true, true},
    {"by_hand", Way::kByHand, false, true},
    {"contiguous", Way::kContiguous, false, true},
    {"pack_native", Way::kPack, false, false},
    {"pack_lacuna", Way::kPack, true, false},
    {"unpack_native", Way::kUnpack, false, false},
    {"unpack_lacuna", Way::kUnpack, true, false},
    {"pack_by_hand", Way::kPackByHand, false, false},
    {"memcpy", Way::kMemcpy, false, false},
};

void send(Way way, const double* matrix, Matrices& m, int peer) {
  switch (way) {
    case Way::kNative:
    case Way::kLacuna:
      MPI_Send(matrix, 1, m.transposed, peer, kTag, MPI_COMM_WORLD);
      return;
    case Way::kByHand:
      pack_by_hand(matrix, m.n, m.packed.data());
      MPI_Send(m.packed.data(), m.count(), MPI_DOUBLE, peer, kTag, MPI_COMM_WORLD);
      return;
    default:
      MPI_Send(matrix, m.count(), MPI_DOUBLE, peer, kTag, MPI_COMM_WORLD);
      return;
  }
}

// There and back: rank 1 sends what it received, so that rank 0 gets its own matrix again.
void round_trip(Way way, Matrices& m, int rank) {
  if (rank == 0) {
    send(way, m.source.data(), m, 1);
    MPI_Recv(m.received.data(), m.count(), MPI_DOUBLE, 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(m.received.data(), m.count(), MPI_DOUBLE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    send(way, m.received.data(), m, 0);
  }
}

void run_alone(Way way, Matrices& m) {
  int position = 0;
  switch (way) {
    case Way::kPack:
      MPI_Pack(m.source.data(), 1, m.transposed, m.packed.data(), m.packed_bytes(), &position,
               MPI_COMM_WORLD);
      return;
    case Way::kUnpack:
      MPI_Unpack(m.packed.data(), m.packed_bytes(), &position, m.received.data(), 1, m.transposed,
                 MPI_COMM_WORLD);
      return;
    case Way::kPackByHand:
      pack_by_hand(m.source.data(), m.n, m.packed.data());
      return;
    default:
      std::memcpy(m.packed.data(), m.source.data(), m.bytes());
      // Keeps the compiler from removing the copy.
      asm volatile("" : : "r"(m.packed.data()) : "memory");
      return;
  }
}

// Rank 1 sleeps while rank 0 works alone: a spinning neighbour takes cycles from the same core.
void wait_for_peer(int rank) {
  if (rank == 0) {
    MPI_Send(nullptr, 0, MPI_BYTE, 1, kTag, MPI_COMM_WORLD);
    return;
  }
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(nullptr, 0, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, &request);
  for (int done = 0; done == 0;) {
    usleep(200);
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  }
}

// Seconds of one transfer (half a round trip) or of one packing, over `iterations`; valid on rank
// 0.
double time_once(const Method& method, Matrices& m, int rank, int iterations) {
  using Clock = std::chrono::steady_clock;
  switch_lacuna(method.lacuna);
  MPI_Barrier(MPI_COMM_WORLD);
  const auto begin = Clock::now();
  if (method.ping_pong) {
    for (int i = 0; i < iterations; ++i) round_trip(method.way, m, rank);
  } else if (rank == 0) {
    for (int i = 0; i < iterations; ++i) run_alone(method.way, m);
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count() / iterations;
  if (!method.ping_pong) wait_for_peer(rank);
  return method.ping_pong ? seconds / 2 : seconds;
}

// Element i must be i, or its mirror image.
void check(const std::vector<double>& values, bool is_transposed, const Matrices& m,
           const char* method) {
  const auto n = static_cast<size_t>(m.n);
  for (size_t i = 0; i < m.elements; ++i) {
    const auto expected = static_cast<double>(is_transposed ? (i % n) * n + i / n : i);
    if (values[i] != expected) {
      fail("wrong data from " + std::string(method) + " at n = " + std::to_string(m.n) +
           ", element " + std::to_string(i) + ": " + std::to_string(values[i]) + ", expected " +
           std::to_string(expected));
    }
  }
}

void verify(const Method& method, Matrices& m, int rank) {
  std::fill(m.received.begin(), m.received.end(), -1.0);
  if (method.way != Way::kUnpack) {
    std::fill(m.packed.begin(), m.packed.end(), -1.0);
  } else {
    pack_by_hand(m.source.data(), m.n, m.packed.data());
  }
  (void)time_once(method, m, rank, 1);
  const bool is_contiguous = method.way == Way::kContiguous;
  if (method.ping_pong) {
    check(m.received, rank == 1 && !is_contiguous, m, method.name);
  } else if (rank == 0) {
    if (method.way == Way::kUnpack) {
      check(m.received, false, m, method.name);
    } else {
      check(m.packed, method.way != Way::kMemcpy, m, method.name);
    }
  }
}

// Enough for a stable median in a minute or two for all sizes together.
int default_repetitions(int n) { return n <= 512 ? 41 : n <= 1024 ? 25 : n <= 2048 ? 13 : 7; }

struct Options {
  std::string out;
  std::vector<int> orders;
  int repetitions = 0;  // 0: by size
};

void run(const Options& options, const std::vector<Method>& methods, int rank, JsonLines& out) {
  for (const int n : options.orders) {
    Matrices m(n);
    std::vector<int> iterations;
    for (const Method& method : methods) {
      verify(method, m, rank);
      const double seconds = time_once(method, m, rank, 1);
      int wanted = static_cast<int>(
          std::clamp(std::ceil(kMinSampleSeconds / seconds), 1.0, double{kMaxIterations}));
      MPI_Bcast(&wanted, 1, MPI_INT, 0, MPI_COMM_WORLD);
      iterations.push_back(wanted);
    }
    const int repetitions = options.repetitions > 0 ? options.repetitions : default_repetitions(n);
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      for (size_t turn = 0; turn < methods.size(); ++turn) {
        // Each repetition begins with another method, and every second one goes backwards, so that
        // no method always follows the same one.
        const size_t shifted = (turn + static_cast<size_t>(repetition)) % methods.size();
        const size_t index = repetition % 2 == 0 ? shifted : methods.size() - 1 - shifted;
        const double seconds = time_once(methods[index], m, rank, iterations[index]);
        char line[256];
        std::snprintf(line, sizeof line,
                      "{\"kind\": \"sample\", \"n\": %d, \"method\": \"%s\", \"repetition\": %d, "
                      "\"iterations\": %d, "
                      "\"seconds\": %.9e}",
                      n, methods[index].name, repetition, iterations[index], seconds);
        out.write(line);
      }
    }
  }
}

std::string header(const Options& options, const std::vector<Method>& methods, bool loaded) {
  long samples = 0;
  for (const int n : options.orders) {
    samples += static_cast<long>(methods.size()) *
               (options.repetitions > 0 ? options.repetitions : default_repetitions(n));
  }
  return "{\"kind\": \"header\", \"mpi_library\": " + json_string(mpi_library()) +
         ", \"lacuna_loaded\": " + (loaded ? "true" : "false") +
         ", \"compiler\": " + json_string(__VERSION__) +
         ", \"samples\": " + std::to_string(samples) + "}";
}

// "512,1024"
std::vector<int> orders(const std::string& list) {
  std::vector<int> found;
  for (const char* at = list.c_str(); *at != '\0';) {
    char* end = nullptr;
    const long n = std::strtol(at, &end, 10);
    if (end == at || n < 1 || n > kMaxN)
      fail("--n " + list + ": 1 to " + std::to_string(kMaxN) + " each");
    found.push_back(static_cast<int>(n));
    at = *end == ',' ? end + 1 : end;
  }
  return found;
}

Options parse(int argc, char** argv) {
  Options options;
  read_arguments(argc, argv,
                 {text_argument("--out", options.out),
                  {"--n", [&](const std::string& list) { options.orders = orders(list); }},
                  count_argument("--repetitions", options.repetitions)},
                 fail);
  if (options.out.empty() || options.orders.empty()) fail("--out FILE and --n N[,N...] are needed");
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const int rank = begin_pair(kProgram, &argc, &argv);
  const Options options = parse(argc, argv);

  const bool loaded = lacuna_loaded();
  std::vector<Method> methods;
  for (const Method& method : kMethods) {
    if (loaded || !method.lacuna) methods.push_back(method);
  }
  JsonLines out;
  if (rank == 0 && !out.open(options.out))
    fail("cannot write " + options.out + ": " + std::strerror(errno));
  out.write(header(options, methods, loaded));
  run(options, methods, rank, out);
  out.write("{\"kind\": \"end\"}");
  switch_lacuna(true);
  MPI_Finalize();
  return 0;
}

}  // namespace lacuna::bench

int main(int argc, char** argv) { return lacuna::bench::main(argc, argv); }
