// SPDX-License-Identifier: BSD-3-Clause
//
// Every kernel of every table against its definition: widths, counts around the unrolling and tile
// sizes, strides (zero, smaller than the width, negative, page-sized), misalignments of both sides,
// streaming on and off, between guard pages, with the gaps of the destination compared afterwards.
#include "kernels/kernel.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "property/guarded.hpp"

namespace lacuna {
namespace {

using testing::Guarded;

std::byte pattern(size_t i) { return static_cast<std::byte>((i * 2654435761u) >> 13); }

// The lowest and highest byte a side of a strided move touches, relative to its pointer.
struct Span {
  int64_t low = 0;
  int64_t high = 0;
};

Span span_of(int64_t outer_count, int64_t outer_stride, int64_t inner_count, int64_t inner_stride,
             int64_t width) {
  const int64_t o = (outer_count - 1) * outer_stride;
  const int64_t i = (inner_count - 1) * inner_stride;
  return {std::min<int64_t>(0, o) + std::min<int64_t>(0, i),
          std::max<int64_t>(0, o) + std::max<int64_t>(0, i) + width};
}

// Two buffers with exactly the bytes a move touches plus `shift` bytes at the start, so that the
// pointers take every alignment; the far end touches the guard.
class Arena {
 public:
  Arena(Span src, Span dst, int64_t src_shift, int64_t dst_shift)
      : src_(static_cast<size_t>(src.high - src.low), src_shift == 0),
        dst_(static_cast<size_t>(dst.high - dst.low + dst_shift), dst_shift % 2 == 0),
        src_low_(src.low),
        dst_low_(dst.low),
        dst_shift_(dst_shift) {
    for (size_t i = 0; i < src_.size(); ++i) src_.data()[i] = pattern(i);
    for (size_t i = 0; i < dst_.size(); ++i) dst_.data()[i] = pattern(i + 977);
    want_.assign(dst_.data(), dst_.data() + dst_.size());
  }

  const std::byte* src() const { return src_.data() - src_low_; }
  std::byte* dst() const { return dst_.data() + dst_shift_ - dst_low_; }
  // The definition of a copy, in the expectation.
  void expect(int64_t dst_at, int64_t src_at, int64_t width) {
    std::memcpy(want_.data() + dst_shift_ + (dst_at - dst_low_), src() + src_at,
                static_cast<size_t>(width));
  }
  bool right() const { return std::memcmp(want_.data(), dst_.data(), want_.size()) == 0; }

 private:
  Guarded src_;
  Guarded dst_;
  int64_t src_low_;
  int64_t dst_low_;
  int64_t dst_shift_;
  std::vector<std::byte> want_;
};

class Kernels : public ::testing::TestWithParam<const KernelTable*> {};

std::string name_of(const ::testing::TestParamInfo<const KernelTable*>& info) {
  return std::string(info.param->isa);
}

// `hints`: those that change how it is moved, and not what.
void check_from(bool hints, const KernelTable& table, Shape shape, int64_t width, Dim outer,
                Dim inner, bool stream, int64_t tile_rows, int64_t tile_cols, int64_t src_shift,
                int64_t dst_shift, int64_t ahead) {
  Arena arena(span_of(outer.count, outer.src_stride, inner.count, inner.src_stride, width),
              span_of(outer.count, outer.dst_stride, inner.count, inner.dst_stride, width),
              src_shift, dst_shift);
  Move m;
  m.src = arena.src();
  m.dst = arena.dst();
  m.width = width;
  m.outer = outer;
  m.inner = inner;
  m.stream = stream;
  m.far = hints;
  m.ahead = ahead;
  m.ahead_bytes = width;
  m.ahead_second = hints && width <= 64;
  m.asks_always = !hints;
  m.library_run = hints ? 2048 : 16384;
  m.repeats = hints ? 3 : 1;
  m.pace = hints ? 5 : 1;
  m.piece = hints && dst_shift % 2 != 0 ? 16 : 0;
  m.piece_off_lines = !hints ? 0 : inner.count % 2 != 0 ? 8 : dst_shift % 3 == 0 ? 16 : 0;
  m.paced_most = 2000;
  m.one_by_one = hints ? 64 : 16;
  m.half_lines = hints;
  m.masks = hints;
  m.tile_rows = hints ? 1 << 20 : tile_rows;
  m.four_lines = hints;
  m.tile_cols = tile_cols;
  const Kernel kernel = find_kernel(table, shape, width);
  kernel.fn(m);
  for (int64_t i = 0; i < outer.count; ++i) {
    for (int64_t j = 0; j < inner.count; ++j) {
      arena.expect(i * outer.dst_stride + j * inner.dst_stride,
                   i * outer.src_stride + j * inner.src_stride, width);
    }
  }
  ASSERT_TRUE(arena.right()) << kernel.id() << " width " << width << " outer " << outer.count << "x"
                             << outer.src_stride << "->" << outer.dst_stride << " inner "
                             << inner.count << "x" << inner.src_stride << "->" << inner.dst_stride
                             << " stream " << stream << " tile " << tile_rows << "x" << tile_cols
                             << " shift " << src_shift << "," << dst_shift << " ahead " << ahead
                             << " hints " << hints;
}

void check_strided(const KernelTable& table, Shape shape, int64_t width, Dim outer, Dim inner,
                   bool stream, int64_t tile_rows = 64, int64_t tile_cols = 64,
                   int64_t src_shift = 0, int64_t dst_shift = 0, int64_t ahead = 0) {
  check_from(false, table, shape, width, outer, inner, stream, tile_rows, tile_cols, src_shift,
             dst_shift, ahead);
  check_from(true, table, shape, width, outer, inner, stream, tile_rows, tile_cols, src_shift,
             dst_shift, ahead);
}

const std::vector<int64_t> kWidthsToTest = {
    1,  2,  3,  4,  5,   7,   8,   9,   12,  15,  16,  17,  24,   31,   32,   33,
    40, 63, 64, 65, 100, 127, 128, 129, 192, 255, 256, 400, 1000, 2047, 2048, 4100};

TEST_P(Kernels, StridedPacksAllWidths) {
  for (int64_t width : kWidthsToTest) {
    for (int64_t count : {1, 2, 3, 4, 5, 8, 9}) {
      for (int64_t stride :
           {int64_t{0}, int64_t{1}, width, width + 1, 3 * width + 5, -width - 7, int64_t{4096}}) {
        for (bool stream : {false, true}) {
          check_strided(*GetParam(), Shape::kStrided, width, {2, 3 * stride + 11, count * width},
                        {count, stride, width}, stream, 64, 64, width % 3, count % 3);
        }
        check_strided(*GetParam(), Shape::kStrided, width, {2, 3 * stride + 11, count * width},
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
          check_strided(*GetParam(), Shape::kStrided, width, {2, count * width, rows},
                        {count, width, stride}, stream, 64, 64, count % 3, width % 3);
        }
        check_strided(*GetParam(), Shape::kStrided, width,
                      {2, count * width, (std::abs(stride) + width) * count + 13},
                      {count, width, stride}, false, 64, 64, count % 3, width % 3, 3);
      }
    }
  }
}

// More than the first-level cache holds: other moves for some widths.
TEST_P(Kernels, StridedBeyondTheFirstLevel) {
  for (int64_t width : {8, 24, 32, 64, 96, 160, 700}) {
    const int64_t stride = width + 64 + width % 3;
    for (const int64_t ahead : {0, 3}) {
      check_strided(*GetParam(), Shape::kStrided, width, {2, 301 * stride, 301 * width},
                    {301, stride, width}, false, 64, 64, 1, 2, ahead);
      check_strided(*GetParam(), Shape::kStrided, width, {2, 301 * width, 301 * stride},
                    {301, width, stride}, false, 64, 64, 2, 1, ahead);
    }
  }
}

// Whole lines by narrow moves, on the lines and off them, packed and unpacked.
TEST_P(Kernels, StridedByPieces) {
  for (int64_t width : {64, 128, 320}) {
    for (int64_t count : {15, 16, 17, 40, 41}) {
      for (int64_t shift : {0, 3, 5, 64}) {
        check_strided(*GetParam(), Shape::kStrided, width, {2, count * 1024, count * width},
                      {count, 1024, width}, false, 64, 64, shift, shift);
        check_strided(*GetParam(), Shape::kStrided, width, {2, count * width, count * -2048},
                      {count, width, -2048}, false, 64, 64, shift, shift);
      }
    }
  }
}

// So many in a row that loads may be paced.
TEST_P(Kernels, StridedLongRows) {
  for (int64_t width : {1, 2, 4, 8, 16, 64}) {
    for (int64_t stride : {0, 77, 256, -131}) {
      check_strided(*GetParam(), Shape::kStrided, width, {2, 517 * stride + 5, 517 * width},
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

// Sizes around the register tiles (4 to 16), the line and the staged blocks; pitches that keep
// lines aligned and not.
TEST_P(Kernels, TransposeAllShapes) {
  for (int64_t width : {1, 2, 4, 8, 16}) {
    for (int64_t rows : {1, 3, 4, 7, 8, 15, 16, 17, 33, 64, 70, 131, 200}) {
      for (int64_t cols : {1, 2, 5, 8, 16, 19, 32, 40, 67}) {
        for (int64_t pad : {int64_t{0}, width, 64 - rows * width % 64}) {
          const int64_t src_pitch = (cols * width + 63) / 64 * 64 + pad;
          const int64_t dst_pitch = rows * width + pad;
          const int64_t shift = (rows * 7 + cols) % 5 * width;
          for (bool stream : {false, true}) {
            check_strided(*GetParam(), Shape::kTranspose, width, {cols, width, dst_pitch},
                          {rows, src_pitch, width}, stream,
                          std::max<int64_t>(64 / width, rows % 2 == 0 ? 16 : 64), 32, shift, shift);
          }
        }
      }
    }
  }
}

TEST_P(Kernels, TransposeOddAlignments) {
  for (int64_t width : {2, 4, 8, 16}) {
    for (int64_t shift = 0; shift < 2 * width; ++shift) {
      for (bool stream : {false, true}) {
        check_strided(*GetParam(), Shape::kTranspose, width, {48, width, 100 * width},
                      {100, -64 * width, width}, stream, 64, 64, shift, shift);
        check_strided(*GetParam(), Shape::kTranspose, width, {48, width, 1024},
                      {64, 48 * width, width}, stream, 64, 16, 0, shift);
        check_strided(*GetParam(), Shape::kTranspose, width, {40, width, 101 * width + 1},
                      {101, 333, width}, stream, 64, 64, 0, shift);
      }
    }
  }
}

// Elements that no register tile is made of: whole strips of columns and what is left, blocks of
// rows and what is left, columns that begin anywhere in a line and end before its end.
TEST_P(Kernels, TransposeOtherWidths) {
  for (int64_t width : {3, 5, 7, 9, 12, 17, 24, 32, 33, 48, 63, 64, 65}) {
    for (int64_t rows : {1, 2, 11, 40, 131, 250}) {
      for (int64_t cols : {1, 16, 31, 33, 64, 65, 129}) {
        for (int64_t pad : {int64_t{0}, int64_t{1}, 64 - rows * width % 64}) {
          for (bool stream : {false, true}) {
            const int64_t row = cols * width;
            const int64_t src_pitch = rows % 2 == 0 ? row + pad : (row + 2047) / 2048 * 2048;
            const int64_t shift = (rows * 7 + cols) % 70;
            check_strided(*GetParam(), Shape::kTranspose, width, {cols, width, rows * width + pad},
                          {rows, src_pitch, width}, stream, cols % 2 == 0 ? 0 : 32, 32, shift,
                          shift);
          }
        }
      }
    }
  }
}

TEST_P(Kernels, TransposeOtherWidthsBackwards) {
  for (int64_t width : {3, 12, 40}) {
    check_strided(*GetParam(), Shape::kTranspose, width, {70, width, -300 * width - 5},
                  {300, -70 * width, width}, true, 0, 32, 9, 9);
    check_strided(*GetParam(), Shape::kTranspose, width, {70, width, 300 * width + 1},
                  {300, 7 * width, width}, true, 0, 32, 0, 3);  // rows of the source overlap
  }
}

// A whole page of columns and more: several sweeps, several blocks, each with its edges.
TEST_P(Kernels, TransposeLarge) {
  for (int64_t width : {4, 8}) {
    for (int64_t rows : {256, 259}) {
      for (bool stream : {false, true}) {
        check_strided(*GetParam(), Shape::kTranspose, width, {1100, width, rows * width},
                      {rows, 1100 * width, width}, stream, 32, 512, width, width);
      }
    }
  }
}

// Columns of whole pages: blocks of lines, whole ones and one that is short.
TEST_P(Kernels, TransposeOfPages) {
  for (int64_t width : {4, 8, 16}) {
    for (int64_t rows : {16, 80, 250, 300}) {
      for (int64_t shift : {int64_t{0}, width}) {
        check_strided(*GetParam(), Shape::kTranspose, width, {70, width, 8192}, {rows, 4096, width},
                      true, 32, 64, shift, shift);
      }
    }
  }
}

void check_list(const KernelTable& table, bool scatter, int64_t width,
                const std::vector<int64_t>& offsets, bool narrow, int64_t ahead = 0) {
  const std::vector<int32_t> places(offsets.begin(), offsets.end());
  const int64_t n = static_cast<int64_t>(offsets.size());
  const auto [least, most] = std::minmax_element(offsets.begin(), offsets.end());
  const int64_t outer_listed = *most - *least + width + 3;
  const Span listed = {std::min<int64_t>(0, *least),
                       outer_listed + std::max<int64_t>(0, *most) + width};
  const Span dense = {0, 2 * n * width};
  Arena arena(scatter ? dense : listed, scatter ? listed : dense, 1, 1);
  Move m;
  m.src = arena.src();
  m.dst = arena.dst();
  m.width = width;
  m.outer = scatter ? Dim{2, n * width, outer_listed} : Dim{2, outer_listed, n * width};
  m.inner.count = n;
  m.ahead = ahead;
  if (narrow) {
    m.places = places.data();
  } else {
    m.offsets = offsets.data();
  }
  const Kernel kernel = find_kernel(table, scatter ? Shape::kScatter : Shape::kGather, width);
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

TEST_P(Kernels, GatherAndScatter) {
  for (int64_t width : kWidthsToTest) {
    for (int64_t n : {1, 2, 5, 8, 17, 35}) {
      std::vector<int64_t> offsets;
      for (int64_t i = 0; i < n; ++i) offsets.push_back((i * 3 % n) * (width + 5) - 2 * width);
      for (const bool narrow : {false, true}) {
        check_list(*GetParam(), false, width, offsets, narrow);
        check_list(*GetParam(), true, width, offsets, narrow);
        check_list(*GetParam(), true, width, offsets, narrow, 4);
      }
    }
  }
}

void check_runs(const KernelTable& table, bool scatter, const std::vector<int64_t>& lengths) {
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
  Move m;
  m.src = arena.src();
  m.dst = arena.dst();
  m.outer = scatter ? Dim{2, packed.back(), at} : Dim{2, at, packed.back()};
  m.inner.count = static_cast<int64_t>(lengths.size());
  m.offsets = offsets.data();
  m.packed_offsets = packed.data();
  const Kernel kernel = find_kernel(table, scatter ? Shape::kScatterRuns : Shape::kGatherRuns, 0);
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
  check_runs(*GetParam(), false, kWidthsToTest);
  check_runs(*GetParam(), true, kWidthsToTest);
  check_runs(*GetParam(), false, {4, 24, 4});
  check_runs(*GetParam(), true, {4, 24, 4});
}

TEST_P(Kernels, NothingToMove) {
  std::byte src{1};
  std::byte dst{2};
  for (const Shape shape : {Shape::kStrided, Shape::kTranspose, Shape::kGather, Shape::kScatter}) {
    for (int64_t width : {1, 8, 100}) {
      Move m;
      m.src = &src;
      m.dst = &dst;
      m.width = width;
      m.outer.count = 0;
      m.inner.count = 0;
      m.tile_rows = 64;
      m.tile_cols = 64;
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
  for (int shape = 0; shape < kShapes; ++shape) {
    EXPECT_NE(find_kernel(reference, static_cast<Shape>(shape), 7).fn, nullptr);
  }
}

TEST(Registry, TheMostSpecialisedKernelFirst) {
  const KernelTable& best = *kernel_tables().front();
  EXPECT_EQ(find_kernel(best, Shape::kStrided, 8).width, Width::k8);
  EXPECT_EQ(find_kernel(best, Shape::kStrided, 24).width, Width::kAny);
  EXPECT_EQ(find_kernel(best, Shape::kTranspose, 12).id(),
            "transpose.any." + std::string(best.isa));
  EXPECT_EQ(find_kernel(best, Shape::kStrided, 8).id(), "strided.w8." + std::string(best.isa));
}

TEST(Registry, NamesAreFound) {
  for (const KernelTable* table : kernel_tables()) EXPECT_EQ(find_table(table->isa), table);
  EXPECT_EQ(find_table("no such target"), nullptr);
}

}  // namespace
}  // namespace lacuna
