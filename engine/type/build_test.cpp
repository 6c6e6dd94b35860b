// SPDX-License-Identifier: BSD-3-Clause
//
// The constructors against numbers worked out by hand from MPI 5.0 chapter 5 (its own examples
// among them), every rule for an argument, and overflow.
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "type/text.hpp"
#include "type/type.hpp"

namespace lacuna {
namespace {

// What MPI_Type_size, _get_extent and _get_true_extent would answer, bounds instead of extents.
struct Numbers {
  int64_t size, lb, ub, true_lb, true_ub;
  bool operator==(const Numbers&) const = default;
};

void PrintTo(const Numbers& n, std::ostream* out) {
  *out << "size " << n.size << ", lb " << n.lb << ", ub " << n.ub << ", true " << n.true_lb
       << " to " << n.true_ub;
}

TypePtr must(const Result<TypePtr>& type) {
  if (!type) {
    ADD_FAILURE() << type.error().message;
    return make_named(*find_basic("byte"));
  }
  return *type;
}

TypePtr parsed(const char* text) { return must(parse_type(text)); }

Numbers numbers(const TypePtr& type) {
  return {type->size_bytes, type->lb, type->ub, type->true_lb, type->true_ub};
}

Numbers numbers(const char* text) { return numbers(parsed(text)); }

TypePtr named(const char* name) { return make_named(*find_basic(name)); }

TEST(Build, Named) {
  EXPECT_EQ(numbers("double"), (Numbers{8, 0, 8, 0, 8}));
  EXPECT_EQ(numbers("double_int"), (Numbers{12, 0, 16, 0, 12}));
  EXPECT_EQ(numbers("short_int"), (Numbers{6, 0, 8, 0, 8}));
  EXPECT_EQ(numbers("long_double_int"), (Numbers{20, 0, 32, 0, 20}));
}

// The standard's running example: a double at 0 and a char at 8, which a C struct pads to 16.
constexpr const char* kDoubleChar = "struct([1, 1], [0, 8], [double, char])";

TypePtr double_char() { return parsed(kDoubleChar); }

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
  // An extent that is a multiple already stays, whatever the bounds.
  EXPECT_EQ(numbers("struct([2], [-3], [int])"), (Numbers{8, -3, 5, -3, 5}));
}

TEST(Build, StructAlignmentComesFromWhatItHolds) {
  // The double has no copies, the empty type no data: neither asks for an alignment.
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
  // Data without markers beside them do not count for lb and ub, wherever they are; nor is the
  // extent padded.
  EXPECT_EQ(numbers("struct([1, 1], [0, 8], [resized(0, 8, double), char])"),
            (Numbers{9, 0, 8, 0, 9}));
  EXPECT_EQ(numbers("struct([1, 1], [-50, 40], [int, resized(-1, 5, char)])"),
            (Numbers{5, 39, 44, -50, 41}));
  EXPECT_EQ(numbers("struct([1, 1], [40, -50], [resized(-1, 5, char), int])"),
            (Numbers{5, 39, 44, -50, 41}));
  // Of two markers the least and the greatest.
  EXPECT_EQ(numbers("struct([1, 1], [0, 16], [resized(2, 4, int), resized(-30, 8, int)])"),
            (Numbers{8, -14, 6, 0, 20}));
  // A marker counts where there is no data at all.
  EXPECT_EQ(numbers("struct([1, 1], [4, 0], [resized(0, 8, contiguous(0, int)), int])"),
            (Numbers{4, 4, 12, 0, 4}));
  // A copy that is not there has none.
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
  // A library that knows better.
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

// ---- rules for the arguments ----

void expect_refused(const Result<TypePtr>& type, lacuna_status status, const std::string& message) {
  ASSERT_FALSE(type.ok()) << "no error: " << message;
  EXPECT_EQ(type.error().status, status) << type.error().message;
  EXPECT_EQ(type.error().message, message);
}

void expect_invalid(const Result<TypePtr>& type, const std::string& message) {
  expect_refused(type, LACUNA_INVALID_ARGUMENT, message);
}

TEST(Arguments, CountsAndBlocklengthsAreNotNegative) {
  const TypePtr t = named("int");
  const std::string rule = "; it must be 0 or more";
  expect_invalid(make_contiguous(-1, t), "contiguous: count is -1" + rule);
  expect_invalid(make_vector(-2, 1, 1, t), "vector: count is -2" + rule);
  expect_invalid(make_vector(2, -1, 1, t), "vector: blocklength is -1" + rule);
  expect_invalid(make_hvector(INT64_MIN, 1, 1, t), "hvector: count is -9223372036854775808" + rule);
  expect_invalid(make_hvector(0, -1, 1, t), "hvector: blocklength is -1" + rule);
  expect_invalid(make_indexed({1, 2, -3}, {0, 0, 0}, t), "indexed: blocklengths[2] is -3" + rule);
  expect_invalid(make_hindexed({-1}, {0}, t), "hindexed: blocklengths[0] is -1" + rule);
  expect_invalid(make_indexed_block(-1, {0}, t), "indexed_block: blocklength is -1" + rule);
  expect_invalid(make_hindexed_block(-7, {}, t), "hindexed_block: blocklength is -7" + rule);
  expect_invalid(make_struct({1, -1}, {0, 0}, {t, t}), "struct: blocklengths[1] is -1" + rule);
}

TEST(Arguments, ListsHaveEquallyManyEntries) {
  const TypePtr t = named("int");
  const std::string rule = "; they must have equally many";
  expect_invalid(make_indexed({1}, {0, 0}, t),
                 "indexed: blocklengths has 1 entries, displacements has 2" + rule);
  expect_invalid(make_hindexed({1, 1}, {}, t),
                 "hindexed: blocklengths has 2 entries, displacements has 0" + rule);
  expect_invalid(make_struct({1}, {}, {t}),
                 "struct: blocklengths has 1 entries, displacements has 0" + rule);
  expect_invalid(make_struct({1}, {0}, {t, t}),
                 "struct: blocklengths has 1 entries, oldtypes has 2" + rule);
  expect_invalid(make_subarray({4}, {1, 1}, {0}, Order::kC, t),
                 "subarray: sizes has 1 entries, subsizes has 2" + rule);
  expect_invalid(make_subarray({4}, {1}, {}, Order::kC, t),
                 "subarray: sizes has 1 entries, starts has 0" + rule);
  using enum Distribution;
  expect_invalid(make_darray(1, 0, {4}, {}, {1}, {1}, Order::kC, t),
                 "darray: gsizes has 1 entries, distribs has 0" + rule);
  expect_invalid(make_darray(1, 0, {4}, {kBlock}, {4, 4}, {1}, Order::kC, t),
                 "darray: gsizes has 1 entries, dargs has 2" + rule);
  expect_invalid(make_darray(1, 0, {4}, {kBlock}, {4}, {1, 1}, Order::kC, t),
                 "darray: gsizes has 1 entries, psizes has 2" + rule);
}

TEST(Arguments, SubarraysLieInTheArray) {
  const TypePtr t = named("int");
  const auto make = [&](std::vector<int64_t> sizes, std::vector<int64_t> subsizes,
                        std::vector<int64_t> starts) {
    return make_subarray(std::move(sizes), std::move(subsizes), std::move(starts), Order::kC, t);
  };
  expect_invalid(make({}, {}, {}), "subarray: sizes is empty; an array has at least 1 dimension");
  expect_invalid(make({4, 0}, {1, 1}, {0, 0}), "subarray: sizes[1] is 0; it must be 1 or more");
  expect_invalid(make({4}, {0}, {0}),
                 "subarray: subsizes[0] is 0; it must be from 1 to sizes[0] = 4");
  expect_invalid(make({4}, {5}, {0}),
                 "subarray: subsizes[0] is 5; it must be from 1 to sizes[0] = 4");
  expect_invalid(make({4}, {2}, {-1}),
                 "subarray: starts[0] is -1; it must be from 0 to sizes - subsizes = 2");
  expect_invalid(make({4}, {2}, {3}),
                 "subarray: starts[0] is 3; it must be from 0 to sizes - subsizes = 2");
  EXPECT_TRUE(make({4}, {2}, {2}).ok());
}

TEST(Arguments, DarraysHaveAProcessGrid) {
  const TypePtr t = named("int");
  using enum Distribution;
  const auto make = [&](int64_t size, int64_t rank, int64_t gsize, Distribution d, int64_t darg,
                        int64_t psize) {
    return make_darray(size, rank, {gsize}, {d}, {darg}, {psize}, Order::kC, t);
  };
  expect_invalid(make_darray(1, 0, {}, {}, {}, {}, Order::kC, t),
                 "darray: gsizes is empty; an array has at least 1 dimension");
  expect_invalid(make(0, 0, 4, kBlock, 4, 1), "darray: size is 0; it must be 1 or more");
  expect_invalid(make(2, 2, 4, kBlock, 2, 2),
                 "darray: rank is 2; it must be from 0 to size - 1 = 1");
  expect_invalid(make(2, -1, 4, kBlock, 2, 2),
                 "darray: rank is -1; it must be from 0 to size - 1 = 1");
  expect_invalid(make(2, 0, 0, kBlock, 2, 2), "darray: gsizes[0] is 0; it must be 1 or more");
  expect_invalid(make(2, 0, 4, kBlock, 2, 0), "darray: psizes[0] is 0; it must be 1 or more");
  expect_invalid(make(2, 0, 4, kNone, 2, 2),
                 "darray: psizes[0] is 2; it must be 1 where the distribution is none");
  expect_invalid(make(2, 0, 4, kCyclic, 0, 2),
                 "darray: dargs[0] is 0; it must be 1 or more, or default");
  expect_invalid(make(2, 0, 4, kBlock, -2, 2),
                 "darray: dargs[0] is -2; it must be 1 or more, or default");
  expect_invalid(
      make(2, 0, 5, kBlock, 2, 2),
      "darray: dargs[0] is 2; in a block distribution it must be at least gsize / psize, "
      "here 3");
  expect_invalid(make(3, 0, 5, kBlock, 3, 2),
                 "darray: size is 3; it must be the product of psizes, here 2");
  expect_invalid(
      make_darray(4, 0, {4, 4}, {kBlock, kBlock}, {4, 4}, {int64_t{1} << 32, int64_t{1} << 32},
                  Order::kC, t),
      "darray: size is 4; it must be the product of psizes, here more than 64 bits hold");
  EXPECT_TRUE(make(1, 0, 4, kNone, -99, 1).ok()) << "none has no use for darg";
  EXPECT_TRUE(make(2, 0, 4, kBlock, INT64_MAX, 2).ok());
  EXPECT_TRUE(make(2, 1, 5, kCyclic, INT64_MAX, 2).ok());
}

TEST(Arguments, PredefinedOnes) {
  const TypePtr t = named("int");
  const std::string rule = " must be a predefined type that is not a pair";
  expect_invalid(make_value_index(double_char(), t), "value_index: value" + rule);
  expect_invalid(make_value_index(t, named("2int")), "value_index: index" + rule);
  expect_invalid(make_value_index(t, nullptr), "value_index: index is null; it must be a type");
  expect_invalid(make_f90_real(kUndefined, kUndefined),
                 "f90_real: precision is -32766; precision and range must not both be undefined");
  const std::string most = ", what gfortran's widest real has";
  expect_invalid(make_f90_real(34, 10),
                 "f90_real: precision is 34; it must be undefined or from 0 to 33" + most);
  expect_invalid(make_f90_complex(6, 4932),
                 "f90_complex: range is 4932; it must be undefined or from 0 to 4931" + most);
  expect_invalid(make_f90_real(-1, 10),
                 "f90_real: precision is -1; it must be undefined or from 0 to 33" + most);
  expect_invalid(make_f90_integer(39), "f90_integer: range is 39; it must be from 0 to 38");
  expect_invalid(make_f90_integer(-1), "f90_integer: range is -1; it must be from 0 to 38");
  expect_invalid(make_f90_integer(5, find_basic("2int")),
                 "f90_integer: the representation is 2int; it must not be a pair type");
}

TEST(Arguments, ChildrenAreThere) {
  expect_invalid(make_dup(nullptr), "dup: oldtype is null; it must be a type");
  expect_invalid(make_resized(0, 0, nullptr), "resized: oldtype is null; it must be a type");
  expect_invalid(make_struct({1, 1}, {0, 0}, {named("int"), nullptr}),
                 "struct: oldtypes[1] is null; it must be a type");
}

TEST(Arguments, DepthHasALimit) {
  TypePtr type = named("int");
  for (int i = 0; i < kMaxDepth; ++i) type = must(make_dup(type));
  EXPECT_EQ(type->depth, kMaxDepth);
  const std::string rule = ": the type would be 257 constructors deep; the limit is 256";
  expect_refused(make_contiguous(1, type), LACUNA_UNSUPPORTED, "contiguous" + rule);
  expect_refused(make_struct({1, 1}, {0, 0}, {named("int"), type}), LACUNA_UNSUPPORTED,
                 "struct" + rule);
}

// Each of them stands twice in the next: 22 handles, which every walk would go through 2^22 times.
TEST(Arguments, PartsHaveALimitHoweverTheyAreShared) {
  TypePtr type = named("int");
  for (int i = 0; i < 22; ++i)
    type = must(make_struct({1, 1}, {0, 2 * type->extent() + 4}, {type, type}));
  EXPECT_EQ(type->parts, kMaxParts - 1);
  const std::string rule =
      ": the type would have more than 4194304 parts, each as often as it stands in it; that is "
      "the limit";
  expect_refused(make_struct({1, 1}, {0, 0}, {type, type}), LACUNA_UNSUPPORTED, "struct" + rule);
  type = must(make_dup(type));
  EXPECT_EQ(type->parts, kMaxParts);
  expect_refused(make_resized(0, 8, type), LACUNA_UNSUPPORTED, "resized" + rule);
}

TEST(Arguments, WhatDoesNotFit64BitsIsOverflow) {
  const int64_t most = INT64_MAX;
  const int64_t least = INT64_MIN;
  for (const auto& [name, type] : std::vector<std::pair<std::string, Result<TypePtr>>>{
           {"contiguous", make_contiguous(most, named("short"))},
           {"contiguous", make_contiguous(2'000'000'000, parsed("contiguous(1000000000, double)"))},
           {"vector", make_vector(int64_t{1} << 32, int64_t{1} << 31, 0, named("byte"))},
           {"vector", make_vector(3, 1, most / 8, named("double"))},
           {"vector", make_vector(3, 1, least / 8, named("double"))},
           {"hvector", make_hvector(3, 1, most / 2, named("short"))},
           {"hvector", make_hvector(2, 1, least, parsed("hindexed([1], [-1], byte)"))},
           {"indexed", make_indexed({1, 1}, {0, most / 4}, named("double"))},
           {"indexed", make_indexed({most, most}, {0, 0}, named("byte"))},
           {"hindexed", make_hindexed({1}, {most}, named("byte"))},
           {"hindexed", make_hindexed({1, 1}, {least, 0}, named("byte"))},  // the extent
           {"indexed_block", make_indexed_block(1, {least}, named("short"))},
           {"hindexed_block", make_hindexed_block(8, {most - 16}, named("int"))},
           {"struct", make_struct({1, 1}, {least, most - 8}, {named("byte"), named("byte")})},
           {"struct",
            make_struct({1, 1}, {0, most - 1}, {named("int"), named("byte")})},  // padding
           {"struct", make_struct({most, most}, {0, 0}, {named("byte"), named("byte")})},
           {"resized", make_resized(most, 1, named("byte"))},
           {"resized", make_resized(least, -1, named("byte"))},
           {"subarray", make_subarray({most, most}, {1, 1}, {0, 0}, Order::kC, named("byte"))},
           {"darray", make_darray(1, 0, {most, 4}, {Distribution::kNone, Distribution::kNone},
                                  {1, 1}, {1, 1}, Order::kFortran, named("byte"))}}) {
    expect_refused(type, LACUNA_OVERFLOW,
                   name +
                       ": the size or a bound of the type does not fit 64 bits "
                       "(at most 9223372036854775807 bytes)");
  }
  // The same numbers where they do fit: no copy uses them, or they end at the last byte there is.
  EXPECT_TRUE(make_vector(1, 1, most, named("double")).ok());
  EXPECT_TRUE(make_indexed({0, 1}, {most, 0}, named("double")).ok());
  EXPECT_TRUE(make_hindexed({1}, {most - 1}, named("byte")).ok());
  EXPECT_TRUE(make_contiguous(1'000'000'000, parsed("contiguous(1000000000, double)")).ok());
  EXPECT_TRUE(make_resized(least, most, named("byte")).ok());
}

}  // namespace
}  // namespace lacuna
