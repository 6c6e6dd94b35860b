// SPDX-License-Identifier: BSD-3-Clause
//
// The rewrite rules that keep layouts in normal form, as constructors: each takes normalized pieces
// and returns one, so a type is normalized bottom-up in one pass and no fixpoint has to be found.
// Each rule keeps the set of (memory, packed) pairs; rules_test.cpp holds that as a property.
#include "layout/rules.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/checked.hpp"
#include "base/hash.hpp"

namespace lacuna {
namespace {

using Kind = LayoutNode::Kind;

uint64_t mix(uint64_t h, uint64_t v) {
  h ^= v + kGoldenRatio + (h << 6) + (h >> 2);
  h *= 0xFF51AFD7ED558CCDu;
  return h ^ (h >> 32);
}

// The least p that divides n and for which entry k + p repeats entry k: the distances to the next
// entry and the kinds (lengths) have period p. By the failure function of Knuth, Morris and Pratt
// over the pairs (kind, distance); O(n). The last entry has no distance; it is compared by kind
// alone.
template <typename SameKind>
size_t least_period(const std::vector<int64_t>& offsets, SameKind same_kind) {
  const size_t n = offsets.size();
  if (n < 2) return n;
  auto distance = [&](size_t k) { return offsets[k + 1] - offsets[k]; };
  auto same = [&](size_t i, size_t j) { return same_kind(i, j) && distance(i) == distance(j); };
  const size_t m = n - 1;  // entries that have a distance
  std::vector<uint32_t> border(m + 1, 0);
  for (size_t i = 1, k = 0; i < m; ++i) {
    while (k > 0 && !same(i, k)) k = border[k];
    if (same(i, k)) ++k;
    border[i + 1] = static_cast<uint32_t>(k);
  }
  // All periods of the first m entries are m - (iterated borders); take the least that divides n
  // and fits the last entry.
  for (size_t k = border[m];; k = border[k]) {
    const size_t p = m - k;
    if (n % p == 0 && p < n && same_kind(n - 1, n - 1 - p)) return p;
    if (k == 0) return n;
  }
}

Placed at(int64_t offset, Placed placed) {
  placed.offset += offset;
  return placed;
}

// A loop of several iterations, of a child that it does not continue densely.
[[gnu::noinline]] Placed loop_node(int64_t count, int64_t mem_stride, const Placed& child) {
  const LayoutNode& inner = *child.node;
  LayoutNode node;
  node.kind = Kind::kLoop;
  node.size = count * inner.size;
  node.leaf_runs = count * inner.leaf_runs;
  if (inner.kind == Kind::kLoop &&
      mem_stride == wrapping_mul(inner.loop.count, inner.loop.mem_stride)) {
    // Collapse nested strides: the outer loop only continues the inner one.
    node.loop = {count * inner.loop.count, inner.loop.mem_stride, inner.loop.packed_stride};
    node.children = inner.children;
  } else {
    node.loop = {count, mem_stride, inner.size};
    node.children = {child.node};
  }
  return {child.offset, finish(std::move(node))};
}

}  // namespace

NodePtr finish(LayoutNode&& node) {
  uint64_t h = mix(static_cast<uint64_t>(node.kind), static_cast<uint64_t>(node.size));
  h = mix(h, static_cast<uint64_t>(node.loop.count));
  h = mix(h, static_cast<uint64_t>(node.loop.mem_stride));
  for (int64_t offset : node.mem_offsets) h = mix(h, static_cast<uint64_t>(offset));
  for (int64_t offset : node.packed_offsets) h = mix(h, static_cast<uint64_t>(offset));
  for (const NodePtr& child : node.children) h = mix(h, child->hash);
  node.hash = h;
  return std::make_shared<const LayoutNode>(std::move(node));
}

int64_t rebase(std::vector<int64_t>& offsets) {
  const int64_t first = offsets.front();
  for (int64_t& offset : offsets) offset -= first;
  return first;
}

Placed spell_out(const std::vector<Placed>& parts) {
  std::vector<int64_t> offsets;
  std::vector<int64_t> lengths;
  for (const Placed& part : parts) {
    for_each_run(part, [&](int64_t mem_offset, int64_t, int64_t bytes) {
      offsets.push_back(mem_offset);
      lengths.push_back(bytes);
    });
  }
  return make_runs(std::move(offsets), std::move(lengths));
}

bool equal(const LayoutNode& a, const LayoutNode& b) {
  if (&a == &b) return true;
  if (a.hash != b.hash || a.kind != b.kind || a.size != b.size || !(a.loop == b.loop) ||
      a.mem_offsets != b.mem_offsets || a.packed_offsets != b.packed_offsets ||
      a.children.size() != b.children.size()) {
    return false;
  }
  return std::equal(a.children.begin(), a.children.end(), b.children.begin(),
                    [](const NodePtr& x, const NodePtr& y) { return equal(*x, *y); });
}

bool equal(const Placed& a, const Placed& b) {
  if (a.empty() || b.empty()) return a.empty() == b.empty();
  return a.offset == b.offset && equal(*a.node, *b.node);
}

Placed make_run(int64_t offset, int64_t bytes) {
  if (bytes == 0) return {};
  LayoutNode node;
  node.kind = Kind::kRun;
  node.size = bytes;
  return {offset, finish(std::move(node))};
}

Placed make_loop(int64_t count, int64_t mem_stride, Placed child) {
  if (count == 0 || child.empty()) return {};
  if (count == 1) return child;
  const LayoutNode& inner = *child.node;
  // Fold a dense run: n pieces that touch are one piece.
  if (inner.kind == Kind::kRun && mem_stride == inner.size)
    return make_run(child.offset, count * inner.size);
  if (inner.kind != Kind::kRun && count * inner.leaf_runs <= kMaxSpelledRuns) {
    std::vector<Placed> copies;
    for (int64_t i = 0; i < count; ++i) copies.push_back(at(i * mem_stride, child));
    return spell_out(copies);
  }
  return loop_node(count, mem_stride, child);
}

namespace {

// Copies that are no loop.
[[gnu::noinline]] Placed blocks_node(std::vector<int64_t>&& mem_offsets, const Placed& child) {
  const auto n = static_cast<int64_t>(mem_offsets.size());
  LayoutNode node;
  node.kind = Kind::kBlocks;
  node.size = n * child.node->size;
  node.leaf_runs = n * child.node->leaf_runs;
  const int64_t first = rebase(mem_offsets);
  node.mem_offsets = std::move(mem_offsets);
  node.children = {child.node};
  return {first + child.offset, finish(std::move(node))};
}

// Runs that are no loop.
[[gnu::noinline]] Placed runs_node(std::vector<int64_t>&& mem_offsets,
                                   const std::vector<int64_t>& lengths) {
  const int64_t first = rebase(mem_offsets);
  LayoutNode node;
  node.leaf_runs = std::ssize(mem_offsets);
  if (mem_offsets.capacity() / 9 * 8 > mem_offsets.size()) mem_offsets.shrink_to_fit();
  node.mem_offsets = std::move(mem_offsets);
  if (std::all_of(lengths.begin(), lengths.end(),
                  [&](int64_t length) { return length == lengths[0]; })) {
    node.kind = Kind::kBlocks;
    node.size = node.leaf_runs * lengths[0];
    node.children = {make_run(0, lengths[0]).node};
  } else {
    node.kind = Kind::kRuns;
    node.packed_offsets.resize(lengths.size() + 1, 0);
    std::partial_sum(lengths.begin(), lengths.end(), node.packed_offsets.begin() + 1);
    node.size = node.packed_offsets.back();
  }
  return {first, finish(std::move(node))};
}

}  // namespace

Placed make_blocks(std::vector<int64_t> mem_offsets, Placed child) {
  const size_t n = mem_offsets.size();
  if (n == 0 || child.empty()) return {};
  if (n == 1) return at(mem_offsets[0], std::move(child));
  if (static_cast<int64_t>(n) * child.node->leaf_runs <= kMaxSpelledRuns) {
    std::vector<Placed> copies;
    for (int64_t offset : mem_offsets) copies.push_back(at(offset, child));
    return spell_out(copies);
  }
  if (child.node->kind == Kind::kRun) {
    const int64_t width = child.node->size;
    for (size_t i = 1; i < n; ++i) {
      if (mem_offsets[i] - mem_offsets[i - 1] ==
          width) {  // Some touch: they merge into runs of unequal lengths.
        for (int64_t& offset : mem_offsets) offset += child.offset;
        return make_runs(std::move(mem_offsets), std::vector<int64_t>(n, width));
      }
    }
  }
  const size_t period = least_period(mem_offsets, [](size_t, size_t) { return true; });
  if (period < n) {
    const int64_t stride = mem_offsets[period] - mem_offsets[0];
    mem_offsets.resize(period);
    return make_loop(static_cast<int64_t>(n / period), stride,
                     make_blocks(std::move(mem_offsets), std::move(child)));
  }
  return blocks_node(std::move(mem_offsets), child);
}

Placed make_runs(std::vector<int64_t> mem_offsets, std::vector<int64_t> lengths) {
  size_t n = 0;  // merged runs so far, in place
  for (size_t i = 0; i < mem_offsets.size(); ++i) {
    if (lengths[i] == 0) continue;
    if (n > 0 && mem_offsets[n - 1] + lengths[n - 1] == mem_offsets[i]) {
      lengths[n - 1] += lengths[i];
    } else {
      mem_offsets[n] = mem_offsets[i];
      lengths[n] = lengths[i];
      ++n;
    }
  }
  if (n == 0) return {};
  if (n == 1) return make_run(mem_offsets[0], lengths[0]);
  mem_offsets.resize(n);
  lengths.resize(n);
  const size_t period =
      least_period(mem_offsets, [&](size_t i, size_t j) { return lengths[i] == lengths[j]; });
  if (period < n) {
    const int64_t stride = mem_offsets[period] - mem_offsets[0];
    mem_offsets.resize(period);
    lengths.resize(period);
    return loop_node(static_cast<int64_t>(n / period), stride,
                     make_runs(std::move(mem_offsets), std::move(lengths)));
  }
  return runs_node(std::move(mem_offsets), lengths);
}

}  // namespace lacuna
