// SPDX-License-Identifier: BSD-3-Clause
//
// The overlap potential of a datatype engine, future work of [Schneider2012, 4]: both partners send
// and receive at once and compute meanwhile. If the messages progress while the processor computes,
// "nonblocking_work" takes no longer than the longer of "nonblocking" and "work".
#include <algorithm>
#include <array>

#include "bench/apps/ways/way.hpp"

namespace lacuna::bench {
namespace {

constexpr int kTag = 3;

// Arithmetic on a few registers' worth of data: it takes no memory bandwidth and little cache.
void compute(int64_t steps) {
  std::array<double, 8> x = {1, 2, 3, 4, 5, 6, 7, 8};
  for (int64_t i = 0; i < steps; ++i)
    for (double& value : x) value = value * 0.999999 + 1e-6;
  asm volatile("" : : "r"(x.data()) : "memory");
}

// Steps in a microsecond on this machine, measured once: the most of a few tries, as other
// processes can only make it slower.
int64_t steps_per_us() {
  static const int64_t found = [] {
    constexpr int64_t kSteps = 200000;
    int64_t most = 1;
    for (int i = 0; i < 10; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      compute(kSteps);
      const std::chrono::duration<double, std::micro> us = std::chrono::steady_clock::now() - begin;
      most = std::max(most, static_cast<int64_t>(double(kSteps) / us.count()));
    }
    return most;
  }();
  return found;
}

// Both partners at once: one transfer in each direction in a round, counted as one.
class Overlap : public Way {
 public:
  Overlap(const Message& message, bool is_sending, bool is_computing)
      : m_(message), is_sending_(is_sending), is_computing_(is_computing) {}

  int transfers() const override { return 1; }
  void create() override {
    type_ = m_.make();
    MPI_Type_commit(&type_);
  }
  void destroy() override { MPI_Type_free(&type_); }

  void round(Phases*) override {
    std::array<MPI_Request, 2> requests = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    if (is_sending_) {
      MPI_Irecv(m_.received->buffer(), m_.count, type_, m_.partner, kTag, MPI_COMM_WORLD,
                &requests[0]);
      MPI_Isend(m_.problem->buffer(), m_.count, type_, m_.partner, kTag, MPI_COMM_WORLD,
                &requests[1]);
    }
    if (is_computing_) compute(m_.work_us * steps_per_us());
    MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
  }

  std::string verify() override {
    if (!is_sending_) return "";
    const auto salt = [](int rank) { return static_cast<unsigned>(rank) + 1; };
    m_.problem->fill_memory(salt(m_.rank));
    m_.received->fill_memory(0);
    round(nullptr);
    return m_.received->check_moved(salt(m_.partner), 0);
  }

 private:
  const Message& m_;
  bool is_sending_;
  bool is_computing_;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

}  // namespace

std::unique_ptr<Way> make_overlap_way(const std::string& name, const Message& message) {
  if (name == "nonblocking") return std::make_unique<Overlap>(message, true, false);
  if (name == "work") return std::make_unique<Overlap>(message, false, true);
  if (name == "nonblocking_work") return std::make_unique<Overlap>(message, true, true);
  return nullptr;
}

}  // namespace lacuna::bench
