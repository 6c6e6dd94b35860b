// SPDX-License-Identifier: BSD-3-Clause
//
// Makes some of lacuna's allocations fail.
#include <atomic>

#include "chaos.hpp"
#include "tests/interpose/faults/refused_memory.hpp"

namespace {

std::atomic<bool> g_on{false};
std::atomic<unsigned> g_asked{0};

}  // namespace

bool test::is_refused() {
  if (!g_on.load(std::memory_order_relaxed)) return false;
  const unsigned asked = g_asked.fetch_add(1) * 2654435761U >> 8;
  return asked % static_cast<unsigned>(chaos::g_refused) == 0;
}

void chaos::refuse_memory(bool on) {
  if (g_refused == 0) return;
  if (!test::knows_lacuna()) test::find_lacuna();
  g_on.store(on);
}
