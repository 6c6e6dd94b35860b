// SPDX-License-Identifier: BSD-3-Clause
//
// Layouts to look at: the text that `lacuna explain` shows, and the leaf runs one by one (for tests
// and pictures).
#include "layout/layout.hpp"

namespace lacuna {
namespace {

using Kind = LayoutNode::Kind;

std::string signed_text(int64_t value) {
  return std::string(value >= 0 ? "+" : "").append(std::to_string(value));
}

// A list's first and last entries are enough to recognise it.
std::string list_text(const std::vector<int64_t>& values, size_t n) {
  constexpr size_t kShown = 6;
  std::string text = "[";
  for (size_t i = 0; i < n; ++i) {
    if (n > kShown && i == kShown - 1) {
      text += ", ...";
      i = n - 1;
    }
    if (i > 0) text += ", ";
    text += std::to_string(values[i]);
  }
  return text + "]";
}

void dump_node(const LayoutNode& node, int64_t offset, int indent, std::string& out) {
  out.append(static_cast<size_t>(indent) * 2, ' ');
  if (offset != 0) out += "at " + signed_text(offset) + ": ";
  switch (node.kind) {
    case Kind::kRun:
      out += "run of " + std::to_string(node.size) + " bytes\n";
      return;
    case Kind::kLoop:
      out += "loop " + std::to_string(node.loop.count) + " mem " +
             signed_text(node.loop.mem_stride) + " packed " + signed_text(node.loop.packed_stride) +
             "\n";
      break;
    case Kind::kBlocks:
      out += "blocks " + std::to_string(node.mem_offsets.size()) + " mem " +
             list_text(node.mem_offsets, node.mem_offsets.size()) + " packed " +
             signed_text(node.child().size) + "\n";
      break;
    case Kind::kRuns:
      out += "runs " + std::to_string(node.mem_offsets.size()) + " mem " +
             list_text(node.mem_offsets, node.mem_offsets.size()) + " packed " +
             list_text(node.packed_offsets, node.packed_offsets.size()) + "\n";
      return;
    case Kind::kSeq: {
      out += "sequence of " + std::to_string(node.children.size()) + "\n";
      constexpr size_t kShown = 16;
      for (size_t i = 0; i < node.children.size(); ++i) {
        if (i == kShown && node.children.size() > kShown + 1) {
          out.append(static_cast<size_t>(indent + 1) * 2, ' ');
          out += "... " + std::to_string(node.children.size() - kShown) + " more\n";
          return;
        }
        dump_node(*node.children[i], node.mem_offsets[i], indent + 1, out);
      }
      return;
    }
  }
  dump_node(node.child(), 0, indent + 1, out);
}

using RunVisitor = std::function<void(int64_t, int64_t, int64_t)>;

void visit(const LayoutNode& node, int64_t mem, int64_t packed, const RunVisitor& f) {
  switch (node.kind) {
    case Kind::kRun:
      f(mem, packed, node.size);
      return;
    case Kind::kLoop:
      for (int64_t i = 0; i < node.loop.count; ++i) {
        visit(node.child(), mem + i * node.loop.mem_stride, packed + i * node.loop.packed_stride,
              f);
      }
      return;
    case Kind::kBlocks:
      for (size_t i = 0; i < node.mem_offsets.size(); ++i) {
        visit(node.child(), mem + node.mem_offsets[i],
              packed + static_cast<int64_t>(i) * node.child().size, f);
      }
      return;
    case Kind::kRuns:
      for (size_t i = 0; i < node.mem_offsets.size(); ++i) {
        f(mem + node.mem_offsets[i], packed + node.packed_offsets[i],
          node.packed_offsets[i + 1] - node.packed_offsets[i]);
      }
      return;
    case Kind::kSeq:
      for (size_t i = 0; i < node.children.size(); ++i) {
        visit(*node.children[i], mem + node.mem_offsets[i], packed + node.packed_offsets[i], f);
      }
      return;
  }
}

}  // namespace

std::string dump(const Layout& layout) {
  if (layout.element.empty()) return "empty\n";
  std::string out;
  dump_node(*layout.element.node, layout.element.offset, 0, out);
  return out;
}

void for_each_run(const Placed& placed, const RunVisitor& f) {
  if (!placed.empty()) visit(*placed.node, placed.offset, 0, f);
}

}  // namespace lacuna
