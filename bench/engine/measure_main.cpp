// SPDX-License-Identifier: BSD-3-Clause
//
// Times lacuna and memcpy of the same bytes, and prints the prediction. `lacuna explain --measure`
// starts it. Needs no MPI.
//
// Usage: lacuna-measure --rows FILE --out FILE [--warm 0|1] [--cold 0|1] [--samples N]
//                       [--seconds S]                  (--samples 0: predict only)
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bench/engine/measure.hpp"
#include "bench/engine/report.hpp"
#include "bench/engine/rival.hpp"
#include "bench/harness/arguments.hpp"
#include "bench/harness/json_lines.hpp"

namespace lacuna::bench {
namespace {

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "lacuna-measure: %s\n", what.c_str());
  std::exit(1);
}

struct Options {
  std::string rows;
  std::string out;
  Settings settings;
};

Options parse(int argc, char** argv) {
  Options options;
  Settings& settings = options.settings;
  read_arguments(argc, argv,
                 {text_argument("--rows", options.rows), text_argument("--out", options.out),
                  flag_argument("--warm", settings.warm), flag_argument("--cold", settings.cold),
                  count_argument("--samples", settings.samples),
                  seconds_argument("--seconds", settings.seconds)},
                 fail);
  if (options.rows.empty() || options.out.empty()) fail("--rows FILE and --out FILE are needed");
  return options;
}

void run(const Row& row, const Settings& settings, JsonLines& out) {
  const auto problem = Problem::make(row);
  if (!problem) fail(problem.error().message);
  Rivals rivals;
  rivals.push_back(memcpy_rival());
  rivals.push_back(lacuna_rival());
  std::vector<Rival*> present;
  for (const auto& rival : rivals) {
    if (rival->prepare(**problem)) present.push_back(rival.get());
  }
  out.write(describe(**problem, present));
  if (settings.samples > 0) {
    measure(**problem, present, settings,
            [&](const Times& times) { out.write(line(row.id, times)); });
  }
  for (Rival* rival : present) rival->release();
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const auto rows = read_rows(options.rows);
  if (!rows) fail(rows.error().message);
  JsonLines out;
  if (!out.open(options.out)) fail("cannot write " + options.out + ": " + std::strerror(errno));
  for (const Row& row : *rows) run(row, options.settings, out);
  out.write("{\"kind\": \"end\"}");
  return 0;
}

}  // namespace lacuna::bench

int main(int argc, char** argv) { return lacuna::bench::main(argc, argv); }
