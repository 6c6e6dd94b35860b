// SPDX-License-Identifier: BSD-3-Clause
//
// Plans as text: what `lacuna explain` prints.
#include <algorithm>
#include <set>
#include <utility>

#include "plan/plan.hpp"
#include "type/text/text.hpp"

namespace lacuna {
namespace {

using Shape = Step::Shape;

std::string loop_text(const Loop& loop, bool open) {
  return (open ? "n x " : "") + std::to_string(loop.count) + " (mem " +
         (loop.mem_stride >= 0 ? "+" : "") + std::to_string(loop.mem_stride) + ", packed +" +
         std::to_string(loop.packed_stride) + ")";
}

std::string moves_text(const SmallMoves& small, int64_t elements) {
  const int64_t moves = small.moves(elements);
  return std::to_string(moves) + (moves == 1 ? " move" : " moves") +
         (small.is_permuted(elements) ? ", each permutes the bytes of a vector"
          : small.is_wide()           ? " of 32 bytes"
                                      : " of 1 to 16 bytes");
}

// Hints that differ from the plain loop's.
std::string hints_text(const Hints& hints) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  const Prefetch& prefetch = hints.prefetch;
  if (prefetch.runs > 0)
    add("prefetch " + std::to_string(prefetch.runs) + " ahead" +
        (prefetch.into_l2 ? " into the L2" : ""));
  if (hints.stores > 1) add("each stored " + std::to_string(hints.stores) + " times");
  if (hints.load_cycles > 1) add("a load every " + std::to_string(hints.load_cycles) + " cycles");
  const int narrowest = std::min(hints.move.on_lines, hints.move.off_lines);
  if (narrowest < 64) add("moves of " + std::to_string(narrowest) + " bytes");
  if (hints.move.masked) add("under masks");
  if (hints.tiles.diagonals) add("along diagonals");
  if (hints.non_temporal) add("non-temporal stores");
  return out.empty() ? "" : " (" + out + ")";
}

// The regimes of one direction, for calls that move whole messages.
std::string regimes_text(const Step& step, Direction way) {
  std::string out;
  std::string last;
  int64_t from = 0;
  while (from != Regime::kNoEnd) {
    const Regime& regime = step.regime(way, from, from);
    std::string by = regime.kernel.id() + hints_text(regime.hints);
    // Regimes that differ for slices alone look the same here.
    if (by != last) {
      if (from > 0) out += " below " + std::to_string(from) + " bytes; ";
      out += by;
      last = std::move(by);
    }
    from = std::min(regime.message_below, regime.output_below);
  }
  return out;
}

void describe(const PlanNode& node, const Machine& machine, int64_t bytes, bool repeated,
              int indent, std::set<const PlanNode*>& seen, std::string& out) {
  const std::string pad(static_cast<size_t>(indent) * 2, ' ');
  const Step& step = node.step;
  if (!seen.insert(&node).second) {
    out += pad + "(as above)\n";
    return;
  }
  if (step.shape == Shape::kParts) {
    out += pad + why(step, machine) + "\n";
    constexpr size_t kShown = 8;
    for (size_t i = 0; i < node.children.size(); ++i) {
      if (i == kShown) {
        out += pad + "  ... " + std::to_string(node.children.size() - kShown) + " more\n";
        break;
      }
      if (const SmallMoves* const small = node.pieces[i].get()) {
        out += pad + "  " + moves_text(*small, 1) + "\n";
      } else {
        describe(*node.children[i], machine, bytes, false, indent + 1, seen, out);
      }
    }
    return;
  }
  const auto kernel = [&](Direction way) { return step.regime(way, bytes, bytes).kernel.id(); };
  out += pad + "kernels " + kernel(Direction::kPack) + " / " + kernel(Direction::kUnpack) + "\n";
  for (size_t i = 0; i < step.around.size(); ++i) {
    const bool open = repeated && step.open_loop == Step::OpenLoop::kAround && i == 0;
    out += pad + "  for " + loop_text(step.around[i], open) + "\n";
  }
  const bool outer_open = repeated && step.open_loop == Step::OpenLoop::kOuter;
  const bool inner_open = repeated && step.open_loop == Step::OpenLoop::kInner;
  switch (step.shape) {
    case Shape::kTranspose:
      out += pad + "  rows " + loop_text(step.inner, inner_open) + ", columns " +
             loop_text(step.outer, outer_open) + ", elements of " + std::to_string(step.width) +
             " bytes\n";
      break;
    case Shape::kStrided:
      if (step.outer.count > 1 || outer_open)
        out += pad + "  outer " + loop_text(step.outer, outer_open) + "\n";
      if (step.inner.count > 1 || inner_open)
        out += pad + "  inner " + loop_text(step.inner, inner_open) + "\n";
      out += pad + "  runs of " + std::to_string(step.width) + " bytes\n";
      break;
    case Shape::kList:
      if (step.outer.count > 1 || outer_open)
        out += pad + "  outer " + loop_text(step.outer, outer_open) + "\n";
      out += pad + "  " + std::to_string(step.list->mem_offsets.size()) + " listed runs";
      out += step.width != 0 ? " of " + std::to_string(step.width) + " bytes\n" : "\n";
      break;
    case Shape::kRecord:
      if (step.outer.count > 1 || outer_open)
        out += pad + "  outer " + loop_text(step.outer, outer_open) + "\n";
      out +=
          pad + "  elements " + loop_text(step.inner, inner_open) + " of " +
          (step.record->runs.size() == 1 ? "one run"
                                         : std::to_string(step.record->runs.size()) + " fields") +
          ", " + std::to_string(step.record->size) + " bytes\n";
      break;
    case Shape::kParts:
      break;
  }
  out += pad + "  why: " + why(step, machine) + "\n";
  out += pad + "  packs by " + regimes_text(step, Direction::kPack) + "\n";
  out += pad + "  unpacks by " + regimes_text(step, Direction::kUnpack) + "\n";
}

}  // namespace

std::string kernels_text(const Plan& plan, int64_t count) {
  if (count <= 0 || plan.is_empty()) return "nothing to move";
  if (plan.is_run(count)) return "memcpy";
  if (count <= plan.small_moves().most_elements()) return moves_text(plan.small_moves(), count);
  const Step& step = plan.root(count).step;
  if (step.shape == Step::Shape::kParts) return why(step, plan.machine());
  const int64_t bytes = count * plan.size();
  const auto by = [&](Direction way) {
    const Regime& regime = step.regime(way, bytes, bytes);
    return regime.kernel.id() + hints_text(regime.hints);
  };
  return "packed by " + by(Direction::kPack) + ", unpacked by " + by(Direction::kUnpack);
}

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
    // A small run is moved by SmallMoves; for people that is memcpy all the same.
    out += "  memcpy\n  why: the data have no gaps and are in packed order\n";
    return out;
  }
  if (!plan.is_disjoint(count))
    out += "  some bytes of memory appear twice: unpacked run by run, in packed order\n";
  if (count > 0 && count <= plan.small_moves().most_elements()) {
    out += "  " + moves_text(plan.small_moves(), count) +
           "\n  why: too few for a kernel; parts of the data (slices) are moved as follows:\n";
  }
  std::set<const PlanNode*> seen;
  describe(plan.root(count), plan.machine(), std::max<int64_t>(count, 0) * plan.size(), count != 1,
           1, seen, out);
  return out;
}

}  // namespace lacuna
