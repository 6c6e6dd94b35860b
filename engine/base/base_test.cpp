// SPDX-License-Identifier: BSD-3-Clause
//
// Result, Checked, and the table of options.
#include <gtest/gtest.h>

#include <climits>
#include <memory>
#include <set>
#include <string>

#include "base/checked.hpp"
#include "base/options.hpp"
#include "base/result.hpp"

namespace lacuna {
namespace {

TEST(Result, HoldsAValue) {
  const Result<std::string> result(std::string("abc"));
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(*result, "abc");
  EXPECT_EQ(result->size(), 3u);
}

TEST(Result, HoldsAnError) {
  const Result<int> result(Error{LACUNA_UNSUPPORTED, "because"});
  ASSERT_FALSE(result.ok());
  EXPECT_FALSE(static_cast<bool>(result));
  EXPECT_EQ(result.error().status, LACUNA_UNSUPPORTED);
  EXPECT_EQ(result.error().message, "because");
}

TEST(Result, MovesItsValueOut) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  const std::unique_ptr<int> value = *std::move(result);
  ASSERT_NE(value, nullptr);
  EXPECT_EQ(*value, 7);
}

// A value whose type looks like Error is a value.
TEST(Result, TellsAnErrorFromAValueOfTheSameShape) {
  struct Twin {
    lacuna_status status;
    std::string message;
  };
  EXPECT_TRUE(Result<Twin>(Twin{LACUNA_INTERNAL, ""}).ok());
  EXPECT_FALSE(Result<Twin>(Error{LACUNA_OK, ""}).ok());
}

TEST(Options, AMisspeltNameIsNearlyAnOption) {
  EXPECT_EQ(detail::misspelt_option("LACUNA_DISABEL"), "LACUNA_DISABLE");
  EXPECT_EQ(detail::misspelt_option("LACUNA_LOGG"), "LACUNA_LOG");
  EXPECT_EQ(detail::misspelt_option("LACUNA_POOL"), "LACUNA_POOL_MB");
  for (const Option& option : option_table()) {
    EXPECT_EQ(detail::misspelt_option(option.name), "");
  }
  for (const char* other : {"LACUNA_LIBRARY_DIR", "LACUNA_COMPILED_TABLE", "LACUN_LOG", "HOME", "",
                            "LACUNA_BUILD_DIR"}) {
    EXPECT_EQ(detail::misspelt_option(other), "");
  }
}

TEST(Checked, Computes) {
  Checked sum = 5;
  sum += Checked(3) * 4 - 2;
  sum *= 2;
  EXPECT_TRUE(sum.ok());
  EXPECT_EQ(sum.value(), 30);
}

TEST(Checked, ReachesBothEndsOfInt64) {
  const Checked most = Checked(INT64_MAX - 1) + 1;
  const Checked least = Checked(INT64_MIN + 1) - 1;
  ASSERT_TRUE(most.ok());
  ASSERT_TRUE(least.ok());
  EXPECT_EQ(most.value(), INT64_MAX);
  EXPECT_EQ(least.value(), INT64_MIN);
}

TEST(Checked, NoticesOverflowOfEachOperation) {
  EXPECT_FALSE((Checked(INT64_MAX) + 1).ok());
  EXPECT_FALSE((Checked(INT64_MIN) - 1).ok());
  EXPECT_FALSE((Checked(0) - INT64_MIN).ok());
  EXPECT_FALSE((Checked(INT64_MIN) * -1).ok());
  EXPECT_FALSE((Checked(int64_t{1} << 32) * (int64_t{1} << 31)).ok());
  EXPECT_TRUE((Checked(int64_t{1} << 31) * (int64_t{1} << 31)).ok());
}

TEST(Checked, RemembersOverflowOnEitherSide) {
  const Checked bad = Checked(INT64_MAX) + 1;
  EXPECT_FALSE((bad + 1).ok());
  EXPECT_FALSE((1 + bad).ok());
  EXPECT_FALSE((bad - bad).ok());
  EXPECT_FALSE((bad * 0).ok());
  EXPECT_FALSE((0 * bad).ok());
  Checked sum = 0;
  sum += bad;
  EXPECT_FALSE(sum.ok());
  sum = 0;
  sum *= bad;
  EXPECT_FALSE(sum.ok());
}

TEST(Options, TableIsInOrderOfItsIdsAndItsFallbacksMakeSense) {
  std::set<std::string_view> names;
  size_t index = 0;
  for (const Option& option : option_table()) {
    EXPECT_EQ(static_cast<size_t>(option.id), index++) << option.name;
    EXPECT_TRUE(names.insert(option.name).second) << option.name << " twice";
    EXPECT_TRUE(option.name.starts_with("LACUNA_")) << option.name;
    EXPECT_TRUE(option.meaning.ends_with(".")) << option.name;
    bool flag = true;
    int64_t integer = 0;
    if (option.kind == OptionKind::kFlag) {
      EXPECT_TRUE(detail::read_flag(option.fallback, &flag)) << option.name;
    }
    if (option.kind == OptionKind::kInteger) {
      EXPECT_TRUE(detail::read_integer(option.fallback, option.least, option.most, &integer))
          << option.name;
    }
  }
}

TEST(Options, FlagsInAllTheirSpellings) {
  for (const char* text : {"1", "true", "TRUE", "yes", "On"}) {
    bool flag = false;
    EXPECT_TRUE(detail::read_flag(text, &flag)) << text;
    EXPECT_TRUE(flag) << text;
  }
  for (const char* text : {"0", "false", "No", "OFF", ""}) {
    bool flag = true;
    EXPECT_TRUE(detail::read_flag(text, &flag)) << text;
    EXPECT_FALSE(flag) << text;
  }
  for (const char* text : {"2", "maybe", " 1", "truee", "-1"}) {
    bool flag = true;
    EXPECT_FALSE(detail::read_flag(text, &flag)) << text;
    EXPECT_TRUE(flag) << text << ": an error must not write";
  }
}

TEST(Options, IntegersWithinTheirLimits) {
  int64_t value = -7;
  EXPECT_TRUE(detail::read_integer("0", 0, 10, &value));
  EXPECT_EQ(value, 0);
  EXPECT_TRUE(detail::read_integer("10", 0, 10, &value));
  EXPECT_EQ(value, 10);
  EXPECT_TRUE(detail::read_integer("-3", -3, 3, &value));
  EXPECT_EQ(value, -3);
  for (const char* text : {"", "11", "-1", "5x", "x5", "5 ", "0x5", "99999999999999999999"}) {
    value = -7;
    EXPECT_FALSE(detail::read_integer(text, 0, 10, &value)) << text;
    EXPECT_EQ(value, -7) << text << ": an error must not write";
  }
}

}  // namespace
}  // namespace lacuna
