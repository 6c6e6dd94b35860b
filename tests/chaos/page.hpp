// SPDX-License-Identifier: BSD-3-Clause
//
// Where a rank is, in a file that others look at: disturb.cpp and run.py, which reads it as bytes.
#ifndef LACUNA_TESTS_CHAOS_PAGE_HPP_
#define LACUNA_TESTS_CHAOS_PAGE_HPP_

#include <cstdint>
#include <string>

namespace chaos {

struct Page {
  int32_t pid;
  int32_t rank;
  uint64_t ticks;    // grows with every step
  uint64_t seed[2];  // by thread
  int32_t step[2];
  char text[2][400];  // what it does there
};

// FOLDER/state.RANK, made where it is not there; null: it cannot be.
Page* open_page(const std::string& folder, int rank);

}  // namespace chaos

#endif  // LACUNA_TESTS_CHAOS_PAGE_HPP_
