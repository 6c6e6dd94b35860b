// SPDX-License-Identifier: BSD-3-Clause
//
// Which pieces a type has, and which kernel a message gets.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "gpu/placed_plan.hpp"
#include "type/text/text.hpp"

namespace lacuna::gpu {
namespace {

alignas(16) std::byte memory[32];
constexpr const char* kCharAndDouble = "resized(0, 16, struct([1, 1], [0, 8], [char, double]))";

Placed placed_of(const char* type, int64_t count) {
  return placed_plan(*parse_type(type).value(), count).value();
}

std::string text_of_plan(const char* type, int64_t count) {
  return text_of(placed_of(type, count).plan);
}

TEST(GpuPlan, KeepsLoopsAndRanksRuns) {
  EXPECT_EQ(text_of_plan("vector(1000, 1, 4, double)", 1),
            "loop 1000 mem +32 packed +8, run of 8 bytes\n");
  EXPECT_EQ(text_of_plan("resized(0, 8, vector(64, 1, 64, double))", 64),
            "loop 64 mem +8 packed +512, loop 64 mem +512 packed +8, run of 8 bytes\n");
  EXPECT_EQ(text_of_plan("resized(0, 40, struct([1, 1], [0, 24], [double, int]))", 1000),
            "loop 1000 mem +40 packed +12, runs of 12 bytes\n");
}

// A struct of few runs is passed among the launch's parameters.
TEST(GpuPlan, TakesStructsAsRecords) {
  const auto is_record = [](const char* type) {
    const Placed placed = placed_of(type, 99);
    return choose(placed.plan, memory, memory, 0, placed.plan.size, true).is_record;
  };
  EXPECT_TRUE(is_record("resized(0, 40, struct([1, 1], [0, 24], [double, int]))"));
  EXPECT_TRUE(is_record(kCharAndDouble));
  EXPECT_TRUE(is_record("resized(0, 99, struct([1, 31], [0, 8], [char, char]))"));
  EXPECT_FALSE(is_record("resized(0, 99, struct([1, 32], [0, 8], [char, char]))"));
  EXPECT_FALSE(is_record("resized(0, 99, vector(9, 1, 2, double))"));
}

TEST(GpuPlan, TakesListedStructsAsRecords) {
  std::string places;
  for (int i = 0; i < 64; ++i) places += (i > 0 ? ", " : "") + std::to_string(i * 27 % 64);
  const std::string type =
      "indexed_block(1, [" + places + "], resized(0, 40, struct([1, 3], [0, 8], [int, double])))";
  const Placed placed = placed_of(type.c_str(), 1);
  const Launch launch = choose(placed.plan, memory, memory, 0, placed.plan.size, true);
  EXPECT_TRUE(launch.is_record);
  EXPECT_TRUE(launch.tables);
  EXPECT_EQ(launch.loops, 1);
}

TEST(GpuPlan, ChoosesTilesForTransposes) {
  const Placed placed = placed_of("resized(0, 8, vector(640, 1, 640, double))", 640);
  const Launch launch = choose(placed.plan, nullptr, nullptr, 0, placed.plan.size, true);
  EXPECT_EQ(launch.way, Launch::Way::kTiles);
  EXPECT_EQ(launch.log, 3);
}

// Packing reads elements of more than 16 bytes where they are; unpacking goes through tiles, which
// write whole sectors.
TEST(GpuPlan, PacksTransposesOfLargeElementsByWords) {
  const Placed placed = placed_of("resized(0, 24, vector(640, 3, 1920, double))", 640);
  const auto way = [&](bool is_pack) {
    return choose(placed.plan, nullptr, nullptr, 0, placed.plan.size, is_pack).way;
  };
  EXPECT_EQ(way(true), Launch::Way::kWords);
  EXPECT_EQ(way(false), Launch::Way::kTiles);
}

TEST(GpuPlan, TakesTheWidestWords) {
  const Placed placed = placed_of("vector(9, 2, 4, double)", 1);
  EXPECT_EQ(choose(placed.plan, memory, memory, 0, 144, true).log, 4);
  EXPECT_EQ(choose(placed.plan, memory + 8, memory, 0, 144, true).log, 3);
  EXPECT_EQ(choose(placed.plan, memory, memory + 8, 8, 144, true).log, 3);
  EXPECT_EQ(choose(placed.plan, memory, memory + 1, 1, 144, true).log, 0);
}

// load_bytes and store_bytes: any address, and no other byte is written.
TEST(GpuBytes, AreLoadedAndStoredAnywhere) {
  alignas(8) std::byte room[24];
  for (uint32_t at = 8; at < 16; ++at) {
    for (uint32_t n = 1; n <= 8; ++n) {
      uint64_t want = 0;
      for (uint32_t i = 0; i < 24; ++i) room[i] = static_cast<std::byte>(i + 1);
      std::memcpy(&want, room + at, n);
      EXPECT_EQ(load_bytes(room + at, n), want);
      store_bytes(room + at, ~uint64_t{0}, n);
      for (uint32_t i = 0; i < 24; ++i) {
        const bool is_inside = i >= at && i < at + n;
        EXPECT_EQ(room[i], static_cast<std::byte>(is_inside ? 0xFF : i + 1)) << at << " " << n;
      }
    }
  }
}

TEST(GpuPlan, TakesOddRunsByBytes) {
  const Placed placed = placed_of(kCharAndDouble, 199);
  EXPECT_EQ(choose(placed.plan, memory, memory, 0, 9, true).way, Launch::Way::kBytes);
  EXPECT_EQ(choose(placed.plan, memory, memory + 7, 7, 128 * 8 + 1, true).blocks, 2);
  EXPECT_EQ(choose(placed.plan, memory, memory + 7, 7, 128 * 8 + 1, false).blocks, 8);
}

// Counts too large for a digit, and offsets beyond 32 bits. Moves no bytes.
TEST(GpuPlan, SplitsWhatIsTooLong) {
  const std::string text = text_of_plan("vector(3000000000, 1, 2, byte)", 1);
  EXPECT_EQ(text,
            "loop 5 mem +1073741824 packed +536870912, loop 536870912 mem +2 packed +1, run of 1 "
            "bytes\nloop 315645440 mem +2 packed +1, run of 1 bytes\n");
  const Placed placed = placed_of("vector(3000000000, 1, 2, byte)", 1);
  const PieceRow& row = placed.plan.rows[0];
  const Digit* const loops = row.piece.digits + (kMostLoops - 2);
  const Locator<2, false, false> locator(loops, row.words[0], 2684354559u - 3);
  const Place place = locator.at(loops, row.piece.ranked, row.words[0], 0, 3);
  EXPECT_EQ(place.mem, 2 * int64_t{2684354559});
  EXPECT_EQ(place.packed, 2684354559);
}

// Runs of 8 bytes: at 16 all sectors hold data; at 128 one of four, and one of two pairs of them.
TEST(GpuPlan, TellsTheSectorsThatHoldData) {
  const auto touched = [](const char* type, int64_t count) {
    return touched_by(placed_of(type, count).plan);
  };
  const auto near = touched("hvector(1000000, 8, 16, byte)", 1);
  EXPECT_NEAR(near.sectors, 16e6, 100);
  EXPECT_NEAR(near.partly, 16e6, 100);
  const auto far = touched("hvector(1000000, 8, 128, byte)", 1);
  EXPECT_NEAR(far.sectors, 32e6, 100);
  EXPECT_NEAR(far.fetched, 64e6, 100);
  const auto whole = touched("hvector(1000, 1024, 2048, byte)", 1);
  EXPECT_EQ(whole.sectors, 1024e3);
  EXPECT_EQ(whole.partly, 0);
  // A transpose touches each sector once, though neighbours in the stream are far apart in memory.
  const auto turned = touched("resized(0, 8, vector(2000, 1, 2000, double))", 2000);
  EXPECT_NEAR(turned.sectors, 32e6, 320e3);
  EXPECT_LT(turned.partly, 320e3);
  const auto records = touched("resized(0, 24, struct([1, 1], [0, 16], [double, int]))", 100000);
  EXPECT_NEAR(records.sectors, 24e5, 100);
  const auto listed = touched("hindexed_block(32, [640, 0, 64, 320], byte)", 1);
  EXPECT_EQ(listed.sectors, 128);
  EXPECT_EQ(listed.fetched, 256);
  const auto odd = touched("hindexed([3, 40], [30, 64], byte)", 1);
  EXPECT_EQ(odd.sectors, 128);
  EXPECT_EQ(odd.partly, 96);
}

TEST(GpuPlan, TellsWhatItDoes) {
  const std::string text = explain_json(*parse_type("vector(9, 2, 4, double)").value(), 1).value();
  for (const char* part : {"\"kernel\": \"words\"", "\"word_bytes\": [16]",
                           "\"pieces\": [\"loop 9 mem +32 packed +16, run of 16 bytes\"]",
                           "\"sector_bytes\": 288", "\"partly_bytes\": 288"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(GpuPlan, DeclinesWhatItCannotHold) {
  EXPECT_EQ(make_device_plan(*parse_type("double").value(), -1).error().status,
            LACUNA_INVALID_ARGUMENT);
  EXPECT_EQ(make_device_plan(*parse_type("double").value(), int64_t{1} << 62).error().status,
            LACUNA_OVERFLOW);
}

}  // namespace
}  // namespace lacuna::gpu
