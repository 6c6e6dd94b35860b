// SPDX-License-Identifier: BSD-3-Clause
//
// Lists of runs: of equal lengths, or cut into units of one length, or of unequal ones.
#include <algorithm>
#include <numeric>
#include <utility>

#include "plan/strategy/prefetch.hpp"
#include "plan/strategy/strategy.hpp"

namespace lacuna::strategy {
namespace {

using Kind = LayoutNode::Kind;

class ListRule final : public Rule {
 public:
  ListRule(const PrefetchRule& prefetch, Strategy strategy, Direction way, int64_t width,
           const Host& host)
      : prefetch_(prefetch), strategy_(strategy), way_(way), width_(width), host_(host) {}

  void cut(Cuts& messages, Cuts& outputs) const override {
    prefetch_.cut(way_, messages, outputs);
    if (way_ == Direction::kUnpack) messages.add(prefetch_.masks_below);
  }

  Choice choose(int64_t message, int64_t output) const override {
    Choice choice{strategy_, width_, {}};
    const bool is_pack = way_ == Direction::kPack;
    choice.hints.prefetch = prefetch_.at(way_, message, output, host_.machine);
    if (width_ == 0 || width_ > 32) choice.hints.move = host_.move();
    choice.hints.move.masked = host_.has_masks() && (is_pack || message < prefetch_.masks_below);
    if (strategy_ == Strategy::kGather) {
      if (prefetch_.in_order && choice.hints.prefetch.runs > 0) {
        choice.strategy = Strategy::kGatherInOrder;
      } else if (host_.machine.fast_gathers) {
        choice.strategy = Strategy::kGatherLanes;
      }
    }
    return choice;
  }

 private:
  const PrefetchRule& prefetch_;
  Strategy strategy_;
  Direction way_;
  int64_t width_;
  const Host& host_;
};

// The list as equal runs with 32-bit offsets. Runs of unequal lengths are cut into their greatest
// common length, unless the pieces are too many: a varying length costs mispredicted branches.
void find_places(Step& step, const LayoutNode& list) {
  constexpr int64_t kMostUnits = 8;
  const size_t runs = list.mem_offsets.size();
  const bool equal = list.kind == Kind::kBlocks;
  int64_t unit = equal ? list.children[0]->size : 0;
  for (size_t i = 0; !equal && i < runs; ++i) {
    const int64_t bytes = list.packed_offsets[i + 1] - list.packed_offsets[i];
    // Most lengths are multiples of what was found before, and a gcd takes longer than a division.
    if (unit == 0 || bytes % unit != 0) unit = std::gcd(unit, bytes);
  }
  const bool has_moves = width_class(unit) != Width::kAny || unit >= 12;
  if (!equal && (!has_moves || list.size / unit > kMostUnits * static_cast<int64_t>(runs))) return;
  auto places = std::make_shared<std::vector<int32_t>>(static_cast<size_t>(list.size / unit));
  auto place = places->begin();
  for (size_t i = 0; i < runs; ++i) {
    const int64_t bytes = equal ? unit : list.packed_offsets[i + 1] - list.packed_offsets[i];
    for (int64_t at = list.mem_offsets[i]; bytes > at - list.mem_offsets[i]; at += unit) {
      if (at != static_cast<int32_t>(at)) return;
      *place++ = static_cast<int32_t>(at);
    }
  }
  step.places = std::move(places);
  step.width = unit;
}

}  // namespace

std::string why_list(const Step& step) {
  const bool is_equal = step.list->kind == Kind::kBlocks;
  const bool is_cut = !is_equal && step.places != nullptr;
  return std::string("a list of ") + (is_equal ? "equal runs" : "runs of unequal lengths") +
         (is_cut ? ", cut into " + text(std::ssize(*step.places)) + " runs of " + text(step.width) +
                       " bytes: avoids branch mispredictions on the length"
                 : "") +
         (step.open_loop != Step::OpenLoop::kNone ? ", repeated by the loop around it" : "");
}

bool select_list(Step& step, Nest& nest, const Host& host) {
  const LayoutNode& list = *nest.leaf->layout;
  const bool is_equal = list.kind == Kind::kBlocks && list.children[0]->kind == Kind::kRun;
  if (!is_equal && list.kind != Kind::kRuns) return false;
  step.shape = Step::Shape::kList;
  step.list = &list;
  step.width = is_equal ? list.children[0]->size : 0;
  if (!nest.loops.empty() && nest.leaf->step.list != nullptr) {  // found for the leaf's own step
    step.places = nest.leaf->step.places;
    step.width = nest.leaf->step.width;
  } else {
    find_places(step, list);
  }
  const bool has_units = is_equal || step.places != nullptr;
  const PrefetchRule prefetch = has_units ? prefetch_list(step, host) : prefetch_runs(step, host);
  if (!nest.loops.empty()) {
    place_outer(step, nest, nest.loops.size() - 1);
    place_rest(step, nest);
  }
  const auto regimes = [&](Strategy strategy, Direction way) {
    return make_regimes(ListRule(prefetch, strategy, way, step.width, host), host.kernels);
  };
  step.pack = regimes(has_units ? Strategy::kGather : Strategy::kGatherRuns, Direction::kPack);
  step.unpack =
      regimes(has_units ? Strategy::kScatter : Strategy::kScatterRuns, Direction::kUnpack);
  return true;
}

}  // namespace lacuna::strategy
