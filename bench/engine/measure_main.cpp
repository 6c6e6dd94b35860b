// SPDX-License-Identifier: BSD-3-Clause
//
// Times lacuna and memcpy of the same bytes, and prints the prediction. `lacuna explain --measure`
// starts it. Needs no MPI.
//
// Usage: lacuna-measure --rows FILE --out FILE [--warm 0|1] [--cold 0|1] [--samples N]
//                       [--seconds S]                  (--samples 0: predict only)
#include <string>
#include <vector>

#include "bench/engine/measure.hpp"
#include "bench/engine/report.hpp"
#include "bench/engine/rival.hpp"
#include "bench/engine/rows_program.hpp"

namespace lacuna::bench {
namespace {

void run(const Problem& problem, const Settings& settings, JsonLines& out) {
  Rivals rivals;
  rivals.push_back(memcpy_rival());
  rivals.push_back(lacuna_rival());
  std::vector<Rival*> present;
  for (const auto& rival : rivals) {
    if (rival->prepare(problem)) present.push_back(rival.get());
  }
  out.write(describe(problem, present));
  if (settings.samples > 0) {
    measure(problem, present, settings,
            [&](const Times& times) { out.write(line(problem.row().id, times)); });
  }
  for (Rival* rival : present) rival->release();
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  return run_rows_program(
      "lacuna-measure", argc, argv,
      {flag_argument("--warm", settings.warm), flag_argument("--cold", settings.cold),
       count_argument("--samples", settings.samples),
       seconds_argument("--seconds", settings.seconds)},
      [&](const Problem& problem, JsonLines& out) { run(problem, settings, out); });
}

}  // namespace lacuna::bench

int main(int argc, char** argv) { return lacuna::bench::main(argc, argv); }
