// SPDX-License-Identifier: BSD-3-Clause
#include "plan/pattern.hpp"

#include <algorithm>

namespace lacuna {
namespace {

constexpr size_t kFewRuns = 16;  // a list of so many runs counts as a struct

}  // namespace

const char* pattern_name(Pattern pattern) {
  switch (pattern) {
    case Pattern::kStrided:
      return "strided";
    case Pattern::kListed:
      return "listed";
    case Pattern::kFields:
      return "fields";
    case Pattern::kTransposed:
      return "transposed";
    case Pattern::kPieces:
      break;
  }
  return "pieces";
}

// Decided by the layout, not the kernel: kernels for records also move short runs at short strides.
Pattern pattern_of(const PlanNode& root) {
  if (root.step.shape == Step::Shape::kTranspose) return Pattern::kTransposed;
  switch (root.kind) {
    case LayoutNode::Kind::kRun:
      return Pattern::kStrided;
    case LayoutNode::Kind::kLoop:
      return pattern_of(*root.children.front());
    case LayoutNode::Kind::kBlocks:
    case LayoutNode::Kind::kRuns:
      return root.layout->mem_offsets.size() <= kFewRuns ? Pattern::kFields : Pattern::kListed;
    case LayoutNode::Kind::kSeq:
      break;
  }
  const auto is_smaller = [](const auto& a, const auto& b) { return a->size < b->size; };
  const PlanNode& most = **std::max_element(root.children.begin(), root.children.end(), is_smaller);
  return most.kind == LayoutNode::Kind::kRun ? Pattern::kFields : pattern_of(most);
}

int64_t piece_bytes(const Type& type) {
  const bool is_dense =
      type.size_bytes == type.true_ub - type.true_lb && type.size_bytes == type.ub - type.lb;
  if (type.children.empty()) return 0;
  if (is_dense) return type.signature.length > 1 ? type.size_bytes : 0;
  const Type* most = type.children.front().get();
  for (size_t i = 1; i < type.children.size(); ++i) {
    const auto bytes = [&](size_t child) {
      return type.children[child]->size_bytes *
             (type.blocklengths.empty() ? 1 : type.blocklengths[child]);
    };
    if (bytes(i) > most->size_bytes) most = type.children[i].get();
  }
  return piece_bytes(*most);
}

}  // namespace lacuna
