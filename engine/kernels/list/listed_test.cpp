// SPDX-License-Identifier: BSD-3-Clause
//
// Slices of lists: entries after a slice may be prefetched but are not moved, and nothing after the
// list is read. The list ends at a guard page.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "kernels/kernel.hpp"
#include "property/guarded.hpp"

namespace lacuna {
namespace {

using testing::Guarded;

class Lists : public ::testing::TestWithParam<const KernelTable*> {};

std::string name_of(const ::testing::TestParamInfo<const KernelTable*>& info) {
  return std::string(info.param->isa);
}

// Scatters entries [first, last) of `all`, with offsets of type T; ListEntries::following has those
// after them.
template <typename T>
void check_part(const KernelTable& table, int64_t width, int64_t all, int64_t first, int64_t last,
                int64_t ahead) {
  const int64_t stride = width + 9;
  const Guarded list(static_cast<size_t>(all) * sizeof(T), true);
  const auto place_of = [&](int64_t i) { return (i * 7 % all) * stride; };
  for (int64_t i = 0; i < all; ++i) {
    const T place = static_cast<T>(place_of(i));
    std::memcpy(list.data() + static_cast<size_t>(i) * sizeof(T), &place, sizeof(T));
  }
  std::vector<std::byte> packed(static_cast<size_t>((last - first) * width));
  for (size_t i = 0; i < packed.size(); ++i) packed[i] = static_cast<std::byte>(i % 251);
  std::vector<std::byte> mem(static_cast<size_t>(all * stride), std::byte{255});
  std::vector<std::byte> want = mem;
  for (int64_t i = first; i < last; ++i)
    std::memcpy(want.data() + place_of(i), packed.data() + (i - first) * width,
                static_cast<size_t>(width));
  KernelCall m;
  m.src = packed.data();
  m.dst = mem.data();
  m.width = width;
  m.inner.count = last - first;
  m.list.following = all - last;
  m.prefetch.runs = static_cast<int32_t>(ahead);
  if constexpr (sizeof(T) == sizeof(int32_t)) {
    m.list.places = reinterpret_cast<const int32_t*>(list.data()) + first;
  } else {
    m.list.offsets = reinterpret_cast<const int64_t*>(list.data()) + first;
  }
  const Kernel kernel = find_kernel(table, Strategy::kScatter, width);
  kernel.fn(m);
  ASSERT_EQ(mem, want) << kernel.id() << " width " << width << " entries " << first << " to "
                       << last << " of " << all << " ahead " << ahead;
}

TEST_P(Lists, WhatFollowsAPartIsNotMovedAndWhatFollowsTheListIsNotRead) {
  constexpr int64_t kAll = 60;
  for (const int64_t width : {4, 8, 12, 24, 128}) {
    for (const int64_t first : {0, 11}) {
      for (const int64_t last : {12, 30, 52, 58, 60}) {
        for (const int64_t ahead : {0, 1, 8, 32, 100}) {
          check_part<int32_t>(*GetParam(), width, kAll, first, last, ahead);
          check_part<int64_t>(*GetParam(), width, kAll, first, last, ahead);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Lists,
                         ::testing::ValuesIn(kernel_tables().begin(), kernel_tables().end()),
                         name_of);

}  // namespace
}  // namespace lacuna
