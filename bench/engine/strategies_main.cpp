// SPDX-License-Identifier: BSD-3-Clause
//
// Times every strategy that can move a row beside the one that the plan chose, interleaved.
// `lacuna bench engine --strategies` starts it. Needs no MPI.
//
// Usage: lacuna-strategies --rows FILE --out FILE [--samples N] [--seconds S]
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/engine/measure.hpp"
#include "bench/engine/rivals/by_plan.hpp"
#include "bench/engine/rows_program.hpp"
#include "bench/harness/median.hpp"

namespace lacuna::bench {
namespace {

constexpr const char* kProgram = "lacuna-strategies";

// Whether the strategy can move what the step moves in this direction, and hints that it needs.
bool suits(const Step& step, Strategy strategy, Direction way, Hints& hints) {
  const bool is_pack = way == Direction::kPack;
  const Record* const record = step.record.get();
  const auto has_table = [&](bool shuffles) {
    if (record == nullptr) return false;
    const RecordTable& table = is_pack ? record->gather : record->scatter;
    return !table.steps.empty() && table.shuffles == shuffles;
  };
  switch (strategy) {
    case Strategy::kShortRows:
      return step.inner.count <= kMostShortRow && step.inner.packed_stride == step.width &&
             step.open_loop != Step::OpenLoop::kInner;
    case Strategy::kRepeated:
      hints.stores = std::max<uint8_t>(hints.stores, 3);
      return !is_pack;
    case Strategy::kSpaced:
      hints.load_cycles = std::max<uint8_t>(hints.load_cycles, 8);
      return is_pack;
    case Strategy::kNarrow:
      hints.move = {16, 16, false};
      return true;
    case Strategy::kLines:
      return is_pack;
    case Strategy::kNonTemporal:
      hints.non_temporal = true;
      return step.width >= kLongRun;
    case Strategy::kGatherInOrder:
      return std::is_sorted(step.list->mem_offsets.begin(), step.list->mem_offsets.end());
    case Strategy::kGatherTable:
    case Strategy::kScatterTable:
      return has_table(false);
    case Strategy::kGatherShuffled:
      return has_table(true);
    case Strategy::kGatherPermuted:
    case Strategy::kScatterPermuted:
      return record != nullptr && record->permutes.pack != nullptr;
    case Strategy::kGatherWords:
    case Strategy::kScatterWords:
      return record != nullptr && record->words != nullptr;
    case Strategy::kGatherMoveList:
    case Strategy::kScatterMoveList:
      return record != nullptr && !record->list.empty();
    default:
      return true;
  }
}

// The kernels that can move a direction of the problem, the chosen one first.
struct Candidate {
  Kernel kernel;
  Hints hints;
};
std::vector<Candidate> candidates(const Plan& plan, int64_t count, Direction way) {
  const Step& step = *plan.kernel_step(count);
  const int64_t bytes = count * plan.size();
  const Regime& chosen = step.regime(way, bytes, bytes);
  std::vector<Candidate> found = {{chosen.kernel, chosen.hints}};
  const auto add = [&](Strategy shape, int64_t width) {
    for (int i = 0; i < kStrategies; ++i) {
      const auto strategy = static_cast<Strategy>(i);
      if (definition_of(strategy) != shape || strategy == chosen.kernel.strategy) continue;
      const bool has_lanes =
          strategy == Strategy::kGatherTable || strategy == Strategy::kScatterTable;
      const Kernel kernel = find_kernel(plan.kernels(), strategy,
                                        has_lanes && step.record ? step.record->lane : width);
      Hints hints = chosen.hints;
      hints.non_temporal = hints.non_temporal && step.shape == Step::Shape::kTranspose;
      if (kernel.strategy == strategy && suits(step, strategy, way, hints))
        found.push_back({kernel, hints});
    }
  };
  const Strategy shape = definition_of(chosen.kernel.strategy);
  add(shape, step.width);
  // A record of one run is a loop of runs, too.
  const bool is_pack = way == Direction::kPack;
  if (step.shape == Step::Shape::kRecord && step.record->is_run())
    add(shape == Strategy::kStrided ? (is_pack ? Strategy::kGatherRecord : Strategy::kScatterRecord)
                                    : Strategy::kStrided,
        step.width);
  return found;
}

void run(const Problem& problem, Direction way, const Settings& settings, JsonLines& out) {
  const PlanPtr plan = make_plan(problem.type());
  const int64_t count = problem.count();
  if (plan->kernel_step(count) == nullptr) return;
  Rivals rivals;
  std::vector<Rival*> present;
  for (const Candidate& one : candidates(*plan, count, way)) {
    rivals.push_back(std::make_unique<ByPlan>(one.kernel.id(), [&, one](const Problem&) {
      return with_regime(*plan, count, way, one.kernel, one.hints);
    }));
    if (rivals.back()->prepare(problem)) present.push_back(rivals.back().get());
  }
  if (present.size() < 2) return;
  if (const std::string wrong = verify(problem, present); !wrong.empty())
    fail_program(kProgram, wrong);
  nlohmann::json times = nlohmann::json::object();
  measure(problem, present, settings, [&](const Times& one) {
    if (one.is_unpack == (way == Direction::kUnpack)) times[one.rival] = median(one.ns);
  });
  const nlohmann::json row = {{"kind", "row"},
                              {"row", problem.row().id},
                              {"op", way == Direction::kPack ? "pack" : "unpack"},
                              {"chosen", rivals.front()->name()},
                              {"ns", times}};
  out.write(row.dump());
}

int main(int argc, char** argv) {
  Settings settings{.cold = false, .samples = 15, .seconds = 0.2};
  return run_rows_program(kProgram, argc, argv,
                          {count_argument("--samples", settings.samples),
                           seconds_argument("--seconds", settings.seconds)},
                          [&](const Problem& problem, JsonLines& out) {
                            for (const Direction way : {Direction::kPack, Direction::kUnpack})
                              run(problem, way, settings, out);
                          });
}

}  // namespace
}  // namespace lacuna::bench

int main(int argc, char** argv) { return lacuna::bench::main(argc, argv); }
