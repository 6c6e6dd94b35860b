// SPDX-License-Identifier: BSD-3-Clause
#ifndef LACUNA_TESTS_INTERPOSE_HARNESS_BALLAST_HPP_
#define LACUNA_TESTS_INTERPOSE_HARNESS_BALLAST_HPP_

#include <vector>

#include "tests/interpose/harness/harness.hpp"

namespace test {

// Unreceived messages from each rank to the next. Of an arena of 1 MiB (LACUNA_ARENA_MB=1) they
// leave some 16 KiB: most of a program's messages reuse that over and over, the others find no
// room.
class Ballast {
 public:
  Ballast() {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    MPI_Type_vector(kDoubles, 1, 2, MPI_DOUBLE, &type_);
    MPI_Type_commit(&type_);
    for (size_t i = 0; i < sent_.size(); ++i) sent_[i] = static_cast<double>(i) + 0.25 * g_rank;
    for (MPI_Request& request : requests_)
      MPI_Isend(sent_.data(), 1, type_, (g_rank + 1) % g_size, 0, comm_, &request);
    MPI_Barrier(comm_);
  }

  Ballast(const Ballast&) = delete;
  Ballast& operator=(const Ballast&) = delete;
  ~Ballast() {
    const int source = (g_rank + g_size - 1) % g_size;
    std::vector<double> got(kDoubles);
    for (int i = 0; i < kMessages; ++i) {
      got.assign(kDoubles, -1);
      MPI_Recv(got.data(), kDoubles, MPI_DOUBLE, source, 0, comm_, MPI_STATUS_IGNORE);
      bool same = true;
      for (size_t k = 0; k < kDoubles; ++k)
        same = same && got[k] == static_cast<double>(2 * k) + 0.25 * source;
      CHECK(same);
    }
    MPI_Waitall(kMessages, requests_.data(), MPI_STATUSES_IGNORE);
    MPI_Type_free(&type_);
    MPI_Comm_free(&comm_);
  }

 private:
  static constexpr int kMessages = 62;
  static constexpr int kDoubles = 2048;
  MPI_Comm comm_;
  MPI_Datatype type_;
  std::vector<double> sent_ = std::vector<double>(2 * kDoubles);
  std::vector<MPI_Request> requests_ = std::vector<MPI_Request>(kMessages);
};

}  // namespace test

#endif  // LACUNA_TESTS_INTERPOSE_HARNESS_BALLAST_HPP_
