// SPDX-License-Identifier: BSD-3-Clause
// The overhead of `lacuna run --costs`: short programs are timed without lacuna, with it, and with
// its timing of calls, alternating in one job (docs/internals/costs.md). Two ranks; writes a table
// on stdout.
//
// Usage: lacuna run --costs FILE mpiexec -n 2 lacuna-overhead-FAMILY [ROUNDS]
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/harness/job.hpp"
#include "bench/harness/median.hpp"

namespace {

using lacuna::bench::Lacuna;
using lacuna::bench::median;
using Clock = std::chrono::steady_clock;
constexpr double kBatchSeconds = 5e-3;
constexpr int kTag = 1;

int g_rank = 0;

void ping_pong(int bytes) {
  static std::vector<char> data(1 << 20);
  MPI_Comm comm = MPI_COMM_WORLD;
  if (g_rank == 0) MPI_Send(data.data(), bytes, MPI_BYTE, 1, kTag, comm);
  MPI_Recv(data.data(), bytes, MPI_BYTE, 1 - g_rank, kTag, comm, MPI_STATUS_IGNORE);
  if (g_rank == 1) MPI_Send(data.data(), bytes, MPI_BYTE, 0, kTag, comm);
}

// A step of a stencil: each rank has half of a square, and sends and receives a column.
class Stencil {
 public:
  Stencil() : old_(kN * kN, 1.0), next_(kN * kN) {
    MPI_Type_vector(kN, 1, kN, MPI_DOUBLE, &column_);
    MPI_Type_commit(&column_);
  }
  ~Stencil() { MPI_Type_free(&column_); }
  Stencil(const Stencil&) = delete;
  Stencil& operator=(const Stencil&) = delete;

  void step() {
    const int edge = g_rank == 0 ? kN - 2 : 1;
    const int ghost = g_rank == 0 ? kN - 1 : 0;
    MPI_Request requests[2];
    MPI_Irecv(&old_[static_cast<size_t>(ghost)], 1, column_, 1 - g_rank, kTag, MPI_COMM_WORLD,
              &requests[0]);
    MPI_Isend(&old_[static_cast<size_t>(edge)], 1, column_, 1 - g_rank, kTag, MPI_COMM_WORLD,
              &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (size_t y = 1; y + 1 < kN; ++y) {
      for (size_t x = 1; x + 1 < kN; ++x) {
        const size_t i = y * kN + x;
        next_[i] = 0.25 * (old_[i - 1] + old_[i + 1] + old_[i - kN] + old_[i + kN]);
      }
    }
    old_.swap(next_);
  }

 private:
  static constexpr int kN = 128;
  std::vector<double> old_, next_;
  MPI_Datatype column_;
};

// Off, on, on with timing of calls.
constexpr Lacuna kWays[] = {Lacuna::kOff, Lacuna::kWithoutCosts, Lacuna::kOn};

template <typename Step>
double batch_ns(Lacuna way, int steps, const Step& step) {
  MPI_Barrier(MPI_COMM_WORLD);
  lacuna::bench::switch_lacuna_to(way);
  MPI_Barrier(MPI_COMM_WORLD);
  const auto begin = Clock::now();
  for (int i = 0; i < steps; ++i) step();
  const double ns = std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / steps;
  MPI_Barrier(MPI_COMM_WORLD);
  return ns;
}

// Prints the medians of each way, and those of the ratios within a round.
template <typename Step>
void measure(const char* name, int rounds, const Step& step) {
  std::vector<double> ns[3], over_native, over_lacuna;
  double once = 0;
  for (const Lacuna way : kWays) once = std::max(once, batch_ns(way, 100, step));
  int steps = std::max(1, static_cast<int>(kBatchSeconds * 1e9 / once));
  MPI_Bcast(&steps, 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (int round = 0; round < rounds; ++round) {
    double now[3];
    for (int turn = 0; turn < 3; ++turn) {
      const int i = round % 2 == 0 ? (turn + round / 2) % 3 : (2 * 3 - turn - round / 2 % 3) % 3;
      now[i] = batch_ns(kWays[i], steps, step);
    }
    for (int i = 0; i < 3; ++i) ns[i].push_back(now[i]);
    over_native.push_back(now[2] / now[0]);
    over_lacuna.push_back(now[2] / now[1]);
  }
  if (g_rank != 0) return;
  std::printf("%-20s %9.0f %9.0f %9.0f   %+6.1f %% %+6.1f %%\n", name, median(ns[0]), median(ns[1]),
              median(ns[2]), 100 * (median(over_native) - 1), 100 * (median(over_lacuna) - 1));
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 61;
  g_rank = lacuna::bench::begin_pair("lacuna-overhead", &argc, &argv);
  if (rounds < 1) lacuna::bench::fail_job("lacuna-overhead", "ROUNDS must be at least 1");
  if (g_rank == 0) {
    std::printf("%-20s %9s %9s %9s   %8s %8s\n", "ns", "native", "lacuna", "timed", "/native",
                "/lacuna");
  }
  measure("round trip of 8 B", rounds, [] { ping_pong(8); });
  measure("round trip of 4 KiB", rounds, [] { ping_pong(4096); });
  {
    Stencil stencil;
    measure("step of a stencil", rounds, [&] { stencil.step(); });
  }
  lacuna::bench::switch_lacuna(true);
  MPI_Finalize();
  return 0;
}
