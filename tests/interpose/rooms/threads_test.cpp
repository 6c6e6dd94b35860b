// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives in shared memory among threads, each with a communicator of its own: all call their
// first one at once, and different ranks begin with different threads.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int kThreads = 3;
constexpr int kRounds = 12;
constexpr int kCalls = 10;
constexpr int kN = 700;

class Worker {
 public:
  Worker(int id, MPI_Comm comm) : id_(id), comm_(comm) {
    MPI_Type_vector(kN, 1, g_size, MPI_DOUBLE, &vector_);
    MPI_Type_create_resized(vector_, 0, sizeof(double), &column_);
    MPI_Type_commit(&column_);
    MPI_Type_free(&vector_);
    learn();
  }

  // A communicator lives for a round.
  void run() {
    for (int round = 0; round < kRounds; ++round) {
      MPI_Comm comm;
      MPI_Comm_dup(comm_, &comm);
      for (int call = 0; call < kCalls; ++call) {
        turn(comm, round * kCalls + call);
        tell(comm, round * kCalls + call);
      }
      MPI_Comm_free(&comm);
    }
  }

  bool right() const { return right_; }
  void free() {
    MPI_Type_free(&column_);
    MPI_Comm_free(&comm_);
  }

 private:
  // Types are analysed before there are threads: while a thread that lost its core analyses a type,
  // the calls of the others would be declined.
  void learn() {
    std::vector<double> data(size_t{kN} * static_cast<size_t>(g_size)), packed(kN);
    int position = 0;
    MPI_Pack(data.data(), 1, column_, packed.data(), kN * sizeof(double), &position, comm_);
  }

  void turn(MPI_Comm comm, int call) {
    const size_t n = kN, ranks = static_cast<size_t>(g_size);
    std::vector<double> from(n * ranks), to(n * ranks + 1, -1);
    std::iota(from.begin(), from.end(), 1e7 * g_rank + 1e5 * id_ + call);
    MPI_Alltoall(from.data(), 1, column_, to.data(), kN, MPI_DOUBLE, comm);
    right_ = right_ && to.back() == -1;
    for (size_t i = 0; i < ranks; ++i) {
      for (size_t j = 0; j < n; ++j) {
        const double first = 1e7 * static_cast<double>(i) + 1e5 * id_ + call;
        right_ = right_ && to[i * n + j] == first + static_cast<double>(j * ranks) + g_rank;
      }
    }
  }

  void tell(MPI_Comm comm, int call) {
    const size_t n = kN, ranks = static_cast<size_t>(g_size);
    std::vector<double> data(n * ranks, -1);
    const int root = call % g_size;
    if (g_rank == root) std::iota(data.begin(), data.end(), 1e5 * id_ + call);
    MPI_Bcast(data.data(), 1, column_, root, comm);
    for (size_t i = 0; i < data.size(); ++i) {
      const bool sent = g_rank == root || i % ranks == 0;
      right_ = right_ && data[i] == (sent ? 1e5 * id_ + call + static_cast<double>(i) : -1);
    }
  }

  int id_;
  MPI_Comm comm_;
  MPI_Datatype vector_, column_;
  bool right_ = true;
};

}  // namespace

TOPIC(rooms_among_threads) {
  std::vector<Worker> workers;
  for (int id = 0; id < kThreads; ++id) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    workers.emplace_back(id, comm);
  }
  const int64_t took = taken_by("MPI_Alltoall", [&] {
    std::vector<std::thread> threads;
    for (size_t i = 0; i < kThreads; ++i) {
      Worker& worker = workers[(i + static_cast<size_t>(g_rank)) % kThreads];
      threads.emplace_back([&worker] { worker.run(); });
    }
    for (std::thread& thread : threads) thread.join();
  });
  // Handled: in a room, or packed.
  CHECK(took > kThreads * kRounds * kCalls / 2);
  for (Worker& worker : workers) {
    CHECK(worker.right());
    worker.free();
  }
}

// A communicator is first used by two threads at once, by a message and by a collective. Threads
// that wait sleep: polling ones took the cores from MPI_Comm_dup, and each communicator took 18 ms.
// Without the lock around what is learned of a communicator, two of three runs hang.
TOPIC(rooms_met_by_two_threads) {
  constexpr int kComms = 150;
  MPI_Comm pair;
  MPI_Comm_split(MPI_COMM_WORLD, g_rank < 2 ? 0 : MPI_UNDEFINED, g_rank, &pair);
  if (pair == MPI_COMM_NULL) return;
  MPI_Datatype type = column(kN, 3);
  std::vector<double> from(size_t{3} * kN), to(size_t{3} * kN), all(size_t{3} * kN);
  std::iota(from.begin(), from.end(), 0);
  MPI_Comm comm = MPI_COMM_NULL;
  std::atomic<int> called{0}, awake{0}, begun{0}, done{0};
  std::thread other([&] {
    for (int i = 1; i <= kComms; ++i) {
      called.wait(i - 1);
      awake.store(i);
      while (begun.load() < i) std::this_thread::yield();
      if (g_rank == 0)
        MPI_Send(from.data(), 1, type, 1, 0, comm);
      else
        MPI_Recv(to.data(), 1, type, 0, 0, comm, MPI_STATUS_IGNORE);
      done.store(i);
      done.notify_one();
    }
  });
  const auto is_right = [&](const std::vector<double>& data) {
    for (size_t i = 0; i < data.size(); ++i) {
      if (data[i] != (i % 3 == 0 ? static_cast<double>(i) : -1)) return false;
    }
    return true;
  };
  bool right = true;
  for (int i = 1; i <= kComms; ++i) {
    MPI_Comm_dup(pair, &comm);
    std::fill(to.begin(), to.end(), -1);
    all = g_rank == 0 ? from : to;
    called.store(i);
    called.notify_one();
    while (awake.load() < i) std::this_thread::yield();
    begun.store(i);
    MPI_Bcast(all.data(), 1, type, 0, comm);
    done.wait(i - 1);
    right = right && (g_rank == 0 || (is_right(all) && is_right(to)));
    MPI_Bcast(all.data(), 1, type, 0, comm);
    MPI_Comm_free(&comm);
  }
  other.join();
  CHECK(right);
  MPI_Type_free(&type);
  MPI_Comm_free(&pair);
}
