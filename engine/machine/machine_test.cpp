// SPDX-License-Identifier: BSD-3-Clause
#include "machine/machine.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace lacuna {
namespace {

TEST(Machine, NumbersMakeSense) {
  const Machine& m = machine();
  EXPECT_EQ(m.page_bytes, sysconf(_SC_PAGESIZE));
  EXPECT_GE(m.line_bytes, 16);
  EXPECT_EQ(m.page_bytes % m.line_bytes, 0);
  EXPECT_GT(m.l1_bytes, 0);
  EXPECT_LE(m.l1_bytes, m.l2_bytes);
  EXPECT_GT(m.tlb_entries, 1);
  EXPECT_GT(m.stream_transpose_bytes, 0);
  EXPECT_GT(m.stream_run_bytes, 0);
  EXPECT_GT(m.parallel_bytes, 0);
}

TEST(Machine, IsReadOnce) { EXPECT_EQ(&machine(), &machine()); }

}  // namespace
}  // namespace lacuna
