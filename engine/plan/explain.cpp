// SPDX-License-Identifier: BSD-3-Clause
//
// Plans as text: what `lacuna explain` prints.
#include <set>

#include "plan/plan.hpp"
#include "type/text.hpp"

namespace lacuna {
namespace {

using How = Sweep::How;

std::string loop_text(const Loop& loop, bool open) {
  return (open ? "n x " : "") + std::to_string(loop.count) + " (mem " +
         (loop.mem_stride >= 0 ? "+" : "") + std::to_string(loop.mem_stride) + ", packed +" +
         std::to_string(loop.packed_stride) + ")";
}

std::string moves_text(const FewMoves& few, int64_t elements) {
  return std::to_string(few.moves(elements)) + (few.is_permuted(elements)
                                                    ? " byte permutes of vectors"
                                                : few.is_wide() ? " moves of 32 bytes"
                                                                : " moves of 1 to 16 bytes");
}

void describe(const PlanNode& node, bool repeated, int indent, std::set<const PlanNode*>& seen,
              std::string& out) {
  const std::string pad(static_cast<size_t>(indent) * 2, ' ');
  const Sweep& sweep = node.sweep;
  if (!seen.insert(&node).second) {
    out += pad + "(as above)\n";
    return;
  }
  if (sweep.how == How::kEach) {
    out += pad + sweep.why + "\n";
    constexpr size_t kShown = 8;
    for (size_t i = 0; i < node.children.size(); ++i) {
      if (i == kShown) {
        out += pad + "  ... " + std::to_string(node.children.size() - kShown) + " more\n";
        break;
      }
      if (const FewMoves* const few = node.pieces[i].get()) {
        out += pad + "  " + moves_text(*few, 1) + "\n";
      } else {
        describe(*node.children[i], false, indent + 1, seen, out);
      }
    }
    return;
  }
  out += pad + "kernels " + sweep.pack.id() + " / " + sweep.unpack.id() + "\n";
  for (size_t i = 0; i < sweep.around.size(); ++i) {
    const bool open = repeated && sweep.own == Sweep::Own::kAround && i == 0;
    out += pad + "  for " + loop_text(sweep.around[i], open) + "\n";
  }
  const bool outer_open = repeated && sweep.own == Sweep::Own::kOuter;
  const bool inner_open = repeated && sweep.own == Sweep::Own::kInner;
  switch (sweep.how) {
    case How::kTranspose:
      out += pad + "  rows " + loop_text(sweep.inner, inner_open) + ", columns " +
             loop_text(sweep.outer, outer_open) + ", elements of " + std::to_string(sweep.width) +
             " bytes\n";
      break;
    case How::kStrided:
      if (sweep.outer.count > 1 || outer_open)
        out += pad + "  outer " + loop_text(sweep.outer, outer_open) + "\n";
      if (sweep.inner.count > 1 || inner_open)
        out += pad + "  inner " + loop_text(sweep.inner, inner_open) + "\n";
      out += pad + "  runs of " + std::to_string(sweep.width) + " bytes\n";
      break;
    case How::kListed:
      if (sweep.outer.count > 1 || outer_open)
        out += pad + "  outer " + loop_text(sweep.outer, outer_open) + "\n";
      out += pad + "  " + std::to_string(sweep.list->mem_offsets.size()) + " listed runs";
      out += sweep.width != 0 ? " of " + std::to_string(sweep.width) + " bytes\n" : "\n";
      break;
    case How::kFields:
      if (sweep.outer.count > 1 || outer_open)
        out += pad + "  outer " + loop_text(sweep.outer, outer_open) + "\n";
      out += pad + "  elements " + loop_text(sweep.inner, inner_open) + " of " +
             (sweep.fields->fields.size() == 1
                  ? "one run"
                  : std::to_string(sweep.fields->fields.size()) + " fields") +
             ", " + std::to_string(sweep.fields->size) + " bytes\n";
      break;
    case How::kEach:
      break;
  }
  out += pad + "  why: " + sweep.why + "\n";
}

}  // namespace

std::string explain(const Plan& plan, int64_t count) {
  const Type& type = plan.type();
  std::string out;
  auto line = [&](const char* name, const std::string& value) {
    out += std::string(name) + value + "\n";
  };
  auto number = [](int64_t value) { return std::to_string(value); };
  line("type         ", print_type(type));
  line("size         ", number(type.size_bytes) + " bytes");
  line("extent       ", number(type.extent()) + " bytes, lb " + number(type.lb));
  line("true extent  ", number(type.true_extent()) + " bytes, true lb " + number(type.true_lb));
  line("signature    ", number(type.signature.length) + " basic elements" +
                            (type.signature.uniform != nullptr
                                 ? ", all " + std::string(type.signature.uniform->name)
                                 : std::string(type.signature.length > 0 ? ", mixed" : "")));
  if (plan.is_empty()) {
    line("layout       ", "empty: nothing to move");
    return out;
  }
  line("runs         ", number(plan.layout().element.node->leaf_runs) + " of " +
                            number(static_cast<int64_t>(plan.mean_run_bytes() + 0.5)) +
                            " bytes on average");
  out += "layout\n";
  const std::string layout = dump(plan.layout());
  for (size_t begin = 0; begin < layout.size();) {
    const size_t end = layout.find('\n', begin);
    out += "  " + layout.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  out += count == 1 ? "plan for one element\n" : "plan for n = " + number(count) + " elements\n";
  if (plan.is_run(count)) {
    // A small run is moved by FewMoves; for people that is memcpy all the same.
    out += "  memcpy\n  why: the data have no gaps and are in packed order\n";
    return out;
  }
  if (!plan.is_disjoint(count))
    out += "  some bytes of memory appear twice: unpacked run by run, in packed order\n";
  if (count > 0 && count <= plan.few().most_elements()) {
    out += "  " + moves_text(plan.few(), count) +
           "\n  why: too few for a kernel; slices are moved as follows:\n";
  }
  std::set<const PlanNode*> seen;
  describe(plan.root(count), count != 1, 1, seen, out);
  return out;
}

}  // namespace lacuna
