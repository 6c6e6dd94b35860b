// SPDX-License-Identifier: BSD-3-Clause
//
// Types that one thread frees while another one is in a blocking call that uses them. It may do so
// as soon as the call has begun, and knows that from another rank.
#include <malloc.h>

#include <array>
#include <functional>
#include <numeric>
#include <thread>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

// So many blocks that only the type itself keeps its plan.
constexpr int kN = 1300000;
constexpr int place(int i) { return 3 * i + i % 7 % 3; }

// Elements of it begin one double after the other.
MPI_Datatype scattered() {
  std::vector<int> places(kN);
  for (int i = 0; i < kN; ++i) places[static_cast<size_t>(i)] = place(i);
  MPI_Datatype one, type;
  MPI_Type_create_indexed_block(kN, 1, places.data(), MPI_DOUBLE, &one);
  MPI_Type_create_resized(one, 0, sizeof(double), &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&one);
  return type;
}

// Rank 0's call, during which its other thread frees the type as soon as rank 1 has told it to.
void freed_during(MPI_Datatype type, MPI_Comm notice, const std::function<void()>& call) {
  std::thread freer([notice, type]() mutable {
    MPI_Recv(nullptr, 0, MPI_INT, 1, 0, notice, MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
  });
  call();
  freer.join();
}

// Freed memory is returned to the system at once, so that a use after free crashes.
class Notice {
 public:
  Notice() {
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
  }
  ~Notice() { MPI_Comm_free(&comm_); }
  Notice(const Notice&) = delete;
  Notice& operator=(const Notice&) = delete;

  MPI_Comm comm() const { return comm_; }
  void give() const { MPI_Send(nullptr, 0, MPI_INT, 0, 0, comm_); }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace

// Packing takes longer than the message to the other thread.
TOPIC(threads_type_freed_in_send) {
  constexpr int kCount = 8;
  const Notice notice;
  if (g_rank == 0) {
    std::vector<double> data(static_cast<size_t>(place(kN) + kCount));
    std::iota(data.begin(), data.end(), 0);
    const MPI_Datatype type = scattered();
    freed_during(type, notice.comm(),
                 [&] { MPI_Send(data.data(), kCount, type, 1, 1, MPI_COMM_WORLD); });
  } else {
    std::vector<double> line(size_t{kCount} * kN);
    MPI_Probe(0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    notice.give();
    MPI_Recv(line.data(), kCount * kN, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    bool right = true;
    for (int i = 0; i < kCount * kN; ++i)
      right = right && line[static_cast<size_t>(i)] == place(i % kN) + i / kN;
    CHECK(right);
  }
  if (g_rank == 0) CHECK(taken("MPI_Send") >= 1);
}

// Rank 0 sends much to itself, and little to the other rank, which finishes before.
TOPIC(threads_type_freed_in_exchange) {
  const Notice notice;
  MPI_Datatype few = column(4096, 3);
  const size_t n = static_cast<size_t>(place(kN));
  std::vector<double> from(n + 3 * 4096), to(from.size(), -1);
  std::iota(from.begin(), from.end(), 0);
  const std::array<int, 2> places = {0, static_cast<int>(n * sizeof(double))};
  for (int round = 0; round < 3; ++round) {
    MPI_Datatype type = g_rank == 0 ? scattered() : few;
    const std::array<MPI_Datatype, 2> types =
        g_rank == 0 ? std::array{type, few} : std::array{few, few};
    const std::array<int, 2> counts = {1, g_rank == 0 ? 1 : 0};
    const auto call = [&] {
      MPI_Alltoallw(from.data(), counts.data(), places.data(), types.data(), to.data(),
                    counts.data(), places.data(), types.data(), MPI_COMM_WORLD);
    };
    if (g_rank == 0) {
      freed_during(type, notice.comm(), call);
    } else {
      call();
      notice.give();
    }
  }
  bool right = true;
  for (int i = 0; g_rank == 0 && i < kN; ++i) {
    const auto at = static_cast<size_t>(place(i));
    right = right && to[at] == from[at];
  }
  CHECK(right);
  CHECK(taken("MPI_Alltoallw") >= 1);
  MPI_Type_free(&few);
}
