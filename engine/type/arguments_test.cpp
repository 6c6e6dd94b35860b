// SPDX-License-Identifier: BSD-3-Clause
//
// Every rule for a constructor's arguments, each with its error message; and overflow.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "type/build_test.hpp"

namespace lacuna {
namespace {

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
  const std::string rule = "; they must have the same number";
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
  const std::string most = ", as in gfortran's widest real";
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

// Each type is twice in the next: 22 types, but 2^22 parts for a walk.
TEST(Arguments, PartsHaveALimitHoweverTheyAreShared) {
  TypePtr type = named("int");
  for (int i = 0; i < 22; ++i)
    type = must(make_struct({1, 1}, {0, 2 * type->extent() + 4}, {type, type}));
  EXPECT_EQ(type->parts, kMaxParts - 1);
  const std::string rule =
      ": the type would have more than 4194304 constructors, shared ones counted each time; that "
      "is the limit";
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
                       ": the size or a bound of the type does not fit into 64 bits "
                       "(at most 9223372036854775807 bytes)");
  }
  // The same numbers where they do fit: no copy uses them, or they end at the last valid byte.
  EXPECT_TRUE(make_vector(1, 1, most, named("double")).ok());
  EXPECT_TRUE(make_indexed({0, 1}, {most, 0}, named("double")).ok());
  EXPECT_TRUE(make_hindexed({1}, {most - 1}, named("byte")).ok());
  EXPECT_TRUE(make_contiguous(1'000'000'000, parsed("contiguous(1000000000, double)")).ok());
  EXPECT_TRUE(make_resized(least, most, named("byte")).ok());
}

}  // namespace
}  // namespace lacuna
