// SPDX-License-Identifier: BSD-3-Clause
//
// Every kernel of every table, except transposes (transpose_test.cpp), against its definition:
// widths, counts around the unrolling and tile sizes, strides (zero, smaller than the width,
// negative, page-sized), misalignments of both sides, streaming on and off, between guard pages,
// with the gaps of the destination compared afterwards.
#include "kernels/kernel.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/kernel_check.hpp"

namespace lacuna {
namespace {

class Kernels : public ::testing::TestWithParam<const KernelTable*> {};

const std::vector<int64_t> kWidthsToTest = {
    1,  2,  3,  4,  5,   7,   8,   9,   12,  15,  16,  17,  24,   31,   32,   33,
    40, 63, 64, 65, 100, 127, 128, 129, 192, 255, 256, 400, 1000, 2047, 2048, 4100};

TEST_P(Kernels, StridedPacksAllWidths) {
  for (int64_t width : kWidthsToTest) {
    for (int64_t count : {1, 2, 3, 4, 5, 8, 9}) {
      for (int64_t stride :
           {int64_t{0}, int64_t{1}, width, width + 1, 3 * width + 5, -width - 7, int64_t{4096}}) {
        for (bool stream : {false, true}) {
          check_strided(*GetParam(), Strategy::kStrided, width, {2, 3 * stride + 11, count * width},
                        {count, stride, width}, stream, 64, 64, width % 3, count % 3);
        }
        check_strided(*GetParam(), Strategy::kStrided, width, {2, 3 * stride + 11, count * width},
                      {count, stride, width}, false, 64, 64, width % 3, count % 3, 3);
      }
    }
  }
}

TEST_P(Kernels, StridedUnpacksAllWidths) {
  for (int64_t width : kWidthsToTest) {
    for (int64_t count : {1, 2, 3, 4, 5, 8, 9}) {
      for (int64_t stride : {width, width + 1, 3 * width + 5, -width - 7, int64_t{8192}}) {
        for (bool stream : {false, true}) {
          const int64_t rows = (std::abs(stride) + width) * count + 13;
          check_strided(*GetParam(), Strategy::kStrided, width, {2, count * width, rows},
                        {count, width, stride}, stream, 64, 64, count % 3, width % 3);
        }
        check_strided(*GetParam(), Strategy::kStrided, width,
                      {2, count * width, (std::abs(stride) + width) * count + 13},
                      {count, width, stride}, false, 64, 64, count % 3, width % 3, 3);
      }
    }
  }
}

// More than the L1 holds: some widths are moved otherwise there.
TEST_P(Kernels, StridedBeyondTheFirstLevel) {
  for (int64_t width : {8, 24, 32, 64, 96, 160, 700}) {
    const int64_t stride = width + 64 + width % 3;
    for (const int64_t ahead : {0, 3}) {
      check_strided(*GetParam(), Strategy::kStrided, width, {2, 301 * stride, 301 * width},
                    {301, stride, width}, false, 64, 64, 1, 2, ahead);
      check_strided(*GetParam(), Strategy::kStrided, width, {2, 301 * width, 301 * stride},
                    {301, width, stride}, false, 64, 64, 2, 1, ahead);
    }
  }
}

// Whole lines by narrow moves, line-aligned and not, packed and unpacked.
TEST_P(Kernels, StridedByPieces) {
  for (int64_t width : {64, 128, 320}) {
    for (int64_t count : {15, 16, 17, 40, 41}) {
      for (int64_t shift : {0, 3, 5, 64}) {
        check_strided(*GetParam(), Strategy::kStrided, width, {2, count * 1024, count * width},
                      {count, 1024, width}, false, 64, 64, shift, shift);
        check_strided(*GetParam(), Strategy::kStrided, width, {2, count * width, count * -2048},
                      {count, width, -2048}, false, 64, 64, shift, shift);
      }
    }
  }
}

// Rows long enough for loops that are not unrolled, with stores to DRAM.
TEST_P(Kernels, StridedLongRowsUnpacked) {
  for (int64_t width : {1, 2, 4, 8, 16}) {
    for (int64_t stride : {31, 48, 64, 95, 96, -64}) {
      for (int64_t count : {15, 16, 19}) {
        for (int64_t shift : {3, 4}) {
          check_strided(*GetParam(), Strategy::kStrided, width,
                        {2, count * width, count * stride + 7}, {count, width, stride}, false, 64,
                        64, 1, shift);
        }
      }
    }
  }
}

// Rows long enough for paced loads.
TEST_P(Kernels, StridedLongRows) {
  for (int64_t width : {1, 2, 4, 8, 16, 64}) {
    for (int64_t stride : {0, 77, 256, -131}) {
      check_strided(*GetParam(), Strategy::kStrided, width, {2, 517 * stride + 5, 517 * width},
                    {517, stride, width}, false, 64, 64, 1, 2);
    }
  }
}

TEST_P(Kernels, OneNearRun) {
  if (GetParam()->copy_near == nullptr) GTEST_SKIP() << "left to the C library";
  for (const int64_t width : {kNearRun, kNearRun + 1, int64_t{4080}, int64_t{16384}}) {
    for (const int64_t shift : {0, 1, 40}) {
      Arena arena({0, width}, {0, width}, shift, shift / 8);
      arena.expect(0, 0, width);
      GetParam()->copy_near(arena.dst(), arena.src(), width);
      EXPECT_TRUE(arena.right()) << width << " shift " << shift;
    }
  }
}

TEST_P(Kernels, OneRunPastTheCaches) {
  if (GetParam()->copy_past == nullptr) GTEST_SKIP() << "through them";
  for (const int64_t width : {1, 63, 64, 65, 127, 300, 4096, 8191}) {
    for (const int64_t shift : {0, 1, 16, 40, 63}) {
      Arena arena({0, width}, {0, width}, shift / 8, shift);
      arena.expect(0, 0, width);
      GetParam()->copy_past(arena.dst(), arena.src(), width);
      GetParam()->fence_past();
      EXPECT_TRUE(arena.right()) << width << " shift " << shift;
    }
  }
}

// Every kernel of the registry for such lists.
void check_list(const KernelTable& table, bool scatter, int64_t width,
                const std::vector<int64_t>& offsets, bool narrow, int64_t ahead = 0) {
  const std::vector<int32_t> places(offsets.begin(), offsets.end());
  const int64_t n = static_cast<int64_t>(offsets.size());
  const auto [least, most] = std::minmax_element(offsets.begin(), offsets.end());
  const bool ascends = std::is_sorted(offsets.begin(), offsets.end());
  const int64_t outer_listed = *most - *least + width + 3;
  const Span listed = {std::min<int64_t>(0, *least),
                       outer_listed + std::max<int64_t>(0, *most) + width};
  const Span dense = {0, 2 * n * width};
  for (const Kernel& kernel :
       kernels_of(table, scatter ? Strategy::kScatter : Strategy::kGather, width)) {
    if (kernel.strategy == Strategy::kGatherInOrder && !ascends) continue;
    Arena arena(scatter ? dense : listed, scatter ? listed : dense, 1, 1);
    KernelCall m;
    m.src = arena.src();
    m.dst = arena.dst();
    m.width = width;
    m.outer = scatter ? Dim{2, n * width, outer_listed} : Dim{2, outer_listed, n * width};
    m.inner.count = n;
    m.prefetch.runs = static_cast<int32_t>(ahead);
    if (narrow) {
      m.list.places = places.data();
    } else {
      m.list.offsets = offsets.data();
    }
    kernel.fn(m);
    for (int64_t i = 0; i < 2; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        const int64_t at = i * outer_listed + offsets[static_cast<size_t>(j)];
        const int64_t packed = (i * n + j) * width;
        arena.expect(scatter ? at : packed, scatter ? packed : at, width);
      }
    }
    ASSERT_TRUE(arena.right()) << kernel.id() << " width " << width << " entries " << n;
  }
}

TEST_P(Kernels, GatherInOrder) {
  for (const int64_t width : {1, 2, 4, 8, 16, 24}) {
    for (const int64_t n : {1, 31, 32, 33, 64, 1000}) {
      std::vector<int64_t> offsets;
      for (int64_t i = 0, at = -100; i < n; ++i) offsets.push_back(at += width + i * i % 97);
      for (const bool narrow : {false, true})
        check_list(*GetParam(), false, width, offsets, narrow, 32);
    }
  }
}

TEST_P(Kernels, GatherAndScatter) {
  for (int64_t width : kWidthsToTest) {
    for (int64_t n : {1, 2, 5, 8, 17, 35}) {
      std::vector<int64_t> offsets;
      for (int64_t i = 0; i < n; ++i) offsets.push_back((i * 3 % n) * (width + 5) - 2 * width);
      for (const bool narrow : {false, true}) {
        for (const int64_t ahead : {0, 4}) {
          check_list(*GetParam(), false, width, offsets, narrow, ahead);
          check_list(*GetParam(), true, width, offsets, narrow, ahead);
        }
      }
    }
  }
}

void check_runs(const KernelTable& table, bool scatter, const std::vector<int64_t>& lengths,
                int64_t ahead) {
  std::vector<int64_t> offsets;
  std::vector<int64_t> packed = {0};
  int64_t at = 0;
  for (int64_t length : lengths) {
    offsets.push_back(at);
    at += length + 1 + length % 3;
    packed.push_back(packed.back() + length);
  }
  const Span listed = {0, 2 * at};
  const Span dense = {0, 2 * packed.back()};
  Arena arena(scatter ? dense : listed, scatter ? listed : dense, 0, 1);
  KernelCall m;
  m.src = arena.src();
  m.dst = arena.dst();
  m.outer = scatter ? Dim{2, packed.back(), at} : Dim{2, at, packed.back()};
  m.inner.count = static_cast<int64_t>(lengths.size());
  m.list.offsets = offsets.data();
  m.list.packed_offsets = packed.data();
  m.prefetch.runs = static_cast<int32_t>(ahead);
  const Kernel kernel =
      find_kernel(table, scatter ? Strategy::kScatterRuns : Strategy::kGatherRuns, 0);
  kernel.fn(m);
  for (int64_t i = 0; i < 2; ++i) {
    for (size_t j = 0; j < lengths.size(); ++j) {
      const int64_t mem_at = i * at + offsets[j];
      const int64_t packed_at = i * packed.back() + packed[j];
      arena.expect(scatter ? mem_at : packed_at, scatter ? packed_at : mem_at, lengths[j]);
    }
  }
  ASSERT_TRUE(arena.right()) << kernel.id();
}

TEST_P(Kernels, RunsOfUnequalLengths) {
  for (const int64_t ahead : {0, 1, 5, 1000}) {
    for (const bool scatter : {false, true}) {
      check_runs(*GetParam(), scatter, kWidthsToTest, ahead);
      check_runs(*GetParam(), scatter, {4, 24, 4}, ahead);
    }
  }
}

TEST_P(Kernels, NothingToMove) {
  std::byte src{1};
  std::byte dst{2};
  for (const Strategy shape :
       {Strategy::kStrided, Strategy::kTranspose, Strategy::kGather, Strategy::kScatter}) {
    for (int64_t width : {1, 8, 100}) {
      KernelCall m;
      m.src = &src;
      m.dst = &dst;
      m.width = width;
      m.outer.count = 0;
      m.inner.count = 0;
      m.tile_rows = 64;
      m.tile_columns = 64;
      find_kernel(*GetParam(), shape, width).fn(m);
      EXPECT_EQ(dst, std::byte{2});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Kernels,
                         ::testing::ValuesIn(kernel_tables().begin(), kernel_tables().end()),
                         name_of);

TEST(Registry, ReferenceIsLastAndServesEveryShape) {
  ASSERT_FALSE(kernel_tables().empty());
  const KernelTable& reference = *kernel_tables().back();
  EXPECT_EQ(reference.isa, "reference");
  for (int i = 0; i < kStrategies; ++i) {
    const Kernel kernel = find_kernel(reference, static_cast<Strategy>(i), 7);
    EXPECT_NE(kernel.fn, nullptr);
    EXPECT_EQ(kernel.strategy, definition_of(static_cast<Strategy>(i)));
  }
}

TEST(Registry, TheMostSpecialisedKernelFirst) {
  const KernelTable& best = *kernel_tables().front();
  EXPECT_EQ(find_kernel(best, Strategy::kStrided, 8).width, Width::k8);
  EXPECT_EQ(find_kernel(best, Strategy::kStrided, 24).width, Width::kAny);
  EXPECT_EQ(find_kernel(best, Strategy::kTranspose, 12).id(),
            "transpose.any." + std::string(best.isa));
  EXPECT_EQ(find_kernel(best, Strategy::kStrided, 8).id(), "strided.w8." + std::string(best.isa));
}

// An entry for any width is not used for widths that it cannot move.
TEST(Registry, StrategiesMoveTheirWidths) {
  for (const KernelTable* table : kernel_tables()) {
    for (const Strategy strategy :
         {Strategy::kOneLoad, Strategy::kSpaced, Strategy::kRepeated, Strategy::kNarrow})
      EXPECT_EQ(find_kernel(*table, strategy, 100).strategy, Strategy::kStrided);
    EXPECT_EQ(find_kernel(*table, Strategy::kVectors, 40).strategy, Strategy::kStrided);
    EXPECT_EQ(find_kernel(*table, Strategy::kLines, 2049).strategy, Strategy::kStrided);
  }
}

TEST(Registry, NamesAreFound) {
  for (const KernelTable* table : kernel_tables()) EXPECT_EQ(find_table(table->isa), table);
  EXPECT_EQ(find_table("avx3"), find_table("avx512"));
  EXPECT_EQ(find_table("no such target"), nullptr);
}

}  // namespace
}  // namespace lacuna
