// SPDX-License-Identifier: BSD-3-Clause
//
// Known layouts of known types, and the property that types of one typemap have one layout.
#include <gtest/gtest.h>

#include "layout/layout.hpp"
#include "property/disguise.hpp"
#include "type/random/random.hpp"
#include "type/text/text.hpp"

namespace lacuna {
namespace {

std::string lowered(const char* text) {
  auto type = parse_type(text);
  if (!type) return type.error().message;
  return dump(lower(*type.value()));
}

TEST(Lower, BasicsAreRuns) {
  EXPECT_EQ(lowered("double"), "run of 8 bytes\n");
  EXPECT_EQ(lowered("double_int"), "run of 12 bytes\n");
  EXPECT_EQ(lowered("short_int"), "runs 2 mem [0, 4] packed [0, 2, 6]\n");
}

TEST(Lower, ContiguousOfPairsKeepsTheirGap) {
  EXPECT_EQ(lowered("contiguous(5, double_int)"), "loop 5 mem +16 packed +12\n  run of 12 bytes\n");
}

TEST(Lower, EmptyTypes) {
  for (const char* text : {"contiguous(0, double)", "vector(5, 0, 3, int)", "struct([], [], [])",
                           "indexed([0, 0], [1, 2], int)"}) {
    EXPECT_EQ(lowered(text), "empty\n") << text;
  }
}

TEST(Lower, DenseConstructionsAreOneRun) {
  for (const char* text :
       {"contiguous(6, double)", "vector(3, 2, 2, double)", "hvector(2, 3, 24, double)",
        "indexed([1, 2, 3], [0, 1, 3], double)", "subarray([2, 3], [2, 3], [0, 0], c, double)",
        "struct([2, 8], [0, 16], [double, int])", "contiguous(2, contiguous(3, double))"}) {
    EXPECT_EQ(lowered(text), "run of 48 bytes\n") << text;
  }
}

TEST(Lower, ATransposeIsTwoLoops) {
  const char* want =
      "loop 100 mem +8 packed +800\n  loop 100 mem +800 packed +8\n    run of 8 bytes\n";
  EXPECT_EQ(lowered("contiguous(100, resized(0, 8, vector(100, 1, 100, double)))"), want);
  EXPECT_EQ(lowered("hvector(100, 1, 8, vector(100, 1, 100, double))"), want);
}

TEST(Lower, AVectorOfBytesInOneDirection) {
  EXPECT_EQ(lowered("vector(10, 2, 7, int)"), "loop 10 mem +28 packed +8\n  run of 8 bytes\n");
  EXPECT_EQ(lowered("vector(10, 2, -7, int)"), "loop 10 mem -28 packed +8\n  run of 8 bytes\n");
  EXPECT_EQ(lowered("vector(10, 2, 0, int)"), "loop 10 mem +0 packed +8\n  run of 8 bytes\n");
}

TEST(Lower, FacesOfACube) {
  EXPECT_EQ(lowered("subarray([8, 8, 8], [8, 8, 1], [0, 0, 3], c, double)"),
            "at +24: loop 64 mem +64 packed +8\n  run of 8 bytes\n");  // collapsed: the rows
                                                                       // continue each other
  EXPECT_EQ(lowered("subarray([8, 8, 8], [8, 1, 8], [0, 2, 0], c, double)"),
            "at +128: loop 8 mem +512 packed +64\n  run of 64 bytes\n");
  EXPECT_EQ(lowered("subarray([8, 8, 8], [1, 8, 8], [2, 0, 0], fortran, double)"),
            "at +16: loop 64 mem +64 packed +8\n  run of 8 bytes\n");
  EXPECT_EQ(
      lowered("subarray([8, 8, 8], [3, 4, 5], [1, 1, 1], c, double)"),
      "at +584: loop 3 mem +512 packed +160\n  loop 4 mem +64 packed +40\n    run of 40 bytes\n");
}

TEST(Lower, RegularListsAreLoops) {
  EXPECT_EQ(lowered("indexed([1, 1, 1, 1], [5, 8, 11, 14], int)"),
            "at +20: loop 4 mem +12 packed +4\n  run of 4 bytes\n");
  EXPECT_EQ(lowered("indexed_block(2, [9, 6, 3, 0], int)"),
            "at +36: loop 4 mem -12 packed +8\n  run of 8 bytes\n");
  // Two levels: pairs 3 apart, 100 apart.
  EXPECT_EQ(lowered("indexed_block(1, [0, 3, 100, 103, 200, 203], byte)"),
            "loop 3 mem +100 packed +2\n  loop 2 mem +3 packed +1\n    run of 1 bytes\n");
  // A period of runs of unequal lengths.
  EXPECT_EQ(lowered("hindexed([1, 2, 1, 2, 1, 2], [0, 4, 20, 24, 40, 44], byte)"),
            "loop 3 mem +20 packed +3\n  runs 2 mem [0, 4] packed [0, 1, 3]\n");
}

TEST(Lower, IrregularListsStayLists) {
  EXPECT_EQ(lowered("indexed_block(1, [0, 3, 7, 12], int)"),
            "blocks 4 mem [0, 12, 28, 48] packed +4\n  run of 4 bytes\n");
  EXPECT_EQ(lowered("indexed([1, 0, 2], [4, 9, 0], int)"),
            "at +16: runs 2 mem [0, -16] packed [0, 4, 12]\n");
}

TEST(Lower, AdjacentEntriesMerge) {
  EXPECT_EQ(lowered("indexed_block(1, [0, 1, 2, 7, 8, 9], int)"),
            "loop 2 mem +28 packed +12\n  run of 12 bytes\n");
  EXPECT_EQ(lowered("struct([1, 1], [0, 8], [double, int])"), "run of 12 bytes\n");
}

TEST(Lower, EqualVectorsOfAStructAreHoisted) {
  EXPECT_EQ(lowered("struct([1, 1, 1], [0, 800, 1600], [vector(10, 1, 10, double), vector(10, 1, "
                    "10, double), "
                    "hvector(10, 1, 80, double)])"),
            "loop 30 mem +80 packed +8\n  run of 8 bytes\n");
  EXPECT_EQ(
      lowered(
          "struct([1, 1, 1], [0, 8, 24], [vector(50, 1, 10, double), vector(50, 1, 10, double), "
          "vector(50, 1, 10, double)])"),
      "blocks 3 mem [0, 8, 24] packed +400\n  loop 50 mem +80 packed +8\n    run of 8 bytes\n");
}

TEST(Lower, UnlikePartsStayASequence) {
  EXPECT_EQ(lowered("struct([1, 1], [0, 8], [vector(50, 1, 10, double), vector(40, 1, 10, int)])"),
            "sequence of 2\n  loop 50 mem +80 packed +8\n    run of 8 bytes\n"
            "  at +8: loop 40 mem +40 packed +4\n    run of 4 bytes\n");
}

// For example lists of lists: an entry of a list is cheaper than a piece.
TEST(Lower, PiecesOfFewRunsAreOneList) {
  const auto kind = [](const std::string& text) {
    const std::string dump = lowered(text.c_str());
    return dump.substr(dump[0] == 'a' ? dump.find(": ") + 2 : 0, 6);
  };
  // Six pieces of 5 + 1 + 3 + 7 + 2 + 6 runs of four bytes.
  EXPECT_EQ(kind("indexed([5, 1, 3, 7, 2, 6], [0, 7, 9, 14, 22, 25], resized(0, 28, float))"),
            "blocks");
  // Unequal lengths, but few units in each run.
  EXPECT_EQ(kind("struct([1, 1], [0, 900], [vector(30, 1, 3, double), vector(7, 2, 7, double)])"),
            "runs 3");
  // Too many units in each run.
  EXPECT_EQ(kind("struct([1, 1], [0, 900], [vector(30, 1, 3, double), vector(9, 4, 7, double)])"),
            "sequen");
  // Too many runs; for narrow runs the limit is lower, since vectors move their loops.
  EXPECT_EQ(
      kind("struct([1, 1], [0, 9000], [vector(150, 1, 3, double), vector(50, 1, 2, double)])"),
      "sequen");
  EXPECT_EQ(kind("struct([1, 1], [0, 900], [vector(30, 1, 3, short), vector(30, 1, 2, short)])"),
            "sequen");
  EXPECT_EQ(kind("struct([1, 1], [0, 900], [vector(30, 1, 3, double), vector(30, 1, 2, double)])"),
            "blocks");
}

// Whichever way the pieces repeat the list.
TEST(Lower, PiecesThatRepeatOneListAreThatListAtEachPlace) {
  const std::string places =
      "0, 2, 3, 7, 8, 11, 15, 16, 20, 22, 29, 31, 36, 37, 39, 44, 46, 51, 57";
  const std::string list = "indexed_block(1, [" + places + "], double)";
  // The list 3 + 1 + 2 + 5 + 1 times, in an outer list.
  const std::string dump =
      lowered(("indexed([3, 1, 2, 5, 1], [0, 5, 7, 10, 17], " + list + ")").c_str());
  EXPECT_EQ(dump.substr(0, 10), "blocks 12 ") << dump;
  EXPECT_NE(dump.find("packed +152"), std::string::npos) << dump;
  // Not for unlike lists, nor for so many repetitions that a loop is worth its piece.
  const std::string other = "indexed_block(1, [" + places + ", 60], double)";
  EXPECT_EQ(lowered(("struct([2, 3, 6], [0, 2000, 9000], [" + list + ", " + other + ", " +
                     "resized(0, 800, " + list + ")])")
                        .c_str())
                .substr(0, 10),
            "sequence o");
  EXPECT_EQ(lowered(("indexed([30, 1, 40], [0, 31, 33], " + list + ")").c_str()).substr(0, 10),
            "sequence o");
}

TEST(Lower, Darray) {
  // 7 elements dealt by twos to 2 processes: rank 0 has 0, 1, 4, 5; rank 1 has 2, 3, 6.
  EXPECT_EQ(lowered("darray(2, 0, [7], [cyclic], [2], [2], c, int)"),
            "loop 2 mem +16 packed +8\n  run of 8 bytes\n");
  EXPECT_EQ(lowered("darray(2, 1, [7], [cyclic], [2], [2], c, int)"),
            "at +8: runs 2 mem [0, 16] packed [0, 8, 12]\n");
}

TEST(Lower, NestedSequencesAreFlattened) {
  const char* a = "vector(50, 1, 10, double)";
  const char* b = "vector(40, 1, 10, int)";
  const char* c = "vector(30, 1, 10, byte)";
  const std::string flat =
      std::string("struct([1, 1, 1], [0, 8, 16], [") + a + ", " + b + ", " + c + "])";
  const std::string left = std::string("struct([1, 1], [0, 16], [struct([1, 1], [0, 8], [") + a +
                           ", " + b + "]), " + c + "])";
  const std::string right = std::string("struct([1, 1], [0, 8], [") + a +
                            ", struct([1, 1], [0, 8], [" + b + ", " + c + "])])";
  EXPECT_EQ(lowered(flat.c_str()).substr(0, 14), "sequence of 3\n");
  EXPECT_EQ(lowered(left.c_str()), lowered(flat.c_str()));
  EXPECT_EQ(lowered(right.c_str()), lowered(flat.c_str()));
}

// A type of 2^40 bytes in a few nodes: lowering may not enumerate.
TEST(Lower, CostsNodesNotEntries) {
  EXPECT_EQ(lowered("vector(1_048_576, 1, 2, vector(1_048_576, 1, 2, byte))"),
            "loop 1048576 mem +4194302 packed +1048576\n  loop 1048576 mem +2 packed +1\n    run "
            "of 1 bytes\n");
}

TEST(Lower, LeafRunsAreCounted) {
  auto type = parse_type("subarray([8, 8, 8], [3, 4, 5], [1, 1, 1], c, double)");
  EXPECT_EQ(lower(*type.value()).element.node->leaf_runs, 12);
}

TEST(Lower, EqualTypesHaveEqualLayouts) {
  int changed = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    RandomOptions options;
    options.max_depth = 3;
    options.max_entries = 300;
    const TypePtr type = random_type(seed, options);
    testing::Choices choices(seed);
    const TypePtr other = testing::disguise(type, choices);
    auto want = typemap(*type, 1);
    auto got = typemap(*other, 1);
    ASSERT_EQ(want.value(), got.value())
        << "the disguise is wrong: " << print_type(*type) << " as " << print_type(*other);
    ASSERT_EQ(type->extent(), other->extent());
    if (!equal(*type, *other)) ++changed;
    const Layout a = lower(*type);
    const Layout b = lower(*other);
    EXPECT_TRUE(equal(a.element, b.element)) << "seed " << seed << "\n"
                                             << print_type(*type) << "\n"
                                             << dump(a) << print_type(*other) << "\n"
                                             << dump(b);
    if (HasFailure()) return;
  }
  EXPECT_GT(changed, 2000);  // the test has something to compare
}

}  // namespace
}  // namespace lacuna
