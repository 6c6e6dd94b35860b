// SPDX-License-Identifier: BSD-3-Clause
//
// lacuna.hpp is lacuna.h: the same types, bytes and errors.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>
#include <type_traits>

#include "lacuna/lacuna.hpp"

namespace {

using lacuna::api::Buffer;
using lacuna::api::Error;
using lacuna::api::PackStream;
using lacuna::api::Plan;
using lacuna::api::Type;
using lacuna::api::UnpackStream;
using List = std::vector<int64_t>;

static_assert(std::is_nothrow_move_constructible_v<Type> && !std::is_copy_constructible_v<Type>);
static_assert(std::is_nothrow_move_assignable_v<Plan> && !std::is_copy_constructible_v<Plan>);

TEST(Hpp, ConstructorsAreTheTexts) {
  const Type d = Type::named("double");
  const Type i(std::string("int"));
  const List one_two{1, 2};
  const List places{0, 16};
  const std::array<const Type*, 2> parts{&i, &d};
  const std::array distribs{LACUNA_DISTRIBUTE_BLOCK, LACUNA_DISTRIBUTE_CYCLIC};
  const std::pair<Type, const char*> all[] = {
      {Type::dup(d), "dup(double)"},
      {Type::contiguous(3, d), "contiguous(3, double)"},
      {Type::vector(4, 1, 5, d), "vector(4, 1, 5, double)"},
      {Type::hvector(4, 2, -24, i), "hvector(4, 2, -24, int)"},
      {Type::indexed(one_two, places, i), "indexed([1, 2], [0, 16], int)"},
      {Type::hindexed(one_two, places, i), "hindexed([1, 2], [0, 16], int)"},
      {Type::indexed_block(2, places, i), "indexed_block(2, [0, 16], int)"},
      {Type::hindexed_block(2, places, i), "hindexed_block(2, [0, 16], int)"},
      {Type::structure(one_two, places, parts), "struct([1, 2], [0, 16], [int, double])"},
      {Type::subarray(List{9, 9}, List{1, 9}, List{4, 0}, LACUNA_ORDER_C, d),
       "subarray([9, 9], [1, 9], [4, 0], c, double)"},
      {Type::darray(4, 1, List{9, 9}, distribs, List{LACUNA_DISTRIBUTE_DFLT_DARG, 4}, List{2, 2},
                    LACUNA_ORDER_FORTRAN, d),
       "darray(4, 1, [9, 9], [block, cyclic], [default, 4], [2, 2], fortran, double)"},
      {Type::resized(0, 40, d), "resized(0, 40, double)"},
  };
  for (const auto& [type, text] : all) {
    EXPECT_EQ(type.text(), Type(std::string(text)).text());
    EXPECT_EQ(type.text(), text);
  }
}

TEST(Hpp, SizesAndExtents) {
  const Type type(std::string("resized(-8, 64, vector(2, 1, 3, double))"));
  EXPECT_EQ(type.size(), 16);
  EXPECT_EQ(type.extent().lb, -8);
  EXPECT_EQ(type.extent().extent, 64);
  EXPECT_EQ(type.true_extent().lb, 0);
  EXPECT_EQ(type.true_extent().extent, 32);
}

TEST(Hpp, PacksSlicesStreamsAndCopies) {
  constexpr int64_t kN = 50;
  std::vector<int32_t> matrix(kN * kN);
  std::iota(matrix.begin(), matrix.end(), 1);
  const Plan plan(
      Type::resized(0, sizeof(int32_t), Type::vector(kN, 1, kN, Type::named("int32_t"))));
  ASSERT_EQ(plan.packed_size(kN), static_cast<int64_t>(sizeof(int32_t)) * kN * kN);
  const int64_t bytes = plan.packed_size(kN);
  std::vector<int32_t> want(matrix.size());
  for (size_t i = 0; i < want.size(); ++i) want[i] = matrix[i % kN * kN + i / kN];

  std::vector<int32_t> packed(want.size());
  plan.pack(matrix.data(), kN, packed.data());
  EXPECT_EQ(packed, want);
  std::vector<int32_t> back(want.size());
  plan.unpack(packed.data(), kN, back.data());
  EXPECT_EQ(back, matrix);

  auto* const at = reinterpret_cast<std::byte*>(packed.data());
  packed.assign(packed.size(), 0);
  back.assign(back.size(), 0);
  for (const auto& [begin, end] :
       {std::pair{int64_t{777}, bytes}, std::pair{int64_t{0}, int64_t{777}}}) {
    plan.pack_slice(matrix.data(), kN, begin, end, at + begin);
    plan.unpack_slice(at + begin, kN, begin, end, back.data());
  }
  EXPECT_EQ(packed, want);
  EXPECT_EQ(back, matrix);

  packed.assign(packed.size(), 0);
  back.assign(back.size(), 0);
  {
    PackStream out(plan, matrix.data(), kN);
    UnpackStream in(plan, back.data(), kN);
    out.next(100, at);
    in.next(100, at);
    const std::span<const std::byte> lent = out.lend(bytes - 200);
    std::memcpy(in.lend(bytes - 200).data(), lent.data(), lent.size());
    in.filled(bytes - 200);
    out.seek(bytes - 100);
    in.seek(bytes - 100);
    out.next(100, at);
    in.next(100, at);
    in.flush();
    EXPECT_EQ(back, matrix);
  }

  std::vector<int32_t> transposed(want.size());
  const Plan plain(Type::named("int32_t"));
  lacuna::copy(plan, matrix.data(), kN, plain, transposed.data(), kN * kN);
  EXPECT_EQ(transposed, want);
}

TEST(Hpp, WhatIsWrongIsThrown) {
  try {
    const Type type(std::string("vector(1, 2)"));
    FAIL() << type.text();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), LACUNA_PARSE_ERROR);
    EXPECT_NE(std::strchr(error.what(), '^'), nullptr);  // where
  }
  EXPECT_THROW(Type::contiguous(-1, Type::named("int")), Error);
  EXPECT_THROW(Type::indexed(List{1, 2}, List{0}, Type::named("int")), std::invalid_argument);
  const Plan plan(Type::named("int"));
  EXPECT_THROW(plan.packed_size(-1), Error);
  EXPECT_THROW(PackStream(plan, nullptr, -1), Error);
}

TEST(Hpp, TextsAndBuffers) {
  const Plan plan(std::move(Type(std::string("vector(100, 1, 2, double)"))));
  EXPECT_NE(plan.explain(1).find("vector"), std::string::npos);
  EXPECT_EQ(plan.cost(1).front(), '{');
  EXPECT_EQ(plan.cost(1).back(), '}');
  EXPECT_EQ(lacuna::machine().front(), '{');
  const Buffer buffer(1000);
  std::memset(buffer.data(), 1, buffer.size());
  EXPECT_EQ(buffer.size(), 1000U);
}

}  // namespace
