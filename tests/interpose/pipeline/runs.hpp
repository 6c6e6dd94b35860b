// SPDX-License-Identifier: BSD-3-Clause
#ifndef LACUNA_TESTS_INTERPOSE_PIPELINE_RUNS_HPP_
#define LACUNA_TESTS_INTERPOSE_PIPELINE_RUNS_HPP_

#include <dlfcn.h>
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace test {

inline constexpr char kGap = 0x5a;

// Runs of `run` bytes, a third of the buffer.
struct Runs {
  Runs(int64_t bytes, int run_bytes) : count(static_cast<int>(bytes / run_bytes)), run(run_bytes) {
    MPI_Type_vector(count, run, 3 * run, MPI_CHAR, &type);
    MPI_Type_commit(&type);
  }
  ~Runs() { MPI_Type_free(&type); }
  Runs(const Runs&) = delete;
  Runs& operator=(const Runs&) = delete;

  int64_t bytes() const { return int64_t{count} * run; }
  std::vector<char> buffer(int salt) const {
    std::vector<char> all(static_cast<size_t>(3 * bytes()), kGap);
    for (int64_t i = 0; salt >= 0 && i < bytes(); ++i)
      all[static_cast<size_t>(i / run * 3 * run + i % run)] = byte(i, salt);
    return all;
  }
  static char byte(int64_t i, int salt) { return static_cast<char>(i * 7 + i / 251 + salt); }

  MPI_Datatype type{};
  int count;
  int run;
};

inline bool holds(const MPI_Status& status, int64_t bytes) {
  MPI_Count found = -1;
  MPI_Get_elements_x(&status, MPI_BYTE, &found);
  return found == bytes;
}

// How many messages lacuna has sent in pieces. -1: the ranks have not agreed on that.
inline int64_t messages_in_pieces() {
  const auto asked =
      reinterpret_cast<int64_t (*)()>(dlsym(RTLD_DEFAULT, "lacuna_interposed_pipelined"));
  return asked != nullptr ? asked() : -1;
}

}  // namespace test

#endif  // LACUNA_TESTS_INTERPOSE_PIPELINE_RUNS_HPP_
