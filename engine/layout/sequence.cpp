// SPDX-License-Identifier: BSD-3-Clause
//
// Sequences in normal form: equal neighbours are joined, and sequences that are better lists become
// lists.
#include <algorithm>
#include <numeric>
#include <utility>

#include "layout/rules.hpp"

namespace lacuna {
namespace {

using Kind = LayoutNode::Kind;

// A sequence of pieces with few runs each, all of about one length, becomes one list: an entry
// takes a fraction of a nanosecond, a piece 5 to 10. Not if runs are narrow and more than 24 a
// piece, since vectors move those loops faster; nor if runs would be cut into more than 1.25 units
// each (docs/experiments/2026-11-26-kernel-choices.md).
constexpr int64_t kListedOfPiece = 96;
constexpr int64_t kListedOfPieceNarrow = 24;
constexpr int64_t kWord = 8;
constexpr double kMostUnitsOfRun = 1.25;
// Nested sequences are flattened up to this many pieces in all: one that occurs several times on
// each level would grow to 2^levels.
constexpr size_t kMaxFlatPieces = size_t{1} << 20;

// parts[begin, end) are equal nodes, or all runs.
Placed join_alike(const std::vector<Placed>& parts, size_t begin, size_t end) {
  if (end - begin == 1) return parts[begin];
  if (parts[begin].node->kind == Kind::kRun) {
    return spell_out({parts.begin() + static_cast<ptrdiff_t>(begin),
                      parts.begin() + static_cast<ptrdiff_t>(end)});
  }
  std::vector<int64_t> offsets;
  offsets.reserve(end - begin);
  for (size_t i = begin; i < end; ++i) offsets.push_back(parts[i].offset);
  return make_blocks(std::move(offsets), {0, parts[begin].node});
}

// Joins runs with neighbouring runs, and equal nodes with equal neighbours.
std::vector<Placed> join_neighbours(const std::vector<Placed>& parts) {
  std::vector<Placed> joined;
  for (size_t begin = 0; begin < parts.size();) {
    size_t end = begin + 1;
    const LayoutNode& first = *parts[begin].node;
    while (end < parts.size() && (first.kind == Kind::kRun ? parts[end].node->kind == Kind::kRun
                                                           : equal(first, *parts[end].node))) {
      ++end;
    }
    joined.push_back(join_alike(parts, begin, end));
    begin = end;
  }
  return joined;
}

// The greatest common divisor of the lengths of all runs.
int64_t unit_of(const LayoutNode& node) {
  if (node.kind == Kind::kRun) return node.size;
  int64_t unit = 0;
  if (node.kind == Kind::kRuns) {
    for (size_t i = 0; i < node.mem_offsets.size(); ++i)
      unit = std::gcd(unit, node.packed_offsets[i + 1] - node.packed_offsets[i]);
  }
  for (const NodePtr& child : node.children) unit = std::gcd(unit, unit_of(*child));
  return unit;
}

// Whether these parts are faster as one list (see kListedOfPiece).
bool is_better_listed(const std::vector<Placed>& parts) {
  const auto pieces = static_cast<int64_t>(parts.size());
  int64_t runs = 0;
  int64_t bytes = 0;
  for (const Placed& part : parts) {
    runs += part.node->leaf_runs;
    bytes += part.node->size;
    if (runs > kListedOfPiece * pieces) return false;
  }
  int64_t unit = 0;
  for (const Placed& part : parts) unit = std::gcd(unit, unit_of(*part.node));
  return runs <= (unit % kWord != 0 ? kListedOfPieceNarrow : kListedOfPiece) * pieces &&
         static_cast<double>(bytes / unit) <= kMostUnitsOfRun * static_cast<double>(runs);
}

// Whether the node only repeats its child.
bool repeats(const LayoutNode& node) {
  return node.kind == Kind::kLoop ||
         (node.kind == Kind::kBlocks && node.child().kind != Kind::kRun);
}

// Calls f(node, offset) for each innermost repeated node: the first one down that is no repetition
// itself.
template <typename F>
void each_repeated(const NodePtr& node, int64_t at, F& f) {
  if (!repeats(*node)) return f(node, at);
  if (node->kind == Kind::kLoop) {
    for (int64_t i = 0; i < node->loop.count; ++i)
      each_repeated(node->children[0], at + i * node->loop.mem_stride, f);
  } else {
    for (const int64_t offset : node->mem_offsets) each_repeated(node->children[0], at + offset, f);
  }
}

// If all parts repeat one list, or are it: that list at each of its offsets. A part costs as much
// as 10 to 20 runs.
Placed join_lists(const std::vector<Placed>& parts) {
  constexpr int64_t kMostOfPart = 16;
  const auto repeated = [](const Placed& part) {
    const LayoutNode* node = part.node.get();
    while (repeats(*node)) node = node->children[0].get();
    return node;
  };
  const LayoutNode* const first = repeated(parts[0]);
  if (first->kind != Kind::kBlocks && first->kind != Kind::kRuns) return {};
  int64_t places = 0;
  for (const Placed& part : parts) {
    if (!equal(*first, *repeated(part))) return {};
    places += part.node->size / first->size;
  }
  if (places > kMostOfPart * static_cast<int64_t>(parts.size())) return {};
  std::vector<int64_t> offsets;
  NodePtr list;
  const auto place = [&](const NodePtr& node, int64_t at) {
    list = node;
    offsets.push_back(at);
  };
  for (const Placed& part : parts) each_repeated(part.node, part.offset, place);
  return make_blocks(std::move(offsets), {0, list});
}

}  // namespace

Placed make_seq(std::vector<Placed> parts) {
  std::erase_if(parts, [](const Placed& part) { return part.empty(); });
  if (parts.empty()) return {};
  // Hoist the common structure of equal pieces before it is lost by flattening.
  parts = join_neighbours(parts);
  int64_t leaf_runs = 0;
  size_t pieces = 0;  // when flattened
  for (const Placed& part : parts) {
    leaf_runs = std::min(leaf_runs + part.node->leaf_runs, kMaxSpelledRuns + 1);
    pieces += part.node->kind == Kind::kSeq ? part.node->children.size() : 1;
  }
  const bool nested = pieces > parts.size() && pieces <= kMaxFlatPieces;
  if (parts.size() > 1 && leaf_runs <= kMaxSpelledRuns) return spell_out(parts);
  if (parts.size() > 1 && nested) {
    std::vector<Placed> flat;
    for (const Placed& part : parts) {
      if (part.node->kind != Kind::kSeq) {
        flat.push_back(part);
        continue;
      }
      for (size_t i = 0; i < part.node->children.size(); ++i) {
        flat.push_back({part.offset + part.node->mem_offsets[i], part.node->children[i]});
      }
    }
    parts = join_neighbours(flat);
  }
  if (parts.size() == 1) return parts[0];
  if (is_better_listed(parts)) return spell_out(parts);
  if (Placed joined = join_lists(parts); !joined.empty()) return joined;
  LayoutNode node;
  node.kind = Kind::kSeq;
  node.leaf_runs = 0;
  node.packed_offsets.push_back(0);
  for (const Placed& part : parts) {
    node.mem_offsets.push_back(part.offset);
    node.size += part.node->size;
    node.packed_offsets.push_back(node.size);
    node.leaf_runs += part.node->leaf_runs;
    node.children.push_back(part.node);
  }
  const int64_t first = rebase(node.mem_offsets);
  return {first, finish(std::move(node))};
}

}  // namespace lacuna
