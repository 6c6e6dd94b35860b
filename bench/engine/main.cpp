// SPDX-License-Identifier: BSD-3-Clause
// The engine alone, without messages: for each row of the corpus, packing and unpacking by lacuna,
// by this MPI library and by loops written by hand, and memcpy of the same bytes. `lacuna bench
// engine` writes the rows, starts this on each MPI library and reads the results.
//
// Usage: lacuna-bench-engine-FAMILY --rows FILE --out FILE [--isa NAME|all]... [--against LIBRARY]
//          [--warm 0|1] [--cold 0|1] [--samples N] [--seconds S] [--check-only 0|1] (one process)
#include <mpi.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "bench/engine/measure.hpp"
#include "bench/engine/report.hpp"
#include "bench/engine/rival.hpp"
#include "bench/harness/arguments.hpp"
#include "bench/harness/job.hpp"
#include "bench/harness/json_lines.hpp"
#include "kernels/kernel.hpp"
#include "plan/plan.hpp"

namespace lacuna::bench {
namespace {

[[noreturn]] void fail(const std::string& what) { fail_job("lacuna-bench-engine", what); }

struct Options {
  std::string rows;
  std::string out;
  std::vector<std::string> isas;
  std::string against;
  bool check_only = false;
  Settings settings;
};

void add_isa(const std::string& name, std::vector<std::string>& isas) {
  std::string known;
  for (const KernelTable* table : kernel_tables()) {
    known.append(" ").append(table->isa);
    if (name == "all") isas.emplace_back(table->isa);
  }
  if (name == "all") return;
  if (find_table(name) == nullptr) fail("no kernels for --isa " + name + "; this host has" + known);
  isas.push_back(name);
}

Options parse(int argc, char** argv) {
  Options options;
  Settings& settings = options.settings;
  read_arguments(argc, argv,
                 {text_argument("--rows", options.rows),
                  text_argument("--out", options.out),
                  {"--isa", [&](const std::string& name) { add_isa(name, options.isas); }},
                  text_argument("--against", options.against),
                  flag_argument("--warm", settings.warm),
                  flag_argument("--cold", settings.cold),
                  count_argument("--samples", settings.samples, 1),
                  seconds_argument("--seconds", settings.seconds),
                  flag_argument("--check-only", options.check_only)},
                 fail);
  if (options.rows.empty() || options.out.empty()) fail("--rows FILE and --out FILE are needed");
  return options;
}

std::string header(size_t rows) {
  std::string isas;
  for (const KernelTable* table : kernel_tables()) {
    isas += (isas.empty() ? "" : ", ") + json_string(table->isa);
  }
  return "{\"kind\": \"header\", \"mpi_library\": " + json_string(mpi_library()) +
         ", \"compiler\": " + json_string(__VERSION__) + ", \"isas\": [" + isas +
         "], \"isa\": " + json_string(default_kernels().isa) +
         ", \"by_hand_target\": " + json_string(by_hand_target()) +
         ", \"rows\": " + std::to_string(rows) + "}";
}

Rivals all_rivals(const Options& options) {
  Rivals rivals;
  rivals.push_back(memcpy_rival());
  rivals.push_back(lines_rival());
  rivals.push_back(by_hand_rival());
  rivals.push_back(mpi_rival());
  rivals.push_back(lacuna_rival());
  rivals.push_back(lacuna_again_rival());
  if (!options.against.empty()) {
    auto other = other_build_rival(options.against);
    if (!other) fail(other.error().message);
    rivals.push_back(std::move(other).value());
  }
  for (const std::string& isa : options.isas) rivals.push_back(lacuna_isa_rival(isa));
  for (auto& rival : lacuna_slices_rivals()) rivals.push_back(std::move(rival));
  rivals.push_back(mpi_lifecycle_rival());
  rivals.push_back(lacuna_lifecycle_rival());
  return rivals;
}

void run(const Row& row, Rivals& rivals, const Options& options, JsonLines& out) {
  const auto problem = Problem::make(row);
  if (!problem) fail(row.id + ": " + problem.error().message);
  std::vector<Rival*> present;
  for (const auto& rival : rivals) {
    if (rival->prepare(**problem)) present.push_back(rival.get());
  }
  const std::string wrong = verify(**problem, present);
  if (!wrong.empty()) fail("wrong bytes in " + row.id + ", " + wrong);
  out.write(describe(**problem, present));
  if (!options.check_only) {
    measure(**problem, present, options.settings,
            [&](const Times& times) { out.write(line(row.id, times)); });
  }
  for (Rival* rival : present) rival->release();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const Options options = parse(argc, argv);
  const auto rows = read_rows(options.rows);
  if (!rows) fail(rows.error().message);
  JsonLines out;
  if (!out.open(options.out)) fail("cannot write " + options.out + ": " + std::strerror(errno));
  out.write(header(rows->size()));
  Rivals rivals = all_rivals(options);
  for (const Row& row : *rows) run(row, rivals, options, out);
  out.write("{\"kind\": \"end\"}");
  rivals.clear();
  MPI_Finalize();
  return 0;
}

}  // namespace lacuna::bench

int main(int argc, char** argv) { return lacuna::bench::main(argc, argv); }
