// SPDX-License-Identifier: BSD-3-Clause
//
// The state of a rank, in a mapped file that other processes read: disturb.cpp, and run.py as
// bytes.
#ifndef LACUNA_TESTS_CHAOS_PAGE_HPP_
#define LACUNA_TESTS_CHAOS_PAGE_HPP_

#include <cstdint>
#include <string>

namespace chaos {

struct Page {
  int32_t pid;
  int32_t rank;
  uint64_t ticks;    // grows with each step
  uint64_t seed[2];  // by thread
  int32_t step[2];
  char text[2][400];  // what the thread does in the step
};

// Maps FOLDER/state.RANK, creating it if needed; null: that failed.
Page* open_page(const std::string& folder, int rank);

}  // namespace chaos

#endif  // LACUNA_TESTS_CHAOS_PAGE_HPP_
