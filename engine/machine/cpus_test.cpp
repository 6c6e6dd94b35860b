// SPDX-License-Identifier: BSD-3-Clause
//
// Which CPU gets which row, the names that LACUNA_CPU knows, and what a row does to the numbers.
#include "machine/cpus.hpp"

#include <gtest/gtest.h>

#include <set>

#include "machine/profile.hpp"

namespace lacuna {
namespace {

using Maker = CpuId::Maker;

TEST(Cpus, EachMicroArchitectureHasItsRow) {
  const auto row = [](Maker maker, int family, int model) {
    return choose_cpu("", {maker, family, model}).row->name;
  };
  for (const int model : {0x00, 0x01, 0x21, 0x44, 0x50})
    EXPECT_EQ(row(Maker::kAmd, 25, model), "zen3") << model;
  for (const int model : {0x10, 0x11, 0x18, 0x61, 0x74, 0xa0})
    EXPECT_EQ(row(Maker::kAmd, 25, model), "zen4") << model;
  for (const int model : {0x02, 0x11, 0x44}) EXPECT_EQ(row(Maker::kAmd, 26, model), "zen5");
  EXPECT_EQ(row(Maker::kAmd, 23, 0x31), "zen3");  // older: the nearest
  EXPECT_EQ(row(Maker::kAmd, 27, 0), "zen5");     // newer
  for (const int model : {143, 207, 173, 85})
    EXPECT_EQ(row(Maker::kIntel, 6, model), "golden-cove");
  EXPECT_EQ(row(Maker::kArm, 0, 0), "neoverse");
  EXPECT_EQ(row(Maker::kOther, 24, 1), "generic");
}

TEST(Cpus, TheChoiceSaysWhy) {
  const CpuId zen4 = {Maker::kAmd, 25, 17};
  EXPECT_EQ(choose_cpu("", zen4).why, "family 25 model 17");
  EXPECT_EQ(choose_cpu("", {Maker::kArm, 0, 0}).why, "AArch64");
  const CpuChoice none = choose_cpu("", {Maker::kOther, 24, 1});
  EXPECT_EQ(none.why, "no row matches family 24 model 1");
  EXPECT_EQ(none.complaint, "");
  for (const Cpu& row : cpu_rows()) {
    const CpuChoice forced = choose_cpu(row.name, zen4);
    EXPECT_EQ(forced.row, &row);
    EXPECT_EQ(forced.why, "LACUNA_CPU");
    EXPECT_EQ(forced.complaint, "");
  }
  const CpuChoice wrong = choose_cpu("zen9", zen4);
  EXPECT_EQ(wrong.row->name, "zen4");
  EXPECT_EQ(wrong.why, "family 25 model 17");
  EXPECT_EQ(wrong.complaint,
            "LACUNA_CPU=zen9 is not understood: it must be generic, golden-cove, zen3, zen4, zen5 "
            "or neoverse; zen4 is used, the row of this CPU (family 25 model 17)");
}

// A CPU matches at most one row, so that their order does not matter.
TEST(Cpus, RowsAreApart) {
  std::set<std::string_view> names;
  for (const Cpu& row : cpu_rows()) EXPECT_TRUE(names.insert(row.name).second) << row.name;
  for (const Maker maker : {Maker::kOther, Maker::kAmd, Maker::kArm, Maker::kIntel}) {
    for (int family = 0; family < 32; ++family) {
      for (int model = 0; model < 256; ++model) {
        int found = 0;
        for (const Cpu& row : cpu_rows())
          found += row.match != nullptr && row.match({maker, family, model}) ? 1 : 0;
        EXPECT_EQ(found, maker == Maker::kOther ? 0 : 1) << family << " " << model;
      }
    }
  }
}

TEST(Cpus, TheRowsNumbersAreWithinTheLimitsOfTheTable) {
  for (const Cpu& row : cpu_rows()) {
    EXPECT_FALSE(row.origin.empty()) << row.name;
    const Profile told = told_profile({&row, "", ""});
    for (const Number& number : machine_numbers()) {
      EXPECT_GE(number.get(told.machine), number.least) << row.name << " " << number.name;
      EXPECT_LE(number.get(told.machine), number.most) << row.name << " " << number.name;
    }
  }
}

TEST(Cpus, SizesFollowFromTheHabitsAndTheCaches) {
  for (const Cpu& row : cpu_rows()) {
    const Machine m = told_profile({&row, "", ""}).machine;
    EXPECT_EQ(m.prefetch_from_bytes, row.habits.hides_l2_misses ? 2 * m.l2_bytes : m.l1_bytes);
    EXPECT_EQ(m.learned_lines, row.habits.unrolled_from_l2s > 0
                                   ? row.habits.unrolled_from_l2s * m.l2_bytes / m.line_bytes
                                   : Machine().learned_lines);
    EXPECT_EQ(m.store_bytes, row.habits.store_bytes);
  }
}

// The defaults in a profile are of the row that was in force when it was made: they are not read.
TEST(Cpus, AProfileLeavesDefaultsToTheRow) {
  for (const Cpu& row : cpu_rows()) {
    const Profile told = told_profile({&row, "", ""});
    Profile other = told_profile({&cpu_rows().front(), "", ""});
    other.set("tlb_entries", 77, Source::kMeasured);
    const Result<Profile> read = parse_profile(report_json(other, ""), told);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->machine.tlb_entries, 77);
    for (const Number& number : machine_numbers()) {
      if (number.name == "tlb_entries") continue;
      EXPECT_EQ(number.get(read->machine), number.get(told.machine)) << row.name << number.name;
    }
  }
}

TEST(Cpus, TheRowInForceIsKnown) {
  EXPECT_EQ(find_cpu_row(cpu_in_force().row->name), cpu_in_force().row);
  EXPECT_EQ(find_cpu_row("zen"), nullptr);
  EXPECT_EQ(find_cpu_row(""), nullptr);
}

}  // namespace
}  // namespace lacuna
