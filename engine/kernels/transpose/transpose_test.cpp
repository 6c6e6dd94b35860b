// SPDX-License-Identifier: BSD-3-Clause
//
// The transposes of every table against their definition.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/kernel_check.hpp"

namespace lacuna {
namespace {

class Transposes : public ::testing::TestWithParam<const KernelTable*> {};

// Sizes around the register tiles (4 to 16), the line and the staged blocks; pitches that keep
// lines aligned and not.
TEST_P(Transposes, AllShapes) {
  for (int64_t width : {1, 2, 4, 8, 16}) {
    for (int64_t rows : {1, 3, 4, 7, 8, 15, 16, 17, 33, 64, 70, 131, 200}) {
      for (int64_t cols : {1, 2, 5, 8, 16, 19, 32, 40, 67}) {
        for (int64_t pad : {int64_t{0}, width, 64 - rows * width % 64}) {
          const int64_t src_pitch = (cols * width + 63) / 64 * 64 + pad;
          const int64_t dst_pitch = rows * width + pad;
          const int64_t shift = (rows * 7 + cols) % 5 * width;
          for (bool stream : {false, true}) {
            check_strided(*GetParam(), Strategy::kTranspose, width, {cols, width, dst_pitch},
                          {rows, src_pitch, width}, stream,
                          std::max<int64_t>(64 / width, rows % 2 == 0 ? 16 : 64), 32, shift, shift);
          }
        }
      }
    }
  }
}

TEST_P(Transposes, OddAlignments) {
  for (int64_t width : {2, 4, 8, 16}) {
    for (int64_t shift = 0; shift < 2 * width; ++shift) {
      for (bool stream : {false, true}) {
        check_strided(*GetParam(), Strategy::kTranspose, width, {48, width, 100 * width},
                      {100, -64 * width, width}, stream, 64, 64, shift, shift);
        check_strided(*GetParam(), Strategy::kTranspose, width, {48, width, 1024},
                      {64, 48 * width, width}, stream, 64, 16, 0, shift);
        check_strided(*GetParam(), Strategy::kTranspose, width, {40, width, 101 * width + 1},
                      {101, 333, width}, stream, 64, 64, 0, shift);
      }
    }
  }
}

// Elements without register tiles: whole strips of columns and the rest, blocks of rows and the
// rest, columns that begin and end anywhere in a line.
TEST_P(Transposes, OtherWidths) {
  for (int64_t width : {3, 5, 7, 9, 12, 17, 24, 32, 33, 48, 63, 64, 65}) {
    for (int64_t rows : {1, 2, 11, 40, 131, 250}) {
      for (int64_t cols : {1, 16, 31, 33, 64, 65, 129}) {
        for (int64_t pad : {int64_t{0}, int64_t{1}, 64 - rows * width % 64}) {
          for (bool stream : {false, true}) {
            const int64_t row = cols * width;
            const int64_t src_pitch = rows % 2 == 0 ? row + pad : (row + 2047) / 2048 * 2048;
            const int64_t shift = (rows * 7 + cols) % 70;
            check_strided(*GetParam(), Strategy::kTranspose, width,
                          {cols, width, rows * width + pad}, {rows, src_pitch, width}, stream,
                          cols % 2 == 0 ? 0 : 32, 32, shift, shift);
          }
        }
      }
    }
  }
}

TEST_P(Transposes, OtherWidthsBackwards) {
  for (int64_t width : {3, 12, 40}) {
    check_strided(*GetParam(), Strategy::kTranspose, width, {70, width, -300 * width - 5},
                  {300, -70 * width, width}, true, 0, 32, 9, 9);
    check_strided(*GetParam(), Strategy::kTranspose, width, {70, width, 300 * width + 1},
                  {300, 7 * width, width}, true, 0, 32, 0, 3);  // rows of the source overlap
  }
}

// More than a page of columns: several sweeps and blocks, each with its edges.
TEST_P(Transposes, Large) {
  for (int64_t width : {4, 8}) {
    for (int64_t rows : {256, 259}) {
      for (bool stream : {false, true}) {
        check_strided(*GetParam(), Strategy::kTranspose, width, {1100, width, rows * width},
                      {rows, 1100 * width, width}, stream, 32, 512, width, width);
      }
    }
  }
}

// Columns of whole pages: whole and partial blocks of lines, diagonals, and different numbers of
// columns before and after the whole lines of the source.
TEST_P(Transposes, OfPages) {
  for (int64_t width : {4, 8, 16}) {
    for (int64_t rows : {16, 80, 250, 264, 300}) {
      for (int64_t shift : {int64_t{0}, width, 64 - width}) {
        check_strided(*GetParam(), Strategy::kTranspose, width, {70, width, 8192},
                      {rows, 4096, width}, true, 32, 64, shift, shift);
        check_strided(*GetParam(), Strategy::kTranspose, width, {70, width, 8256},
                      {rows, 4096, width}, false, 32, 64, shift, 0);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Transposes,
                         ::testing::ValuesIn(kernel_tables().begin(), kernel_tables().end()),
                         name_of);

}  // namespace
}  // namespace lacuna
