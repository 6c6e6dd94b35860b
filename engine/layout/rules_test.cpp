// SPDX-License-Identifier: BSD-3-Clause
//
// The rewrite rules as properties: whatever the constructors make of random pieces, the set of
// (memory, packed) pairs is that of the pieces written one after the other, and the result is in
// normal form.
#include <gtest/gtest.h>

#include "layout/layout.hpp"
#include "property/case.hpp"

namespace lacuna {
namespace {

using testing::Choices;

// Single bytes in packed order: the meaning of a layout.
std::vector<int64_t> bytes_of(const Placed& placed) {
  std::vector<int64_t> bytes;
  for_each_run(placed, [&](int64_t mem, int64_t packed, int64_t n) {
    EXPECT_EQ(packed, static_cast<int64_t>(bytes.size()));
    for (int64_t i = 0; i < n; ++i) bytes.push_back(mem + i);
  });
  return bytes;
}

void append(std::vector<int64_t>& all, const std::vector<int64_t>& bytes, int64_t offset) {
  for (int64_t byte : bytes) all.push_back(byte + offset);
}

struct Built {
  Placed placed;
  std::vector<int64_t> bytes;  // what it must mean
};

// Small numbers with a taste for those that trigger rules: equal strides, neighbours, repetition.
int64_t some_offset(Choices& choices) {
  return 8 * choices.below(12) - 32 + (choices.below(5) == 0 ? choices.below(8) : 0);
}

Built build(Choices& choices, int depth) {
  Built built;
  if (depth == 0) {
    static constexpr int64_t kLengths[] = {0, 1, 4, 8, 8, 8, 16, 24};
    const int64_t offset = some_offset(choices);
    const int64_t length = kLengths[choices.below(8)];
    built.placed = make_run(offset, length);
    for (int64_t i = 0; i < length; ++i) built.bytes.push_back(offset + i);
    return built;
  }
  const int64_t n = choices.below(7);
  switch (choices.below(4)) {
    case 0: {
      const Built child = build(choices, depth - 1);
      const int64_t stride = choices.below(3) == 0 ? child.placed.size() : some_offset(choices);
      built.placed = make_loop(n, stride, child.placed);
      for (int64_t i = 0; i < n; ++i) append(built.bytes, child.bytes, i * stride);
      return built;
    }
    case 1: {
      const Built child = build(choices, depth - 1);
      std::vector<int64_t> offsets;
      const bool regular = choices.below(2) == 0;
      const int64_t stride = some_offset(choices);
      for (int64_t i = 0; i < n; ++i)
        offsets.push_back(regular ? i * stride : some_offset(choices));
      built.placed = make_blocks(offsets, child.placed);
      for (int64_t offset : offsets) append(built.bytes, child.bytes, offset);
      return built;
    }
    case 2: {
      std::vector<int64_t> offsets;
      std::vector<int64_t> lengths;
      int64_t at = 0;
      for (int64_t i = 0; i < n; ++i) {
        at = choices.below(4) == 0 ? some_offset(choices) : at;
        offsets.push_back(at);
        lengths.push_back(choices.below(4) * 4);
        for (int64_t k = 0; k < lengths.back(); ++k) built.bytes.push_back(at + k);
        at += lengths.back() + choices.below(3) * 8;
      }
      built.placed = make_runs(offsets, lengths);
      return built;
    }
    default: {
      std::vector<Placed> parts;
      const Built shared = build(choices, depth - 1);
      for (int64_t i = 0; i < n; ++i) {
        Built part = choices.below(2) == 0 ? shared : build(choices, depth - 1);
        const int64_t offset = some_offset(choices);
        part.placed.offset += offset;
        parts.push_back(part.placed);
        append(built.bytes, part.bytes, offset);
      }
      built.placed = make_seq(parts);
      return built;
    }
  }
}

// The invariants of layout.hpp, node by node.
void expect_normal(const LayoutNode& node) {
  using Kind = LayoutNode::Kind;
  ASSERT_GT(node.size, 0);
  switch (node.kind) {
    case Kind::kRun:
      return;
    case Kind::kLoop: {
      const LayoutNode& child = node.child();
      EXPECT_GT(node.loop.count, 1);
      EXPECT_EQ(node.loop.packed_stride, child.size);
      EXPECT_EQ(node.size, node.loop.count * child.size);
      if (child.kind == Kind::kRun) {
        EXPECT_NE(node.loop.mem_stride, child.size) << "a dense run as a loop";
      }
      if (child.kind == Kind::kLoop) {
        EXPECT_NE(node.loop.mem_stride, child.loop.count * child.loop.mem_stride)
            << "a loop that continues its child";
      }
      break;
    }
    case Kind::kBlocks:
      EXPECT_GT(node.mem_offsets.size(), 1u);
      EXPECT_EQ(node.mem_offsets[0], 0);
      EXPECT_EQ(node.size, static_cast<int64_t>(node.mem_offsets.size()) * node.child().size);
      break;
    case Kind::kRuns:
    case Kind::kSeq:
      EXPECT_GT(node.mem_offsets.size(), 1u);
      EXPECT_EQ(node.mem_offsets[0], 0);
      EXPECT_EQ(node.packed_offsets.size(), node.mem_offsets.size() + 1);
      EXPECT_EQ(node.packed_offsets.back(), node.size);
      break;
  }
  if (node.kind == Kind::kBlocks || node.kind == Kind::kRuns) {
    for (size_t i = 1; i < node.mem_offsets.size(); ++i) {
      const bool runs = node.kind == Kind::kRuns || node.child().kind == Kind::kRun;
      const int64_t length = node.kind == Kind::kRuns
                                 ? node.packed_offsets[i] - node.packed_offsets[i - 1]
                                 : node.child().size;
      if (runs) {
        EXPECT_NE(node.mem_offsets[i - 1] + length, node.mem_offsets[i]) << "adjacent runs";
      }
    }
  }
  for (const NodePtr& child : node.children) {
    if (node.kind == Kind::kSeq) {
      EXPECT_NE(child->kind, Kind::kSeq) << "a sequence in a sequence";
    }
    expect_normal(*child);
  }
}

TEST(Rules, MeaningIsKeptAndTheResultIsNormal) {
  int kinds[5] = {};
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    Choices choices(seed);
    const Built built = build(choices, 1 + static_cast<int>(seed % 4));
    ASSERT_EQ(bytes_of(built.placed), built.bytes) << "seed " << seed;
    if (built.placed.empty()) continue;
    ASSERT_EQ(built.placed.size(), static_cast<int64_t>(built.bytes.size()));
    expect_normal(*built.placed.node);
    ++kinds[static_cast<int>(built.placed.node->kind)];
    if (HasFailure()) FAIL() << "seed " << seed << "\n" << dump({built.placed, 0});
  }
  for (int count : kinds) EXPECT_GT(count, 20);  // every kind of node was made
}

TEST(Rules, HashAndEqualityFollowStructure) {
  const Placed a = make_loop(4, 16, make_run(0, 8));
  const Placed b = make_blocks({0, 16, 32, 48}, make_run(0, 8));
  EXPECT_TRUE(equal(a, b));
  EXPECT_EQ(a.node->hash, b.node->hash);
  EXPECT_FALSE(equal(a, make_loop(4, 24, make_run(0, 8))));
  EXPECT_FALSE(equal(a, make_loop(4, 16, make_run(8, 8))));  // same pattern, another place
  EXPECT_TRUE(equal(*a.node, *make_loop(4, 16, make_run(8, 8)).node));
  EXPECT_TRUE(equal(Placed{}, make_run(5, 0)));
}

}  // namespace
}  // namespace lacuna
