// SPDX-License-Identifier: BSD-3-Clause
//
// Times lacuna alone, beside memcpy of the same bytes, and says what was predicted: what `lacuna
// explain --measure` starts. Needs no MPI.
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
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (i + 1 == argc) fail("no value for " + name);
    const char* value = argv[++i];
    if (name == "--rows") {
      options.rows = value;
    } else if (name == "--out") {
      options.out = value;
    } else if (name == "--warm") {
      options.settings.warm = std::atoi(value) != 0;
    } else if (name == "--cold") {
      options.settings.cold = std::atoi(value) != 0;
    } else if (name == "--samples") {
      options.settings.samples = std::atoi(value);
    } else if (name == "--seconds") {
      options.settings.seconds = std::atof(value);
    } else {
      fail("unknown option " + name);
    }
  }
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
