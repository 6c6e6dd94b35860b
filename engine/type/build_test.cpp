// SPDX-License-Identifier: BSD-3-Clause
//
// The constructors compared with numbers computed by hand, and with examples of MPI 5.0 chapter 5.
#include "type/build_test.hpp"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace lacuna {
namespace {

// What MPI_Type_size, _get_extent and _get_true_extent would return, as bounds.
struct Numbers {
  int64_t size, lb, ub, true_lb, true_ub;
  bool operator==(const Numbers&) const = default;
};

void PrintTo(const Numbers& n, std::ostream* out) {
  *out << "size " << n.size << ", lb " << n.lb << ", ub " << n.ub << ", true " << n.true_lb
       << " to " << n.true_ub;
}

Numbers numbers(const TypePtr& type) {
  return {type->size_bytes, type->lb, type->ub, type->true_lb, type->true_ub};
}

Numbers numbers(const char* text) { return numbers(parsed(text)); }

TEST(Build, Named) {
  EXPECT_EQ(numbers("double"), (Numbers{8, 0, 8, 0, 8}));
  EXPECT_EQ(numbers("double_int"), (Numbers{12, 0, 16, 0, 12}));
  EXPECT_EQ(numbers("short_int"), (Numbers{6, 0, 8, 0, 8}));
  EXPECT_EQ(numbers("long_double_int"), (Numbers{20, 0, 32, 0, 20}));
}

TEST(Build, StructIsPaddedAsCWould) {
  const TypePtr type = double_char();
  EXPECT_EQ(numbers(type), (Numbers{9, 0, 16, 0, 9}));
  EXPECT_EQ(type->alignment_bytes, 8);
  EXPECT_FALSE(type->lb_marker);
  // MPI 5.0, example of MPI_Type_create_struct: floats at 0 and 4, the pair at 16, chars at 26,
  // 27, 28.
  EXPECT_EQ(numbers(must(make_struct({2, 1, 3}, {0, 16, 26},
                                     {named("float"), double_char(), named("char")}))),
            (Numbers{20, 0, 32, 0, 29}));
  EXPECT_EQ(numbers("struct([1, 1], [0, 4], [int, char])"), (Numbers{5, 0, 8, 0, 5}));
  EXPECT_EQ(numbers("struct([3], [0], [char])"), (Numbers{3, 0, 3, 0, 3}));
  EXPECT_EQ(numbers("struct([1, 1], [0, 16], [long_double, char])"), (Numbers{17, 0, 32, 0, 17}));
}

TEST(Build, StructPadsItsExtentFromANegativeLowerBound) {
  // From -3 to 4 is 7 bytes; the next multiple of 4 ends at 5.
  EXPECT_EQ(numbers("struct([1, 1], [-3, 0], [char, int])"), (Numbers{5, -3, 5, -3, 4}));
  EXPECT_EQ(numbers("struct([1, 1], [-8, -16], [char, double])"), (Numbers{9, -16, 0, -16, -7}));
  // An extent that already is a multiple of the alignment stays, whatever the bounds.
  EXPECT_EQ(numbers("struct([2], [-3], [int])"), (Numbers{8, -3, 5, -3, 5}));
}

TEST(Build, StructAlignmentComesFromWhatItHolds) {
  // The double has no copies, the empty type no data: neither adds an alignment.
  EXPECT_EQ(numbers("struct([0, 1], [0, 1], [double, char])"), (Numbers{1, 1, 2, 1, 2}));
  EXPECT_EQ(numbers("struct([1, 1], [0, 1], [contiguous(0, double), char])"),
            (Numbers{1, 1, 2, 1, 2}));
  EXPECT_EQ(parsed("vector(2, 1, 3, contiguous(2, short))")->alignment_bytes, 2);
  EXPECT_EQ(numbers("struct([1, 1], [0, 2], [hvector(2, 1, 1, byte), dup(short)])"),
            (Numbers{4, 0, 4, 0, 4}));
}

TEST(Build, Contiguous) {
  EXPECT_EQ(numbers(must(make_contiguous(3, double_char()))), (Numbers{27, 0, 48, 0, 41}));
  EXPECT_EQ(numbers("contiguous(1, int)"), (Numbers{4, 0, 4, 0, 4}));
}

TEST(Build, Dup) { EXPECT_EQ(numbers(must(make_dup(double_char()))), numbers(double_char())); }

TEST(Build, Vector) {
  EXPECT_EQ(numbers(must(make_vector(2, 3, 4, double_char()))), (Numbers{54, 0, 112, 0, 105}));
  EXPECT_EQ(numbers(must(make_vector(3, 1, -2, double_char()))), (Numbers{27, -64, 16, -64, 9}));
  EXPECT_EQ(numbers("vector(5, 2, 0, int)"), (Numbers{40, 0, 8, 0, 8}));
  EXPECT_EQ(numbers("vector(1000, 1, 1000, double)"), (Numbers{8000, 0, 7992008, 0, 7992008}));
}

TEST(Build, Hvector) {
  EXPECT_EQ(numbers("hvector(3, 2, 10, int)"), (Numbers{24, 0, 28, 0, 28}));
  EXPECT_EQ(numbers("hvector(3, 1, -5, int)"), (Numbers{12, -10, 4, -10, 4}));
  EXPECT_EQ(numbers("hvector(4, 1, 1, double)"), (Numbers{32, 0, 11, 0, 11}));
}

TEST(Build, IndexedInItsFourForms) {
  EXPECT_EQ(numbers(must(make_indexed({3, 1}, {4, 0}, double_char()))),
            (Numbers{36, 0, 112, 0, 105}));
  EXPECT_EQ(numbers(must(make_hindexed({3, 1}, {64, 0}, double_char()))),
            (Numbers{36, 0, 112, 0, 105}));
  EXPECT_EQ(numbers("indexed([1, 2], [-2, 5], int)"), (Numbers{12, -8, 28, -8, 28}));
  EXPECT_EQ(numbers("hindexed([1, 2], [7, -9], short)"), (Numbers{6, -9, 9, -9, 9}));
  EXPECT_EQ(numbers("indexed_block(2, [5, 0, 9], int)"), (Numbers{24, 0, 44, 0, 44}));
  EXPECT_EQ(numbers("hindexed_block(2, [5, -1, 20], int)"), (Numbers{24, -1, 28, -1, 28}));
}

TEST(Build, CopiesThatAreNotThereHaveNoPlace) {
  const Numbers nothing{0, 0, 0, 0, 0};
  for (const char* text :
       {"contiguous(0, int)", "vector(0, 3, 5, int)", "vector(3, 0, 5, int)",
        "hvector(0, 1, 7, int)", "hvector(9, 0, 7, int)", "indexed([], [], int)",
        "indexed([0, 0], [3, 9], int)", "hindexed([0], [-5], int)", "indexed_block(0, [7], int)",
        "indexed_block(4, [], int)", "hindexed_block(0, [7], int)", "struct([], [], [])",
        "struct([0], [8], [int])", "dup(contiguous(0, double))",
        "contiguous(7, vector(0, 1, 1, int))", "hindexed([3], [100], contiguous(0, int))"}) {
    EXPECT_EQ(numbers(text), nothing) << text;
    EXPECT_EQ(parsed(text)->alignment_bytes, 1) << text;
    EXPECT_EQ(parsed(text)->signature.length, 0) << text;
    EXPECT_FALSE(parsed(text)->ub_marker) << text;
  }
  EXPECT_EQ(numbers("indexed([2, 0], [1, 100], int)"), (Numbers{8, 4, 12, 4, 12}));
  EXPECT_EQ(numbers("struct([1, 0, 1], [0, -100, 4], [int, int, int])"), (Numbers{8, 0, 8, 0, 8}));
}

TEST(Build, ResizedSetsMarkersAndKeepsTheTrueExtent) {
  EXPECT_EQ(numbers("resized(0, 8, vector(1024, 1, 1024, double))"),
            (Numbers{8192, 0, 8, 0, 1023 * 8192 + 8}));
  EXPECT_EQ(numbers("resized(-4, 20, int)"), (Numbers{4, -4, 16, 0, 4}));
  EXPECT_EQ(numbers("resized(5, -12, int)"), (Numbers{4, 5, -7, 0, 4}));
  EXPECT_EQ(numbers("resized(3, 9, contiguous(0, int))"), (Numbers{0, 3, 12, 0, 0}));
  EXPECT_TRUE(parsed("resized(0, 4, int)")->lb_marker);
  EXPECT_TRUE(parsed("resized(0, 4, int)")->ub_marker);
  // The outermost one counts.
  EXPECT_EQ(numbers("resized(1, 2, resized(-100, 500, int))"), (Numbers{4, 1, 3, 0, 4}));
}

// MPI 5.0, 5.1.7: an int with bounds -3 and 6, twice.
TEST(Build, MarkersAreSticky) {
  EXPECT_EQ(numbers("contiguous(2, resized(-3, 9, int))"), (Numbers{8, -3, 15, 0, 13}));
  // With markers, entries that have none do not count for lb and ub, and the extent is not padded.
  EXPECT_EQ(numbers("struct([1, 1], [0, 8], [resized(0, 8, double), char])"),
            (Numbers{9, 0, 8, 0, 9}));
  EXPECT_EQ(numbers("struct([1, 1], [-50, 40], [int, resized(-1, 5, char)])"),
            (Numbers{5, 39, 44, -50, 41}));
  EXPECT_EQ(numbers("struct([1, 1], [40, -50], [resized(-1, 5, char), int])"),
            (Numbers{5, 39, 44, -50, 41}));
  // With several markers, the least lb and the greatest ub.
  EXPECT_EQ(numbers("struct([1, 1], [0, 16], [resized(2, 4, int), resized(-30, 8, int)])"),
            (Numbers{8, -14, 6, 0, 20}));
  // A marker counts without data, too.
  EXPECT_EQ(numbers("struct([1, 1], [4, 0], [resized(0, 8, contiguous(0, int)), int])"),
            (Numbers{4, 4, 12, 0, 4}));
  // Zero copies have no markers.
  EXPECT_EQ(numbers("struct([0, 1], [0, 1], [resized(0, 64, int), char])"),
            (Numbers{1, 1, 2, 1, 2}));
  EXPECT_FALSE(parsed("contiguous(0, resized(0, 64, int))")->lb_marker);
}

TEST(Build, NegativeAndZeroExtents) {
  EXPECT_EQ(numbers("contiguous(3, resized(0, -8, double))"), (Numbers{24, -16, -8, -16, 8}));
  EXPECT_EQ(numbers("contiguous(3, resized(0, 0, double))"), (Numbers{24, 0, 0, 0, 8}));
  EXPECT_EQ(numbers("vector(2, 1, 3, resized(4, -4, int))"), (Numbers{8, -8, 0, -12, 4}));
  EXPECT_EQ(numbers("indexed([1, 1], [0, 2], resized(0, -4, int))"), (Numbers{8, -8, -4, -8, 4}));
}

TEST(Build, Subarray) {
  // Rows 1 and 2, columns 2, 3, 4 of a 4 x 6 array of ints.
  EXPECT_EQ(numbers("subarray([4, 6], [2, 3], [1, 2], c, int)"), (Numbers{24, 0, 96, 32, 68}));
  EXPECT_EQ(numbers("subarray([6, 4], [3, 2], [2, 1], fortran, int)"),
            numbers("subarray([4, 6], [2, 3], [1, 2], c, int)"));
  EXPECT_EQ(numbers("subarray([6, 4], [3, 2], [2, 1], c, int)"), (Numbers{24, 0, 96, 36, 76}));
  EXPECT_EQ(numbers("subarray([5], [5], [0], c, double)"), (Numbers{40, 0, 40, 0, 40}));
  EXPECT_TRUE(parsed("subarray([5], [5], [0], c, double)")->ub_marker);
  // The lower bound is 0 whatever the element's.
  EXPECT_EQ(numbers("subarray([3], [1], [2], c, resized(-8, 16, int))"),
            (Numbers{4, 0, 48, 32, 36}));
  EXPECT_EQ(numbers("subarray([3], [2], [1], c, resized(0, -4, int))"),
            (Numbers{8, 0, -12, -8, 0}));
}

// MPI 5.0, 5.1.4: FILEARRAY(100, 200, 300) on PROCESSES(2, 3), distributed CYCLIC(10), *, BLOCK.
TEST(Build, DarrayOfTheStandard) {
  const auto process = [](int64_t rank) {
    using enum Distribution;
    return numbers(must(make_darray(6, rank, {100, 200, 300}, {kCyclic, kNone, kBlock},
                                    {10, kDefaultDarg, kDefaultDarg}, {2, 1, 3}, Order::kFortran,
                                    named("float"))));
  };
  const int64_t whole = 4 * 100 * 200 * 300;
  // The first dimension is the fastest: process 0 of 2 begins at 0 and ends with index 89, process
  // 1 at 10 and 99. Of the third dimension process k of 3 has 100 planes of 100 * 200 floats.
  const int64_t plane = 4 * 100 * 200;
  const int64_t row = 4 * 100;
  for (int64_t rank = 0; rank < 6; ++rank) {
    const int64_t first = rank / 3 * 10;  // row-major: the last dimension varies fastest
    const int64_t slab = rank % 3 * 100;
    EXPECT_EQ(process(rank), (Numbers{4 * 50 * 200 * 100, 0, whole, slab * plane + first * 4,
                                      (slab + 99) * plane + 199 * row + (first + 80 + 10) * 4}))
        << rank;
  }
}

TEST(Build, DarrayRanksAreRowMajorInEitherOrder) {
  const TypePtr c =
      parsed("darray(6, 4, [2, 3], [block, block], [default, default], [2, 3], c, int)");
  const TypePtr fortran =
      parsed("darray(6, 4, [2, 3], [block, block], [default, default], [2, 3], fortran, int)");
  EXPECT_EQ(darray_coords(*c), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(darray_coords(*fortran), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(c->true_lb, 4 * (1 * 3 + 1));
  EXPECT_EQ(fortran->true_lb, 4 * (1 + 1 * 2));
}

TEST(Build, DarrayOfAProcessThatOwnsNothing) {
  // Blocks of 2 over 4 processes: 0-1, 2-3, 4, none.
  EXPECT_EQ(numbers("darray(4, 2, [5], [block], [2], [4], c, int)"), (Numbers{4, 0, 20, 16, 20}));
  EXPECT_EQ(numbers("darray(4, 3, [5], [block], [2], [4], c, int)"), (Numbers{0, 0, 20, 0, 0}));
  EXPECT_EQ(numbers("darray(4, 3, [2, 3], [cyclic, none], [1, default], [4, 1], c, int)"),
            (Numbers{0, 0, 24, 0, 0}));
}

TEST(Build, ValueIndex) {
  const TypePtr pair = parsed("value_index(double, int)");
  EXPECT_EQ(numbers(pair), numbers("double_int"));
  EXPECT_EQ(pair->basic, find_basic("double_int"));
  EXPECT_EQ(signature_of(*pair).hash, signature_of(*parsed("double_int")).hash);
  EXPECT_EQ(parsed("value_index(integer, integer)")->basic, find_basic("2integer"));
  const TypePtr unnamed = parsed("value_index(char, long)");
  EXPECT_EQ(numbers(unnamed), (Numbers{9, 0, 16, 0, 16}));
  EXPECT_EQ(unnamed->basic, nullptr);
  EXPECT_EQ(unnamed->signature.length, 2);
  EXPECT_EQ(numbers("value_index(double, short)"), (Numbers{10, 0, 16, 0, 10}));
}

TEST(Build, FortranKinds) {
  const auto bytes = [](const Result<TypePtr>& type) { return must(type)->size_bytes; };
  EXPECT_EQ(bytes(make_f90_real(6, 37)), 4);
  EXPECT_EQ(bytes(make_f90_real(7, 37)), 8);
  EXPECT_EQ(bytes(make_f90_real(6, 38)), 8);
  EXPECT_EQ(bytes(make_f90_real(15, 307)), 8);
  EXPECT_EQ(bytes(make_f90_real(16, 307)), 16);
  EXPECT_EQ(bytes(make_f90_real(15, 308)), 16);
  EXPECT_EQ(bytes(make_f90_real(33, 4931)), 16);
  EXPECT_EQ(bytes(make_f90_real(kUndefined, 37)), 4);
  EXPECT_EQ(bytes(make_f90_real(15, kUndefined)), 8);
  EXPECT_EQ(bytes(make_f90_complex(6, 37)), 8);
  EXPECT_EQ(bytes(make_f90_complex(6, 38)), 16);
  EXPECT_EQ(bytes(make_f90_complex(kUndefined, 4931)), 32);
  const std::pair<int64_t, int64_t> integers[] = {{0, 1}, {2, 1},  {3, 2},  {4, 2},   {5, 4},
                                                  {9, 4}, {10, 8}, {18, 8}, {19, 16}, {38, 16}};
  for (const auto& [range, size] : integers)
    EXPECT_EQ(bytes(make_f90_integer(range)), size) << range;
  // A representation given by the library.
  const TypePtr half = must(make_f90_real(3, kUndefined, find_basic("real2")));
  EXPECT_EQ(numbers(half), (Numbers{2, 0, 2, 0, 2}));
  EXPECT_EQ(half->signature.uniform, find_basic("real2"));
}

TEST(Build, HugeCountsCostNothing) {
  const int64_t huge = int64_t{1} << 40;
  const TypePtr type = must(make_contiguous(huge, named("double")));
  EXPECT_EQ(type->size_bytes, huge * 8);
  EXPECT_EQ(type->signature.length, huge);
  EXPECT_EQ(type->signature.uniform, find_basic("double"));
  EXPECT_EQ(numbers(must(make_vector(huge, 1, 1 << 20, named("byte")))),
            (Numbers{huge, 0, ((huge - 1) << 20) + 1, 0, ((huge - 1) << 20) + 1}));
  EXPECT_EQ(
      parsed("subarray([1099511627776, 1024], [1, 7], [1099511627775, 0], fortran, byte)")->true_lb,
      huge - 1);
}

}  // namespace
}  // namespace lacuna
