// SPDX-License-Identifier: BSD-3-Clause
//
// What is found in curves: computed ones, with and without noise, and measured ones.
#include "machine/probe/curve.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace lacuna::probe {
namespace {

constexpr double kKiB = 1024;
constexpr double kMiB = 1024 * kKiB;

// Realistic noise: a disturbance only makes slower, sometimes much.
class Noise {
 public:
  explicit Noise(double strength) : strength_(strength) {}
  double operator()() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    const double uniform = static_cast<double>(state_ >> 40) / static_cast<double>(1u << 24);
    const double spike = uniform > 0.9 ? 1 : 0;
    return 1 + strength_ * (uniform + 5 * spike);
  }

 private:
  double strength_;
  uint64_t state_ = 2003;
};

struct CacheModel {
  std::array<double, 3> bytes;
  std::array<double, 4> ns;
};

// Random loads from a working set: what a level cannot hold comes from the next.
Curve latency_of(const CacheModel& model, double noise_strength, double most_bytes) {
  Noise noise(noise_strength);
  Curve curve;
  for (double x = 4 * kKiB; x <= most_bytes; x *= std::exp2(0.25)) {
    double ns = model.ns[0];
    for (size_t level = 0; level < 3; ++level) {
      const double missing = std::max(0.0, 1 - model.bytes[level] / x);
      ns += (model.ns[level + 1] - model.ns[level]) * std::min(1.0, 2 * missing);
    }
    curve.push_back({x, ns * noise()});
  }
  return curve;
}

struct TlbModel {
  double entries, entries2;
  double ways, ways2;
  double hit_ns, miss_ns, walk_ns;
};

double missing(double n, double entries, double ways) {
  return n <= entries ? 0 : std::min(1.0, (n - entries) * (ways + 1) / n);
}

void tlb_curves(const TlbModel& model, const std::vector<double>& counts, double noise_strength,
                Curve* pages, Curve* packed) {
  Noise noise(noise_strength);
  for (const double n : counts) {
    const double cache_ns = n * 64 > 48 * kKiB ? model.hit_ns + 3 : model.hit_ns;
    const double tlb_ns = model.miss_ns * missing(n, model.entries, model.ways) +
                          (model.walk_ns - model.miss_ns) * missing(n, model.entries2, model.ways2);
    packed->push_back({n, cache_ns * noise()});
    pages->push_back({n, (cache_ns + tlb_ns) * noise()});
  }
}

std::vector<double> counts_of(const TlbModel& model) {
  std::vector<double> counts;
  for (double n = 8; n <= 16384; n *= 2) {
    counts.push_back(n);
    counts.push_back(n * 1.5);
  }
  for (const double around : {model.entries, model.entries2}) {
    for (int i = -8; i <= 8; ++i) counts.push_back(std::floor(around * (1 + i / 32.0)));
  }
  return counts;
}

TEST(Curve, EnvelopeNeverFallsAndSorts) {
  const Curve curve = envelope({{4, 9}, {1, 3}, {2, 7}, {3, 5}, {2, 8}});
  ASSERT_EQ(curve.size(), 4u);
  const double expected[] = {3, 5, 5, 9};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(curve[i].x, static_cast<double>(i + 1));
    EXPECT_EQ(curve[i].ns, expected[i]);
  }
}

TEST(Curve, ValuesBetweenPoints) {
  const Curve curve = {{4, 1}, {16, 3}};
  EXPECT_EQ(value_at(curve, 1), 1);
  EXPECT_EQ(value_at(curve, 4), 1);
  EXPECT_NEAR(value_at(curve, 8), 2, 1e-9);
  EXPECT_EQ(value_at(curve, 64), 3);
  EXPECT_EQ(value_at({}, 64), 0);
}

TEST(Curve, NoStepsWhereThereAreNone) {
  EXPECT_TRUE(find_steps({}, 1.2).empty());
  EXPECT_TRUE(find_steps({{1, 1}}, 1.2).empty());
  EXPECT_TRUE(find_steps({{1, 1}, {2, 1}, {4, 1.01}, {8, 1.02}}, 1.2).empty());
}

struct KnownCaches {
  const char* name;
  CacheModel model;
};
const KnownCaches kZen4 = {"Zen 4", {{32 * kKiB, kMiB, 32 * kMiB}, {1.1, 3.8, 14, 110}}};
const KnownCaches kGoldenCove = {"Golden Cove",
                                 {{48 * kKiB, 2 * kMiB, 60 * kMiB}, {1.6, 5, 30, 130}}};

TEST(Caches, OfKnownMachinesWithAndWithoutNoise) {
  for (const KnownCaches& known : {kZen4, kGoldenCove}) {
    for (const double strength : {0.0, 0.03, 0.1}) {
      const auto found =
          find_caches(latency_of(known.model, strength, 256 * kMiB), known.model.bytes);
      for (size_t level = 0; level < 3; ++level) {
        EXPECT_TRUE(found[level].agrees) << known.name << " L" << level + 1 << " noise " << strength
                                         << ": " << found[level].bytes / kKiB << " KiB";
      }
    }
  }
}

TEST(Caches, WithoutBeingToldAnything) {
  const auto found = find_caches(latency_of(kZen4.model, 0.03, 256 * kMiB), {0, 0, 0});
  for (size_t level = 0; level < 3; ++level) {
    EXPECT_FALSE(found[level].agrees);
    EXPECT_NEAR(std::log2(found[level].bytes / kZen4.model.bytes[level]), 0, 0.6);
  }
}

// A virtual machine with the sizes of some other CPU.
TEST(Caches, WhatIsMeasuredShowsThatTheSystemIsWrong) {
  const auto found =
      find_caches(latency_of(kZen4.model, 0.03, 256 * kMiB), {32 * kKiB, 4 * kMiB, 16 * kMiB});
  EXPECT_TRUE(found[0].agrees);
  EXPECT_FALSE(found[1].agrees);
  EXPECT_NEAR(std::log2(found[1].bytes / kMiB), 0, 0.6);
}

// A guest that gets 16 MiB of a shared cache of 480.
TEST(Caches, AShareOfTheLastLevelIsFound) {
  const CacheModel model = {{48 * kKiB, 2 * kMiB, 16 * kMiB}, {1.4, 4.5, 40, 200}};
  const auto found =
      find_caches(latency_of(model, 0.03, 128 * kMiB), {48 * kKiB, 2 * kMiB, 480 * kMiB});
  EXPECT_TRUE(found[1].agrees);
  EXPECT_FALSE(found[2].agrees);
  EXPECT_NEAR(std::log2(found[2].bytes / (16 * kMiB)), 0, 0.6);
}

// As measured in a guest with 48 KiB, 2 MiB and a share of 480 MiB: nothing is flat.
TEST(Caches, OfAMeasuredCurve) {
  Curve curve;
  const double kib_ns[][2] = {
      {4, 1.39},     {22, 1.39},    {38, 1.39},    {45, 1.39},    {53, 4.41},    {63, 4.44},
      {90, 4.45},    {181, 4.45},   {362, 4.45},   {511, 4.94},   {724, 5.38},   {1023, 5.69},
      {1448, 5.88},  {1722, 11.9},  {2047, 19.4},  {2435, 25},    {2896, 25.4},  {3444, 27.7},
      {4095, 30},    {4870, 35},    {5792, 34.1},  {6888, 37.5},  {8191, 39.8},  {9741, 50},
      {11585, 82},   {13777, 89.9}, {16383, 118},  {19483, 129},  {23170, 134},  {27554, 142},
      {32767, 157},  {46340, 165},  {65535, 171},  {110217, 175}, {220435, 173}, {370727, 183},
      {524287, 189}, {741455, 204}, {1048575, 220}};
  for (const auto& [kib, ns] : kib_ns) curve.push_back({kib * kKiB, ns});
  const auto found = find_caches(curve, {48 * kKiB, 2 * kMiB, 480 * kMiB});
  EXPECT_TRUE(found[0].agrees) << found[0].bytes / kKiB;
  EXPECT_TRUE(found[1].agrees) << found[1].bytes / kKiB;
  EXPECT_FALSE(found[2].agrees);
  EXPECT_NEAR(found[2].bytes / kMiB, 9.5, 2);
}

// The same guest an hour later: the L3's step follows the L2's without a flat part.
TEST(Caches, OfAMeasuredCurveWithoutAPause) {
  Curve curve;
  const double kib_ns[][2] = {
      {4, 1.39},     {38, 1.39},    {45, 1.39},    {53, 4.39},    {63, 4.44},   {181, 4.45},
      {362, 4.46},   {511, 4.94},   {724, 5.38},   {1023, 5.69},  {1448, 5.88}, {1722, 5.97},
      {2047, 6.11},  {2435, 30.1},  {2896, 35.6},  {3444, 38.6},  {4095, 47.2}, {4870, 48.7},
      {5792, 58.9},  {6888, 61.7},  {8191, 91.5},  {9741, 114},   {11585, 123}, {13777, 132},
      {16383, 144},  {19483, 158},  {23170, 160},  {38967, 167},  {77935, 174}, {155871, 174},
      {311743, 180}, {524287, 186}, {741455, 198}, {1048575, 217}};
  for (const auto& [kib, ns] : kib_ns) curve.push_back({kib * kKiB, ns});
  const auto found = find_caches(curve, {48 * kKiB, 2 * kMiB, 480 * kMiB});
  EXPECT_TRUE(found[0].agrees) << found[0].bytes / kKiB;
  EXPECT_TRUE(found[1].agrees) << found[1].bytes / kKiB;
  EXPECT_FALSE(found[2].agrees);
  EXPECT_NEAR(found[2].bytes / kMiB, 7, 2);
}

TEST(Caches, ThatWereNotReachedAreNotFound) {
  const auto found =
      find_caches(latency_of(kGoldenCove.model, 0, 16 * kMiB), {48 * kKiB, 2 * kMiB, 480 * kMiB});
  EXPECT_TRUE(found[0].agrees);
  EXPECT_TRUE(found[1].agrees);
  EXPECT_EQ(found[2].bytes, 0);
}

void expect_tlb(const char* name, const TlbModel& model) {
  for (const double strength : {0.0, 0.02, 0.06}) {
    Curve pages;
    Curve packed;
    tlb_curves(model, counts_of(model), strength, &pages, &packed);
    const TlbFound found = find_tlb(pages, packed);
    ASSERT_TRUE(found.entries.has_value()) << name << " noise " << strength;
    ASSERT_TRUE(found.entries2.has_value()) << name << " noise " << strength;
    EXPECT_NEAR(static_cast<double>(*found.entries) / model.entries, 1, 0.1) << name << strength;
    EXPECT_NEAR(static_cast<double>(*found.entries2) / model.entries2, 1, 0.1) << name << strength;
    EXPECT_NEAR(found.miss_ns / model.miss_ns, 1, 0.4) << name << strength;
    EXPECT_NEAR(found.walk_ns / model.walk_ns, 1, 0.3) << name << strength;
  }
}

TEST(Tlb, OfKnownMachinesWithAndWithoutNoise) {
  expect_tlb("Zen 4", {72, 3072, 72, 12, 1.1, 2.0, 12});
  expect_tlb("Golden Cove", {96, 2048, 6, 16, 1.6, 2.3, 14});
  expect_tlb("Skylake", {64, 1536, 4, 12, 1.3, 2.5, 10});
  expect_tlb("Neoverse V1, virtual", {48, 2048, 48, 8, 1.4, 1.9, 40});
}

// With many pages, page walks miss the cache: a further step as high, which is not the TLB's.
TEST(Tlb, PageTablesThatLeaveTheCacheAreNotTheSecondLevel) {
  const TlbModel model = {96, 2048, 6, 16, 1.4, 2, 15};
  Curve pages;
  Curve packed;
  tlb_curves(model, counts_of(model), 0.02, &pages, &packed);
  for (Point& point : pages) point.ns += 20 * missing(point.x, 9000, 1);
  const TlbFound found = find_tlb(pages, packed);
  EXPECT_NEAR(static_cast<double>(found.entries2.value_or(0)) / 2048, 1, 0.1);
  EXPECT_NEAR(found.walk_ns, 15, 4);
}

TEST(Tlb, NothingIsFoundInAFlatCurve) {
  Curve pages;
  Curve packed;
  tlb_curves({1e9, 1e9, 4, 4, 1.5, 2, 10}, counts_of({64, 1024, 4, 4, 1, 1, 1}), 0.02, &pages,
             &packed);
  const TlbFound found = find_tlb(pages, packed);
  EXPECT_FALSE(found.entries.has_value());
  EXPECT_FALSE(found.entries2.has_value());
  EXPECT_FALSE(find_tlb({}, {}).entries.has_value());
}

TEST(Tlb, OneLevelIsNotTakenForTwo) {
  Curve pages;
  Curve packed;
  tlb_curves({64, 1e9, 64, 4, 1.5, 12, 12}, counts_of({64, 1024, 4, 4, 1, 1, 1}), 0.0, &pages,
             &packed);
  const TlbFound found = find_tlb(pages, packed);
  EXPECT_NEAR(static_cast<double>(found.entries.value_or(0)), 64, 4);
  EXPECT_FALSE(found.entries2.has_value());
}

}  // namespace
}  // namespace lacuna::probe
