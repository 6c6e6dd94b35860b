// SPDX-License-Identifier: BSD-3-Clause
//
// Fits the row of a CPU (engine/machine/cpus.cpp) on this machine: for one trial after the other,
// types that depend on a habit are packed and unpacked with each of its values, interleaved in one
// process, and the fastest value is kept. `lacuna machine --fit` starts it. Needs no MPI.
//
// Usage: lacuna-fit-cpu [--from ROW] [--trials N] [--samples N] [--seconds S]
// Prints one JSON object: {"from": ..., "trials": [...], "numbers": {...}, "speed": ..., ...}. What
// it is doing goes to stderr, as lines of JSON: {"what": ..., "done": ..., "of": ...}.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/engine/fit/trials.hpp"
#include "bench/engine/measure.hpp"
#include "bench/engine/rivals/by_plan.hpp"
#include "bench/engine/rows_program.hpp"
#include "bench/harness/median.hpp"
#include "machine/profile.hpp"

namespace lacuna::bench {
namespace {

[[noreturn]] void fail(const std::string& what) { fail_program("lacuna-fit-cpu", what); }

struct Options {
  std::string from = "generic";
  int trials = 0;  // the first of them; 0: all
  Settings settings{.cold = false, .samples = 15, .seconds = 0.3};
};

Options parse(int argc, char** argv) {
  Options options;
  read_arguments(argc, argv,
                 {text_argument("--from", options.from), count_argument("--trials", options.trials),
                  count_argument("--samples", options.settings.samples),
                  seconds_argument("--seconds", options.settings.seconds)},
                 fail);
  if (find_cpu_row(options.from) == nullptr) {
    std::string known;
    for (const Cpu& row : cpu_rows()) known += (known.empty() ? "" : ", ") + std::string(row.name);
    fail("there is no row " + options.from + "; known are " + known);
  }
  return options;
}

// The machine's numbers with some set. Thresholds that follow from others follow them.
Profile with(const CpuChoice& row, const Setting& setting) {
  Profile profile = told_profile(row);
  for (const auto& [name, value] : setting) {
    if (find_number(name) < 0) fail("no number is called " + name);
    profile.set(name, value, Source::kMeasured);
  }
  derive_thresholds(profile);
  return profile;
}

// How fast each machine moves the types, as a multiple of the first: geometric means of both
// directions.
std::vector<double> speeds(const std::vector<Machine>& machines,
                           const std::vector<std::string>& types, const Settings& settings) {
  std::vector<double> logs(machines.size(), 0);
  int rows = 0;
  for (const std::string& text : types) {
    const auto problem = Problem::make({.id = text, .text = text});
    if (!problem) fail(problem.error().message);
    Rivals rivals;
    std::vector<Rival*> present;
    for (size_t i = 0; i < machines.size(); ++i) {
      rivals.push_back(std::make_unique<ByPlan>(std::to_string(i), [&, i](const Problem& one) {
        return make_plan(one.type(), default_kernels(), machines[i]);
      }));
      if (!rivals.back()->prepare(**problem)) fail("cannot plan " + text);
      present.push_back(rivals.back().get());
    }
    if (const std::string wrong = verify(**problem, present); !wrong.empty()) fail(wrong);
    std::map<bool, std::vector<double>> ns;
    measure(**problem, present, settings, [&](const Times& times) {
      ns[times.is_unpack].resize(machines.size());
      ns[times.is_unpack][std::stoul(times.rival)] = median(times.ns);
    });
    for (const auto& [is_unpack, each] : ns) {
      for (size_t i = 0; i < each.size(); ++i) logs[i] += std::log(each[0] / each[i]);
      ++rows;
    }
    for (Rival* rival : present) rival->release();
  }
  std::vector<double> found;
  for (const double sum : logs) found.push_back(std::exp(sum / rows));
  return found;
}

// `setting` with the values of `other`, which win.
Setting joined(Setting setting, const Setting& other) {
  for (const auto& [name, value] : other) {
    std::erase_if(setting, [&](const auto& pair) { return pair.first == name; });
    setting.emplace_back(name, value);
  }
  return setting;
}

void say(const std::string& what, size_t done, size_t of) {
  const nlohmann::json line = {{"what", what}, {"done", done}, {"of", of}};
  std::fprintf(stderr, "%s\n", line.dump().c_str());
}

nlohmann::json as_json(const Setting& setting) {
  nlohmann::json numbers = nlohmann::json::object();
  for (const auto& [name, value] : setting) numbers[name] = value;
  return numbers;
}

int main(int argc, char** argv) {
  // A value must be faster by more than this to replace the one that is there.
  constexpr double kLeastGain = 1.02;
  const Options options = parse(argc, argv);
  const CpuChoice start{find_cpu_row(options.from), "--from", ""};
  std::vector<Trial> all = trials();
  if (options.trials > 0) all.resize(std::min(all.size(), static_cast<size_t>(options.trials)));
  Setting kept;
  std::vector<std::string> types;
  nlohmann::json told = nlohmann::json::array();
  for (size_t t = 0; t < all.size(); ++t) {
    const Trial& trial = all[t];
    say(trial.question, t, all.size() + 1);
    std::vector<Machine> machines{with(start, kept).machine};
    for (const Setting& setting : trial.settings)
      machines.push_back(with(start, joined(kept, setting)).machine);
    const std::vector<double> found = speeds(machines, trial.types, options.settings);
    const auto best =
        static_cast<size_t>(std::max_element(found.begin(), found.end()) - found.begin());
    const bool is_kept = best > 0 && found[best] >= kLeastGain;
    nlohmann::json tried = nlohmann::json::array();
    for (size_t i = 0; i < trial.settings.size(); ++i)
      tried.push_back({{"numbers", as_json(trial.settings[i])}, {"speed", found[i + 1]}});
    if (is_kept) kept = joined(kept, trial.settings[best - 1]);
    told.push_back({{"question", trial.question},
                    {"tried", tried},
                    {"kept", is_kept ? static_cast<int>(best) - 1 : -1}});
    types.insert(types.end(), trial.types.begin(), trial.types.end());
  }
  say("all types", all.size(), all.size() + 1);
  // What it is good for: all types with the start row, the fitted one, and the row of this CPU.
  const CpuChoice own = choose_cpu("", host_cpu_id());
  const std::vector<double> result =
      speeds({told_profile(start).machine, with(start, kept).machine, told_profile(own).machine},
             types, options.settings);
  const nlohmann::json found = {{"from", options.from},
                                {"trials", told},
                                {"numbers", as_json(kept)},
                                {"speed", result[1]},
                                {"own_row", std::string(own.row->name)},
                                {"own_speed", result[2]}};
  std::printf("%s\n", found.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace lacuna::bench

int main(int argc, char** argv) { return lacuna::bench::main(argc, argv); }
