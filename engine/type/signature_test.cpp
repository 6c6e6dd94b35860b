// SPDX-License-Identifier: BSD-3-Clause
//
// Signatures are equal for equal sequences of basics, however built, and different for others.
// Compared with symbol-by-symbol hashes, and with typemaps of random types.
#include <gtest/gtest.h>

#include <string_view>
#include <utility>
#include <vector>

#include "type/random/random.hpp"
#include "type/text/text.hpp"
#include "type/typemap.hpp"

namespace lacuna {
namespace {

TypePtr parsed(std::string_view text) {
  const Result<TypePtr> type = parse_type(text);
  if (type) return *type;
  ADD_FAILURE() << type.error().message;
  return make_named(*find_basic("byte"));
}

Signature signature(std::string_view text) { return signature_of(*parsed(text)); }

bool same(const Signature& a, const Signature& b) {
  return a.length == b.length && a.hash == b.hash && a.uniform == b.uniform;
}

TEST(Signature, SameSequenceBuiltDifferently) {
  for (const auto& family : std::vector<std::vector<const char*>>{
           {"contiguous(6, int)", "vector(2, 3, 10, int)", "vector(3, 2, -5, int)",
            "hvector(6, 1, 9, dup(int))", "indexed([1, 0, 5], [7, 3, 1], int)",
            "indexed_block(3, [9, 0], int)", "hindexed_block(1, [0, 1, 2, 3, 4, 5], int)",
            "struct([2, 1, 1], [0, 0, 0], [int, contiguous(3, int), resized(0, 1, int)])",
            "subarray([4, 4], [2, 3], [1, 1], c, int)",
            "darray(1, 0, [6], [cyclic], [2], [1], c, int)"},
           {"contiguous(3, struct([1, 1], [0, 8], [double, char]))",
            "struct([2, 1, 1], [0, 64, 80], [struct([1, 1], [0, 8], [double, char]), double, "
            "char])",
            "hvector(3, 1, 100, struct([1, 1], [9, 0], [double, char]))"},
           {"contiguous(1000000000000, float)", "vector(1000000, 1000000, 1000001, float)"},
           {"double_int", "value_index(double, int)"},
           {"contiguous(0, int)", "struct([], [], [])", "vector(3, 0, 1, double)"}}) {
    for (const char* text : family)
      EXPECT_TRUE(same(signature(text), signature(family[0]))) << text;
  }
}

TEST(Signature, DifferentSequencesDiffer) {
  const char* texts[] = {"contiguous(0, int)",
                         "int",
                         "unsigned",
                         "contiguous(2, int)",
                         "contiguous(3, int)",
                         "struct([1, 1], [0, 8], [double, char])",
                         "struct([1, 1], [8, 0], [char, double])",
                         "contiguous(2, struct([1, 1], [0, 8], [double, char]))",
                         "struct([2, 2], [0, 16], [double, char])",
                         "struct([1, 2, 1], [0, 8, 16], [double, char, double])",
                         "double_int",
                         "struct([1, 1], [0, 8], [double, int])",
                         "struct([1, 2, 1], [0, 8, 16], [int, double, int])",
                         "struct([2, 1, 1], [0, 8, 16], [int, double, double])",
                         "contiguous(8, byte)",
                         "contiguous(8, packed)"};
  for (const char* a : texts) {
    for (const char* b : texts) {
      EXPECT_EQ(signature(a).hash == signature(b).hash, a == b) << a << " and " << b;
    }
  }
  EXPECT_EQ(signature("struct([], [], [])").hash, 0u);
}

TEST(Signature, TellsWhatAllEntriesAre) {
  EXPECT_EQ(signature("vector(3, 2, 5, short)").uniform, find_basic("short"));
  EXPECT_EQ(signature("struct([1, 0, 2], [0, 0, 0], [int, char, dup(int)])").uniform,
            find_basic("int"));
  EXPECT_EQ(signature("contiguous(4, 2int)").uniform, find_basic("2int"));
  EXPECT_EQ(signature("struct([1, 1], [0, 4], [int, float])").uniform, nullptr);
  EXPECT_EQ(signature("contiguous(0, int)").uniform, nullptr);
}

// Compared with repeated concatenation.
TEST(Signature, RepeatIsConcatOverAndOver) {
  const Signature once = signature("struct([1, 2], [0, 8], [double, char])");
  Signature sum;
  for (int64_t count = 0; count <= 70; ++count) {
    EXPECT_TRUE(same(repeat(once, count), sum)) << count;
    sum = concat(sum, once);
  }
  const Signature a = signature("int");
  const Signature b = signature("double");
  const Signature c = signature("contiguous(5, short)");
  EXPECT_TRUE(same(concat(concat(a, b), c), concat(a, concat(b, c))));
  EXPECT_FALSE(same(concat(a, b), concat(b, a)));
  EXPECT_TRUE(same(concat(Signature(), a), a));
  EXPECT_TRUE(same(concat(a, Signature()), a));
}

TEST(Signature, LengthCountsTheBasicsOfRandomTypes) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const TypePtr type = random_type(seed);
    const auto entries = static_cast<int64_t>(typemap(*type, 1)->size());
    // One or two entries a basic, two an unnamed pair of two basics.
    ASSERT_LE(type->signature.length, entries) << print_type(*type);
    ASSERT_GE(2 * type->signature.length, entries) << print_type(*type);
    ASSERT_EQ(type->signature.length == 0, type->size_bytes == 0) << print_type(*type);
    if (type->signature.uniform != nullptr) {
      ASSERT_EQ(type->signature.length * type->signature.uniform->size_bytes, type->size_bytes);
    }
  }
}

}  // namespace
}  // namespace lacuna
