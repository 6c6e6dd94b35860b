// SPDX-License-Identifier: BSD-3-Clause
//
// The generator: the same types on every machine, within its options, with all constructors and
// unusual cases. The shrinker: planted faults are shrunk to small types.
#include "type/random/random.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "type/text/text.hpp"
#include "type/typemap.hpp"

namespace lacuna {
namespace {

template <typename Visit>
void for_each_node(const Type& type, const Visit& visit) {
  visit(type);
  for (const TypePtr& child : type.children) for_each_node(*child, visit);
}

TEST(Random, NumbersAreTheSameOnEveryMachine) {
  // xoshiro256** on the first four words of splitmix64(42), computed by another program.
  Random random(42);
  EXPECT_EQ(random.next(), 1546998764402558742u);
  EXPECT_EQ(random.next(), 6990951692964543102u);
  EXPECT_EQ(random.next(), 12544586762248559009u);
}

// Reports quote failing seeds: if this number changes, seeds in old reports give other types.
TEST(Random, TypesAreTheSameOnEveryMachine) {
  uint64_t hash = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    for (const char c : print_type(*random_type(seed))) {
      hash = hash * 31 + static_cast<unsigned char>(c);
    }
  }
  EXPECT_EQ(hash, 6998802511120410770u);
}

TEST(Random, NumbersStayInTheirRange) {
  Random random(1);
  std::map<int64_t, int> seen;
  for (int i = 0; i < 10000; ++i) ++seen[random.between(-3, 6)];
  EXPECT_EQ(seen.size(), 10u);
  for (const auto& [value, times] : seen) {
    EXPECT_TRUE(value >= -3 && value <= 6) << value;
    EXPECT_TRUE(times > 800 && times < 1200) << value << ": " << times << " of 10000";
  }
  EXPECT_EQ(random.between(7, 7), 7);
  EXPECT_EQ(random.magnitude(7, 7), 7);
  bool negative = false;
  bool positive = false;
  for (int i = 0; i < 100; ++i) {
    (random.between(INT64_MIN, INT64_MAX) < 0 ? negative : positive) = true;
  }
  EXPECT_TRUE(negative && positive);
  int large = 0;
  for (int i = 0; i < 10000; ++i) {
    const int64_t value = random.magnitude(5, 1005);
    ASSERT_TRUE(value >= 5 && value <= 1005) << value;
    large += value > 500;
  }
  EXPECT_TRUE(large > 200 && large < 2000) << large;
}

TEST(Random, SeedsDiffer) {
  std::set<std::string> texts;
  for (uint64_t seed = 0; seed < 1000; ++seed) texts.insert(print_type(*random_type(seed)));
  EXPECT_GT(texts.size(), 900u);
}

TEST(Random, OptionsHold) {
  for (const bool overlap : {false, true}) {
    for (const bool negative : {false, true}) {
      for (uint64_t seed = 0; seed < 1500; ++seed) {
        RandomOptions options;
        options.max_depth = static_cast<int>(seed % 6);
        options.max_entries = seed % 3 == 0 ? 50 : 4096;
        options.max_true_extent = seed % 4 == 0 ? 300 : 1 << 18;
        options.overlap = overlap;
        options.negative = negative;
        const TypePtr type = random_type(seed, options);
        SCOPED_TRACE(std::to_string(seed) + ": " + print_type(*type));
        ASSERT_LE(type->depth, options.max_depth);
        const auto listed = typemap(*type, 1);
        ASSERT_TRUE(listed.ok());
        ASSERT_LE(std::ssize(*listed), options.max_entries);
        ASSERT_LE(type->true_extent(), options.max_true_extent);
        for (const int64_t bound : {type->lb, type->ub, type->true_lb, type->true_ub}) {
          ASSERT_LE(std::abs(bound), options.max_true_extent);
        }
        if (!overlap) {
          for (const int64_t count : {1, 2, 3}) ASSERT_FALSE(has_overlap(*type, count)) << count;
        }
        if (negative) continue;
        for_each_node(*type, [](const Type& node) {
          ASSERT_GE(node.lb, 0);
          ASSERT_GE(node.true_lb, 0);
          ASSERT_GE(node.extent(), 0);
          ASSERT_GE(node.stride, 0);
          ASSERT_GE(node.resized_lb, 0);
          for (const int64_t displacement : node.displacements) ASSERT_GE(displacement, 0);
        });
      }
    }
  }
}

TEST(Random, EverythingComesUp) {
  constexpr int kSeeds = 2000;
  std::map<Combiner, int> combiners;
  std::map<Combiner, int> roots;
  std::set<const Basic*> basics;
  std::set<std::pair<Order, size_t>> shapes;
  std::set<Distribution> distributions;
  std::map<std::string, int> features;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const TypePtr type = random_type(seed);
    ++roots[type->combiner];
    features["empty"] += type->size_bytes == 0;
    features["negative extent"] += type->extent() < 0;
    features["zero extent"] += type->extent() == 0 && type->size_bytes > 0;
    features["negative true_lb"] += type->true_lb < 0;
    features["overlap"] += has_overlap(*type, 1);
    features["depth 3 or more"] += type->depth >= 3;
    features["more than 1000 entries"] += type->signature.length > 1000;
    features["one entry"] += type->signature.length == 1;
    for_each_node(*type, [&](const Type& node) {
      ++combiners[node.combiner];
      if (node.basic) basics.insert(node.basic);
      const bool strided =
          node.combiner == Combiner::kVector || node.combiner == Combiner::kHvector;
      features["negative stride"] += strided && node.stride < 0;
      features["zero stride"] += strided && node.stride == 0;
      features["zero count"] += strided && node.count == 0;
      features["odd hvector"] += node.combiner == Combiner::kHvector && node.stride % 2 != 0;
      if (node.combiner == Combiner::kSubarray) shapes.insert({node.order, node.sizes.size()});
      distributions.insert(node.distribs.begin(), node.distribs.end());
      const auto& d = node.displacements;
      features["unsorted list"] += !std::is_sorted(d.begin(), d.end());
      features["repeated displacement"] += std::adjacent_find(d.begin(), d.end()) != d.end();
      const auto& b = node.blocklengths;
      features["empty block"] += std::find(b.begin(), b.end(), 0) != b.end();
      features["equal blocks"] += b.size() > 2 && std::equal(b.begin() + 1, b.end(), b.begin());
      features["markers of a struct's child"] +=
          node.combiner == Combiner::kStruct && node.lb_marker;
    });
    // The columns of a matrix, one after the other.
    features["transpose"] += type->combiner == Combiner::kContiguous && type->count > 1 &&
                             type->children[0]->combiner == Combiner::kResized &&
                             type->children[0]->children[0]->combiner == Combiner::kVector &&
                             type->children[0]->extent() < type->children[0]->true_extent();
  }
  EXPECT_EQ(combiners.size(), 17u);
  for (const auto& [combiner, times] : combiners) {
    EXPECT_GE(times, kSeeds / 100) << static_cast<int>(combiner);
  }
  EXPECT_GE(roots.size(), 13u);
  EXPECT_GE(basics.size(), all_basics().size() / 2);
  EXPECT_EQ(shapes.size(), 8u) << "subarrays of 1 to 4 dimensions in both orders";
  EXPECT_EQ(distributions.size(), 3u);
  for (const auto& [feature, times] : features) EXPECT_GE(times, kSeeds / 200) << feature;
  EXPECT_LE(features["empty"], kSeeds / 5);
  EXPECT_LE(features["overlap"], kSeeds / 4);
}

TEST(Random, OverlapIsTrueWhereItCannotBeTold) {
  EXPECT_TRUE(has_overlap(**parse_type("contiguous(1099511627776, double)"), 1));
  EXPECT_FALSE(has_overlap(**parse_type("contiguous(3, double)"), 5));
  EXPECT_FALSE(has_overlap(**parse_type("resized(0, 8, vector(3, 1, 3, double))"), 3));
  EXPECT_TRUE(has_overlap(**parse_type("resized(0, 8, vector(3, 1, 3, double))"), 4));
  EXPECT_TRUE(has_overlap(**parse_type("resized(0, 0, int)"), 2));
}

// ---- shrinking ----

// A planted fault is shrunk to a smallest type, whatever random type shows it first.
void expect_shrunk(const std::function<bool(const Type&)>& fault,
                   const std::set<std::string>& smallest) {
  const auto fails = [&fault](const TypePtr& type) { return fault(*type); };
  int found = 0;
  for (uint64_t seed = 0; found < 5; ++seed) {
    ASSERT_LT(seed, 20000u) << "no type shows the fault";
    const TypePtr type = random_type(seed);
    if (!fault(*type)) continue;
    ++found;
    const std::string small = print_type(*shrink_type(type, fails));
    EXPECT_TRUE(smallest.contains(small)) << small << "\nfrom " << print_type(*type);
  }
}

bool has_node(const Type& type, const std::function<bool(const Type&)>& property) {
  bool found = false;
  for_each_node(type, [&](const Type& node) { found = found || property(node); });
  return found;
}

TEST(Shrink, FindsTheSmallestExample) {
  expect_shrunk([](const Type& t) { return t.size_bytes >= 0; }, {"char"});
  expect_shrunk([](const Type& t) { return t.signature.length >= 7; }, {"contiguous(7, char)"});
  expect_shrunk([](const Type& t) { return t.true_lb < 0; },
                {"hindexed([1], [-1], char)", "indexed([1], [-1], char)",
                 "hindexed_block(1, [-1], char)", "indexed_block(1, [-1], char)",
                 "hvector(2, 1, -1, char)", "vector(2, 1, -1, char)", "struct([1], [-1], [char])"});
  expect_shrunk([](const Type& t) { return t.extent() < 0; }, {"resized(0, -1, char)"});
  expect_shrunk(
      [](const Type& t) {
        return has_node(t, [](const Type& n) {
          return n.combiner == Combiner::kVector && n.stride > 3 && n.count > 1;
        });
      },
      {"vector(2, 0, 4, char)"});
  expect_shrunk(
      [](const Type& t) {
        return has_node(t, [](const Type& n) {
          return n.combiner == Combiner::kStruct && n.displacements.size() >= 2 &&
                 n.displacements[1] < n.displacements[0];
        });
      },
      {"struct([0, 0], [1, 0], [char, char])", "struct([0, 0], [0, -1], [char, char])"});
  expect_shrunk(
      [](const Type& t) {
        return has_node(t, [](const Type& n) {
          return n.combiner == Combiner::kDarray && n.order == Order::kFortran &&
                 n.darray_size > 1 && n.distribs.back() == Distribution::kCyclic;
        });
      },
      {"darray(2, 0, [1], [cyclic], [default], [2], fortran, char)"});
  expect_shrunk(
      [](const Type& t) {
        return has_node(t, [](const Type& n) { return n.basic && n.basic->part_count == 2; });
      },
      {"float_int"});
}

TEST(Shrink, EndsWhereNoStepFails) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    // An arbitrary fault: it depends on the whole text.
    const auto fails = [](const TypePtr& type) {
      uint64_t hash = 1;
      for (const char c : print_type(*type)) hash = hash * 131 + static_cast<unsigned char>(c);
      return hash % 5 < 3;
    };
    const TypePtr type = random_type(seed);
    if (!fails(type)) continue;
    const TypePtr small = shrink_type(type, fails, 1'000'000);
    EXPECT_TRUE(fails(small));
    EXPECT_FALSE(for_each_simplification(small, fails)) << print_type(*small);
  }
}

TEST(Shrink, StepsAreTypesOfTheirOwnAndNeverTheSame) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    RandomOptions options;
    options.max_entries = 100;
    const TypePtr type = random_type(seed, options);
    int steps = 0;
    for_each_simplification(type, [&](const TypePtr& simpler) {
      ++steps;
      EXPECT_FALSE(equal(*simpler, *type)) << print_type(*type);
      const Result<TypePtr> again = parse_type(print_type(*simpler));
      EXPECT_TRUE(again.ok() && equal(**again, *simpler)) << print_type(*simpler);
      return false;
    });
    EXPECT_EQ(steps == 0, print_type(*type) == "char") << print_type(*type);
  }
}

TEST(Shrink, GivesUpAfterItsSteps) {
  const TypePtr type = *parse_type("contiguous(1000, contiguous(1000, double))");
  int calls = 0;
  const auto fails = [&calls](const TypePtr& candidate) {
    ++calls;
    return candidate->size_bytes >= 1'000'000;
  };
  EXPECT_TRUE(equal(*shrink_type(type, fails, 0), *type));
  EXPECT_EQ(calls, 0);
  const TypePtr better = shrink_type(type, fails, 12);
  EXPECT_EQ(calls, 12);
  EXPECT_LT(better->size_bytes, type->size_bytes);
}

}  // namespace
}  // namespace lacuna
