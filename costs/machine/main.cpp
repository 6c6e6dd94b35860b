// SPDX-License-Identifier: BSD-3-Clause
// The program of `lacuna costs machine`: measures where the time of a message goes on a machine
// with an MPI library.
//
// Usage (two ranks): lacuna-costs-FAMILY --out FILE [--rows FILE] [--seconds S] [--requests FOLDER]
#include <mpi.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "bench/engine/problem.hpp"
#include "bench/harness/arguments.hpp"
#include "bench/harness/job.hpp"
#include "bench/harness/json_lines.hpp"
#include "costs/machine/knobs.hpp"
#include "costs/machine/samples.hpp"
#include "costs/machine/split.hpp"
#include "costs/machine/sweep.hpp"
#include "mpi/predefined.hpp"

namespace lacuna::costs {
namespace {

struct Options {
  std::string out;
  std::string rows;
  std::string requests;
  SplitOptions split;
};

Options parse(int argc, char** argv) {
  Options options;
  bench::read_arguments(
      argc, argv,
      {bench::text_argument("--out", options.out), bench::text_argument("--rows", options.rows),
       bench::text_argument("--requests", options.requests),
       bench::seconds_argument("--seconds", options.split.seconds)},
      fail);
  if (options.out.empty()) fail("--out FILE is needed");
  return options;
}

std::string header(size_t rows) {
  return "{\"kind\": \"header\", \"mpi_library\": " + bench::json_string(bench::mpi_library()) +
         ", \"lacuna_loaded\": " + (bench::lacuna_loaded() ? "true" : "false") +
         ", \"compiler\": " + bench::json_string(__VERSION__) + ", \"knobs\": " + knobs_json() +
         ", \"rows\": " + std::to_string(rows) + "}";
}

void run(int argc, char** argv, int rank) {
  const Options options = parse(argc, argv);
  std::vector<bench::Row> rows;
  if (!options.rows.empty()) {
    auto read = bench::read_rows(options.rows);
    if (!read) fail(read.error().message);
    rows = std::move(*read);
  }
  bench::JsonLines out;
  if (rank == 0 && !out.open(options.out))
    fail("cannot write " + options.out + ": " + std::strerror(errno));
  // A message first: some libraries choose their protocols, and so their settings, only then.
  int word = 0;
  MPI_Allreduce(MPI_IN_PLACE, &word, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  out.write(header(rows.size()));
  {
    const PredefinedTypes predefined;
    for (const bench::Row& row : rows) measure_split(row, options.split, predefined, rank, out);
  }
  if (!options.requests.empty()) answer_requests(options.requests, rank, out);
  out.write("{\"kind\": \"end\"}");
  bench::switch_lacuna(true);
}

}  // namespace

int main(int argc, char** argv) {
  const int rank = bench::begin_pair(kProgram, &argc, &argv);
  run(argc, argv, rank);
  MPI_Finalize();
  return 0;
}

}  // namespace lacuna::costs

int main(int argc, char** argv) { return lacuna::costs::main(argc, argv); }
