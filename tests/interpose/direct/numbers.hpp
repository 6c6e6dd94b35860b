// SPDX-License-Identifier: BSD-3-Clause
//
// A column of numbers to send, and a check of what is received: for the tests of the direct path.
#ifndef LACUNA_TESTS_INTERPOSE_DIRECT_NUMBERS_HPP_
#define LACUNA_TESTS_INTERPOSE_DIRECT_NUMBERS_HPP_

#include <vector>

#include "tests/interpose/harness/harness.hpp"

namespace test {

inline constexpr int kCount = 4096;

inline std::vector<double> numbers(int salt) {
  std::vector<double> data(static_cast<size_t>(kCount) * 3);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<double>(i) + 0.5 * salt;
  return data;
}

inline int bytes_in(const MPI_Status& status) {
  int bytes = -1;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  return bytes;
}

inline bool is_packed(const std::vector<double>& got, int salt) {
  const std::vector<double> sent = numbers(salt);
  for (size_t i = 0; i < kCount; ++i) {
    if (got[i] != sent[3 * i]) return false;
  }
  return true;
}

inline constexpr int kBytes = kCount * 8;

}  // namespace test

#endif  // LACUNA_TESTS_INTERPOSE_DIRECT_NUMBERS_HPP_
