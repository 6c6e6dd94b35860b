// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/scratch.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "kernels/kernel_check.hpp"

namespace lacuna {
namespace {

std::vector<std::unique_ptr<Scratch>> take_all() {
  std::vector<std::unique_ptr<Scratch>> all;
  for (int i = 0; i < kScratchBuffers; ++i) all.push_back(std::make_unique<Scratch>());
  return all;
}

TEST(Scratch, NoTwoHaveOne) {
  const auto all = take_all();
  std::set<const std::byte*> seen;
  for (const auto& scratch : all) {
    EXPECT_NE(scratch->data(), nullptr);
    seen.insert(scratch->data());
  }
  EXPECT_EQ(seen.size(), size_t{kScratchBuffers});
  EXPECT_EQ(Scratch().data(), nullptr);
}

TEST(Scratch, ComesBack) {
  take_all();
  const std::byte* const first = Scratch().data();
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(Scratch().data(), first);
}

// Transposes work without a buffer.
TEST(Scratch, TransposesDoWithout) {
  const auto all = take_all();
  for (const KernelTable* table : kernel_tables()) {
    for (const int64_t width : {1, 2, 3, 4, 7, 8, 12, 16, 24}) {
      for (const bool stream : {false, true}) {
        check_strided(*table, Strategy::kTranspose, width, {67, width, 131 * width + 3},
                      {131, 70 * width, width}, stream, 64, 64, 0, 0);
      }
    }
  }
}

}  // namespace
}  // namespace lacuna
