// SPDX-License-Identifier: BSD-3-Clause
//
// Types of equal structure share a plan, others never do, and the cache's size is bounded. The
// property test packs with plans from a cache, too.
#include "plan/cache.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "type/text/text.hpp"

namespace lacuna {
namespace {

TypePtr parsed(const std::string& text) { return parse_type(text).value(); }

const KernelTable& best() { return *kernel_tables().front(); }

PlanPtr found(PlanCache& cache, const std::string& text) {
  return cache.find_or_make(parsed(text), best(), machine());
}

std::string vector_of(int64_t count) {
  return "vector(" + std::to_string(count) + ", 1, 7, double)";
}

TEST(PlanCache, EqualTypesShareAPlan) {
  PlanCache cache(16, 1 << 20);
  for (const char* text :
       {"double", "vector(3, 1, 7, double)", "hvector(3, 1, 7, dup(double))",
        "struct([1, 2], [0, 8], [int, resized(0, 16, vector(2, 1, 3, char))])",
        "indexed([1, 2, 3], [0, 7, 20], int)", "indexed_block(2, [0, 7, 20], int)",
        "subarray([8, 9], [3, 4], [1, 2], fortran, float)",
        "darray(4, 1, [8, 9], [block, cyclic], [default, 2], [2, 2], c, double)",
        "f90_real(10, undefined)", "value_index(double, int)", "contiguous(0, double)"}) {
    EXPECT_EQ(found(cache, text).get(), found(cache, text).get()) << text;
  }
  EXPECT_EQ(cached_plan(parsed("vector(3, 1, 8, double)")).get(),
            cached_plan(parsed("vector(3, 1, 8, double)")).get());
}

TEST(PlanCache, EveryArgumentTells) {
  PlanCache cache(16, 1 << 24);
  std::vector<PlanPtr> plans;
  for (const char* text :
       {"vector(3, 1, 7, double)",
        "vector(4, 1, 7, double)",
        "vector(3, 2, 7, double)",
        "vector(3, 1, 8, double)",
        "vector(3, 1, 7, long)",
        "hvector(3, 1, 7, double)",
        "vector(3, 1, 7, dup(double))",
        "indexed([3, 1], [7, 1], double)",
        "indexed([1, 3], [7, 1], double)",
        "indexed([3, 1], [1, 7], double)",
        "hindexed([3, 1], [7, 1], double)",
        "indexed([3, 1, 0], [7, 1, 0], double)",
        "subarray([8, 8], [3, 4], [1, 2], c, double)",
        "subarray([8, 8], [4, 3], [1, 2], c, double)",
        "subarray([8, 8], [3, 4], [2, 1], c, double)",
        "resized(0, 8, int)",
        "resized(8, 0, int)",
        "subarray([8, 8], [3, 4], [1, 2], fortran, double)",
        "f90_integer(9)",
        "f90_integer(8)",
        "struct([1, 1], [0, 8], [int, float])",
        "struct([1, 1], [0, 8], [float, int])",
        "darray(4, 1, [8, 9], [block, cyclic], [default, 2], [2, 2], c, double)",
        "darray(4, 1, [8, 9], [cyclic, cyclic], [default, 2], [2, 2], c, double)",
        "darray(4, 2, [8, 9], [block, cyclic], [default, 2], [2, 2], c, double)",
        "darray(4, 1, [8, 9], [block, cyclic], [default, 3], [2, 2], c, double)"}) {
    const TypePtr type = parsed(text);
    for (const PlanPtr& plan : plans) EXPECT_NE(plan->type().hash, type->hash) << text;
    plans.push_back(cache.find_or_make(type, best(), machine()));
    EXPECT_TRUE(equal(plans.back()->type(), *type)) << text;
  }
}

TEST(PlanCache, KernelsAndMachinesHaveTheirOwn) {
  PlanCache cache(1, 1 << 20);
  const Machine other;
  const TypePtr type = parsed(vector_of(3));
  const PlanPtr here = cache.find_or_make(type, best(), machine());
  EXPECT_NE(cache.find_or_make(type, best(), other).get(), here.get());
  EXPECT_NE(cache.find_or_make(type, *kernel_tables().back(), machine()).get(), here.get());
  EXPECT_EQ(cache.find_or_make(type, best(), machine()).get(), here.get());
}

TEST(PlanCache, EqualHashesAreNotEqualTypes) {
  PlanCache cache(1, 1 << 20);
  constexpr uint64_t kHash = 42;
  std::vector<PlanPtr> plans;
  for (int64_t n = 1; n <= 5; ++n) {
    plans.push_back(cache.find_or_make(parsed(vector_of(n)), kHash, best(), machine()));
    EXPECT_EQ(plans.back()->size(), 8 * n);
  }
  for (int64_t n = 1; n <= 5; ++n) {
    EXPECT_EQ(cache.find_or_make(parsed(vector_of(n)), kHash, best(), machine()).get(),
              plans[static_cast<size_t>(n - 1)].get());
  }
}

TEST(PlanCache, TheLeastRecentlyUsedGoes) {
  PlanCache cache(1, 1 << 20);
  constexpr int64_t kWays = PlanCache::kWays;
  std::vector<PlanPtr> plans;
  for (int64_t n = 1; n <= kWays; ++n) plans.push_back(found(cache, vector_of(n)));
  EXPECT_EQ(found(cache, vector_of(1)).get(), plans[0].get());
  const int64_t full = cache.bytes();
  found(cache, vector_of(100));  // evicts vector_of(2)
  EXPECT_EQ(found(cache, vector_of(1)).get(), plans[0].get());
  EXPECT_EQ(found(cache, vector_of(3)).get(), plans[2].get());
  EXPECT_NE(found(cache, vector_of(2)).get(), plans[1].get());
  EXPECT_LT(cache.bytes(), full + full / kWays);
  EXPECT_EQ(plans[1]->size(), 16);  // an evicted plan lives on with its owner
}

TEST(PlanCache, BytesAreBounded) {
  constexpr int64_t kMost = 1 << 16;
  PlanCache cache(4, kMost);
  for (int64_t n = 1; n <= 200; ++n) {
    found(cache, vector_of(n));
    EXPECT_LE(cache.bytes(), kMost);
  }
  EXPECT_GT(cache.bytes(), kMost / 4);
  std::string large = "indexed_block(1, [0";
  for (int i = 1; i < 5000; ++i) large += ", " + std::to_string(i * i);
  large += "], int)";
  const int64_t before = cache.bytes();
  EXPECT_NE(found(cache, large).get(), found(cache, large).get());
  EXPECT_EQ(cache.bytes(), before);
}

// A plan that is too large for the cache keeps an outline of its type, if Keeps says so.
TEST(PlanCache, OutlinesHaveTheNumbersAlone) {
  std::vector<int64_t> places;
  for (int64_t i = 0; i < 1000; ++i) places.push_back(i * i);
  const TypePtr type =
      make_indexed_block(3, std::move(places), make_named(*find_basic("int"))).value();
  PlanCache cache(1, 1 << 12);
  const PlanPtr whole = cache.find_or_make(type, default_kernels(), machine());
  EXPECT_TRUE(equal(whole->type(), *type));
  const PlanPtr plan = cache.find_or_make(type, default_kernels(), machine(), Keeps::kOutline);
  EXPECT_TRUE(plan->type().displacements.empty());
  EXPECT_EQ(plan->type().size_bytes, type->size_bytes);
  EXPECT_EQ(plan->type().true_lb, type->true_lb);
  EXPECT_EQ(plan->type().true_ub, type->true_ub);
  EXPECT_EQ(plan->type().extent(), type->extent());
  EXPECT_LT(plan->memory_bytes(), whole->memory_bytes() - 8000);
  EXPECT_TRUE(equal(*plan->layout().element.node, *whole->layout().element.node));
  // The type fits into an eighth of this cache, and its plan does not.
  PlanCache larger(1, 8 * type->tree_bytes);
  EXPECT_TRUE(larger.find_or_make(type, default_kernels(), machine(), Keeps::kOutline)
                  ->type()
                  .displacements.empty());
}

// A tree of over a million nodes, few of them distinct: comparing two such must not walk them all.
TEST(PlanCache, SharedChildrenAreNotWalkedAgainAndAgain) {
  const auto deep = [] {
    TypePtr type = parsed("int");
    for (int i = 0; i < 13; ++i) {
      const TypePtr other = make_resized(0, type->extent() + 4, type).value();
      type = make_struct({0, 0, 1}, {0, 4, 8}, {type, other, type}).value();
    }
    return type;
  };
  EXPECT_GT(deep()->tree_bytes, int64_t{1} << 28);
  EXPECT_EQ(cached_plan(deep())->size(), 4);
}

TEST(PlanCache, ManyThreadsAtOnce) {
  PlanCache cache(2, 1 << 15);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&cache, &wrong, t] {
      for (int i = 0; i < 400; ++i) {
        const int64_t n = 1 + (i * (t + 1)) % 40;
        if (found(cache, vector_of(n))->size() != 8 * n) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(cache.bytes(), 1 << 15);
  EXPECT_GT(cache.bytes(), 0);
}

}  // namespace
}  // namespace lacuna
