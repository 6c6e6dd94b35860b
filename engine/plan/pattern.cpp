// SPDX-License-Identifier: BSD-3-Clause
#include "plan/pattern.hpp"

#include <algorithm>

namespace lacuna {

const char* pattern_name(Pattern pattern) {
  switch (pattern) {
    case Pattern::kStrided:
      return "strided";
    case Pattern::kListed:
      return "listed";
    case Pattern::kFields:
      return "fields";
    case Pattern::kTransposed:
      break;
  }
  return "transposed";
}

Pattern pattern_of(const PlanNode& root) {
  switch (root.sweep.how) {
    case Sweep::How::kStrided:
      return Pattern::kStrided;
    case Sweep::How::kListed:
      return Pattern::kListed;
    case Sweep::How::kFields:
      return Pattern::kFields;
    case Sweep::How::kTranspose:
      return Pattern::kTransposed;
    case Sweep::How::kEach:
      break;
  }
  switch (root.kind) {
    case LayoutNode::Kind::kRun:
      return Pattern::kStrided;
    case LayoutNode::Kind::kLoop:
      return pattern_of(*root.children.front());
    case LayoutNode::Kind::kBlocks:
    case LayoutNode::Kind::kRuns:
      return Pattern::kListed;
    case LayoutNode::Kind::kSeq:
      break;
  }
  const auto is_smaller = [](const auto& a, const auto& b) { return a->size < b->size; };
  return pattern_of(**std::max_element(root.children.begin(), root.children.end(), is_smaller));
}

}  // namespace lacuna
