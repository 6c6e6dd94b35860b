// SPDX-License-Identifier: BSD-3-Clause
//
// What each habit of this CPU's row, and each strategy, is worth: rows are planned with all of
// them, and without one at a time, and the plans that differ are timed, interleaved. `lacuna bench
// engine --without` starts it. Needs no MPI.
//
// Usage: lacuna-without --rows FILE --out FILE [--samples N] [--seconds S] [--caches warm|cold]
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/engine/measure.hpp"
#include "bench/engine/rivals/by_plan.hpp"
#include "bench/engine/rows_program.hpp"
#include "bench/harness/median.hpp"
#include "machine/profile.hpp"

namespace lacuna::bench {
namespace {

constexpr const char* kProgram = "lacuna-without";

// What a plan is made with. `name`: what is left out.
struct Variant {
  std::string name;
  Machine machine;
  KernelTable kernels;
};

// The first two are complete: their ratio is what chance does.
std::vector<Variant> variants() {
  const CpuChoice& row = cpu_in_force();
  const Machine machine = told_profile(row).machine;
  const KernelTable& kernels = default_kernels();
  std::vector<Variant> all = {{"nothing", machine, kernels}, {"nothing again", machine, kernels}};
  Machine own;
  static_cast<CpuHabits&>(own) = row.row->habits;
  const Machine plain;
  for (const Number& number : machine_numbers()) {
    if (number.get(own) == number.get(plain)) continue;
    Profile without = told_profile(row);
    without.set(number.name, number.get(plain), Source::kMeasured);
    derive_thresholds(without);
    all.push_back({number.name, without.machine, kernels});
  }
  for (int i = 0; i < kStrategies; ++i) {
    const auto strategy = static_cast<Strategy>(i);
    if (definition_of(strategy) == strategy) continue;
    Variant without{std::string(strategy_name(strategy)), machine, kernels};
    std::fill_n(without.kernels.fn[i], kWidths, nullptr);
    all.push_back(without);
  }
  const auto add = [&](const char* name, auto leave_out) {
    all.push_back({name, machine, kernels});
    leave_out(all.back().kernels);
  };
  add("records by tables", [](KernelTable& t) { t.table_bytes = 0; });
  add("records by tables or shuffles", [](KernelTable& t) {
    t.table_bytes = 0;
    t.shuffles = false;
  });
  add("records by permutes", [](KernelTable& t) { t.elements = false; });
  add("records by words or lists", [](KernelTable& t) { t.words = false; });
  add("masked moves", [](KernelTable& t) { t.masks = false; });
  add("small moves of 32 bytes", [](KernelTable& t) { t.half_line_moves = false; });
  add("copies within the L1", [](KernelTable& t) { t.copy_near = nullptr; });
  return all;
}

bool has_equal_tables(const Record& a, const Record& b) {
  const auto is_equal = [](const RecordTable& one, const RecordTable& other) {
    return one.steps.size() == other.steps.size() && one.shuffles == other.shuffles &&
           one.least == other.least && one.prefetches == other.prefetches;
  };
  return a.lane == b.lane && is_equal(a.gather, b.gather) && is_equal(a.scatter, b.scatter) &&
         a.list.size() == b.list.size();
}

bool moves_alike(const SmallMoves& a, const SmallMoves& b, int64_t count) {
  return a.moves(count) == b.moves(count) && a.is_permuted(count) == b.is_permuted(count) &&
         a.is_wide() == b.is_wide() && a.is_regular() == b.is_regular();
}

bool moves_alike(const PlanNode& a, const PlanNode& b, int64_t bytes) {
  const Step& one = a.step;
  const Step& other = b.step;
  if (one.shape != other.shape || one.width != other.width || one.inner != other.inner ||
      one.outer != other.outer || one.block_inner != other.block_inner ||
      one.pack_call.tile_rows != other.pack_call.tile_rows ||
      (one.record != nullptr && !has_equal_tables(*one.record, *other.record)) ||
      a.children.size() != b.children.size() || a.pieces.size() != b.pieces.size())
    return false;
  for (const Direction way : {Direction::kPack, Direction::kUnpack}) {
    if (one.shape == Step::Shape::kParts) continue;
    const Regime& regime = one.regime(way, bytes, bytes);
    const Regime& same = other.regime(way, bytes, bytes);
    if (regime.kernel.fn != same.kernel.fn || regime.hints != same.hints) return false;
  }
  for (size_t i = 0; i < a.pieces.size(); ++i) {
    if ((a.pieces[i] == nullptr) != (b.pieces[i] == nullptr)) return false;
    if (a.pieces[i] != nullptr && !moves_alike(*a.pieces[i], *b.pieces[i], 1)) return false;
  }
  for (size_t i = 0; i < a.children.size(); ++i) {
    if (!moves_alike(*a.children[i], *b.children[i], bytes)) return false;
  }
  return true;
}

// Whether both move `count` elements by the same loops with the same hints.
bool moves_alike(const Plan& a, const Plan& b, int64_t count) {
  if (a.is_empty() || a.is_run(count)) return a.copy_near() == b.copy_near();
  const bool is_small = count <= a.small_moves().most_elements();
  if (is_small != (count <= b.small_moves().most_elements())) return false;
  if (is_small) return moves_alike(a.small_moves(), b.small_moves(), count);
  return moves_alike(a.root(count), b.root(count), count * a.size());
}

void run(const Problem& problem, const std::vector<Variant>& all, const Settings& settings,
         JsonLines& out) {
  std::vector<PlanPtr> plans;
  std::map<std::string, size_t> timed_as;  // of each variant that differs: the rival
  Rivals rivals;
  std::vector<Rival*> present;
  for (size_t i = 0; i < all.size(); ++i) {
    PlanPtr plan = make_plan(problem.type(), all[i].kernels, all[i].machine);
    const auto is_alike = [&](const PlanPtr& one) {
      return moves_alike(*one, *plan, problem.count());
    };
    const bool is_complete = i < 2;
    if (!is_complete && is_alike(plans[0])) continue;
    size_t at = is_complete ? i : 2;
    while (at < plans.size() && !is_alike(plans[at])) ++at;
    timed_as[all[i].name] = at;
    if (at < plans.size()) continue;
    rivals.push_back(std::make_unique<ByPlan>(std::to_string(at), [plan](auto&) { return plan; }));
    if (!rivals.back()->prepare(problem)) fail_program(kProgram, "cannot plan " + problem.row().id);
    present.push_back(rivals.back().get());
    plans.push_back(std::move(plan));
  }
  if (plans.size() == 2) return;
  if (const std::string wrong = verify(problem, present); !wrong.empty())
    fail_program(kProgram, wrong);
  Settings each = settings;
  each.seconds *= static_cast<double>(present.size());
  std::map<std::pair<bool, bool>, std::map<size_t, double>> ns;
  measure(problem, present, each, [&](const Times& one) {
    ns[{one.is_unpack, one.is_cold}][std::stoul(one.rival)] = median(one.ns);
  });
  for (const auto& [state, times] : ns) {
    nlohmann::json found = nlohmann::json::object();
    for (const auto& [name, at] : timed_as) found[name] = times.at(at);
    const nlohmann::json line = {{"kind", "row"},
                                 {"row", problem.row().id},
                                 {"op", state.first ? "unpack" : "pack"},
                                 {"cache", state.second ? "cold" : "warm"},
                                 {"ns", found}};
    out.write(line.dump());
  }
}

int main(int argc, char** argv) {
  std::string caches;
  Settings settings{.samples = 15, .seconds = 0.04};
  // Plans refer to them, and stay in caches until the process ends.
  static const std::vector<Variant> all = variants();
  return run_rows_program(
      kProgram, argc, argv,
      {text_argument("--caches", caches), count_argument("--samples", settings.samples),
       seconds_argument("--seconds", settings.seconds)},
      [&](const Problem& problem, JsonLines& out) {
        settings.warm = caches != "cold";
        settings.cold = caches != "warm";
        run(problem, all, settings, out);
      });
}

}  // namespace
}  // namespace lacuna::bench

int main(int argc, char** argv) { return lacuna::bench::main(argc, argv); }
