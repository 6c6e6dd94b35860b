// SPDX-License-Identifier: BSD-3-Clause
// Messages between ranks: for each row, every lane (a way to move the row's data, with lacuna or
// without) is verified and then timed, all lanes interleaved in this one job. `lacuna bench apps`
// and its like write the rows, start this on each MPI library and read the results.
//
// Usage: lacuna-bench-apps-FAMILY (or -fortran-MPI) --rows FILE --out FILE [--samples N] [--seconds
// S]
//          [--verify-only 0|1]                                         (an even number of ranks)
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "bench/apps/rows.hpp"
#include "bench/apps/ways/calls.hpp"
#include "bench/apps/ways/way.hpp"
#include "bench/harness/arguments.hpp"
#include "bench/harness/job.hpp"
#include "bench/harness/json_lines.hpp"

namespace lacuna::bench {
namespace {

constexpr double kSampleSeconds = 2e-3;  // at least, so that clock and barrier do not matter
constexpr int kMaxRounds = 10000;
constexpr int kTag = 2;

[[noreturn]] void fail(const std::string& what) { fail_job("lacuna-bench-apps", what); }

struct Options {
  std::string rows;
  std::string out;
  int samples = 15;    // of each lane; fewer if the seconds do not suffice, but at least 3
  double seconds = 3;  // for one row
  bool verify_only = false;
};

Options parse(int argc, char** argv) {
  Options options;
  read_arguments(argc, argv,
                 {text_argument("--rows", options.rows), text_argument("--out", options.out),
                  count_argument("--samples", options.samples, 1),
                  seconds_argument("--seconds", options.seconds),
                  flag_argument("--verify-only", options.verify_only)},
                 fail);
  if (options.rows.empty() || options.out.empty()) fail("--rows FILE and --out FILE are needed");
  return options;
}

struct Job {
  int rank = 0;
  int ranks = 1;
  bool is_loaded = false;
  JsonLines out;
};

// A lane that this job can run, and how many rounds fill a sample.
struct Runner {
  const LaneRow* lane;
  std::unique_ptr<Way> way;
  int rounds = 1;
};

struct Sample {
  double create = 0;
  double first = 0;     // of the first transfer after that
  double transfer = 0;  // of a later transfer
  Phases phases;        // of one transfer, both sides' together
  double destroy = 0;
};

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The others sleep while rank 0 works alone: a spinning neighbour takes cycles from the same core.
void wait_for_first() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int done = 0; done == 0;) {
    if (rank != 0) usleep(200);
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  }
}

// Seconds of `rounds` rounds.
double run(Way& way, int rounds) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double seconds = way.rounds(rounds);
  if (way.is_alone()) wait_for_first();
  return seconds;
}

// The phases of one transfer. The time in which the partner packs and unpacks is not communication,
// although this side waits for it.
Phases run_phases(Way& way, int rounds, const Job& job) {
  Phases mine;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < rounds; ++i) way.round(&mine);
  const double transfers = double(rounds) * way.transfers();
  if (way.transfers() == 2) {
    Phases other;
    const int partner = job.rank ^ 1;
    MPI_Sendrecv(&mine, 3, MPI_DOUBLE, partner, kTag, &other, 3, MPI_DOUBLE, partner, kTag,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    mine.communicate = std::max(mine.communicate - other.pack - other.unpack, 0.0);
    mine.pack += other.pack;
    mine.unpack += other.unpack;
  }
  return {mine.pack / transfers, mine.communicate / transfers, mine.unpack / transfers};
}

Sample measure(const Runner& runner, const Job& job) {
  Way& way = *runner.way;
  Sample sample;
  switch_lacuna(runner.lane->is_lacuna, runner.lane->has_costs);
  MPI_Barrier(MPI_COMM_WORLD);
  const auto begin = Clock::now();
  way.create();
  sample.create = since(begin);
  sample.first = run(way, 1) / way.transfers();
  sample.transfer = run(way, runner.rounds) / runner.rounds / way.transfers();
  if (way.has_phases()) sample.phases = run_phases(way, runner.rounds / 4 + 1, job);
  const auto end = Clock::now();
  way.destroy();
  sample.destroy = since(end);
  return sample;
}

// All lanes of the row that this job can run, verified. Ends the job if data arrive wrong.
std::vector<Runner> prepare(const ExchangeRow& row, const std::vector<Message>& messages,
                            const Job& job) {
  std::vector<Runner> runners;
  for (size_t i = 0; i < row.lanes.size(); ++i) {
    const LaneRow& lane = row.lanes[i];
    if (lane.is_lacuna && !job.is_loaded) continue;
    auto way = make_way(lane.way, messages[i]);
    if (way == nullptr) fail(row.id + ": no way " + lane.way + " for " + lane.name);
    switch_lacuna(lane.is_lacuna, lane.has_costs);
    way->create();
    const std::string wrong = way->verify();
    way->destroy();
    if (!wrong.empty()) fail("wrong bytes in " + row.id + " from " + lane.name + ": " + wrong);
    runners.push_back({&lane, std::move(way)});
  }
  return runners;
}

int agreed(int value) {
  MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return value;
}

// Seconds of one round, as the mean of so many that they fill a good part of a sample. The first
// rounds are slow: from a few of them, too short samples would follow, in which the barrier
// matters.
double one_round(Way& way) {
  (void)run(way, 1);
  for (int rounds = 1;; rounds *= 4) {
    const double seconds = run(way, rounds);
    if (agreed(seconds >= kSampleSeconds / 4 || rounds >= kMaxRounds / 4) != 0)
      return seconds / rounds;
  }
}

// How many rounds make a sample of each lane; returns seconds of one sample of all lanes.
double calibrate(std::vector<Runner>& runners) {
  double all = 0;
  for (Runner& runner : runners) {
    switch_lacuna(runner.lane->is_lacuna, runner.lane->has_costs);
    runner.way->create();
    const double seconds = one_round(*runner.way);
    runner.way->destroy();
    runner.rounds =
        agreed(int(std::clamp(std::ceil(kSampleSeconds / seconds), 1.0, double(kMaxRounds))));
    all += seconds * (2 + 1.25 * runner.rounds);
  }
  return all;
}

void write(const ExchangeRow& row, const Runner& runner, int repetition, const Sample& s,
           JsonLines& out) {
  char numbers[400];
  std::snprintf(numbers, sizeof numbers,
                ", \"repetition\": %d, \"rounds\": %d, \"create\": %.9e, \"first\": %.9e, "
                "\"transfer\": %.9e, \"pack\": %.9e, \"communicate\": %.9e, \"unpack\": %.9e, "
                "\"destroy\": %.9e}",
                repetition, runner.rounds, s.create, s.first, s.transfer, s.phases.pack,
                runner.way->has_phases() ? s.phases.communicate : s.transfer, s.phases.unpack,
                s.destroy);
  out.write("{\"kind\": \"sample\", \"id\": " + json_string(row.id) +
            ", \"lane\": " + json_string(runner.lane->name) + numbers);
}

void measure(const ExchangeRow& row, std::vector<Runner>& runners, const Options& options,
             Job& job) {
  const double once = calibrate(runners);
  const int samples = agreed(
      std::clamp(int(options.seconds / once), std::min(3, options.samples), options.samples));
  for (int repetition = 0; repetition < samples; ++repetition) {
    for (size_t turn = 0; turn < runners.size(); ++turn) {
      // Each repetition begins with another lane, and every second one goes backwards, so that no
      // lane always follows the same one.
      const size_t step = repetition % 2 == 0 ? turn : runners.size() - 1 - turn;
      const Runner& runner = runners[(step + size_t(repetition)) % runners.size()];
      write(row, runner, repetition, measure(runner, job), job.out);
    }
  }
}

std::string header(size_t rows, const Job& job) {
  return "{\"kind\": \"header\", \"mpi_library\": " + json_string(mpi_library()) +
         ", \"lacuna_loaded\": " + (job.is_loaded ? "true" : "false") +
         ", \"language\": " + json_string(calls::kLanguage) +
         ", \"compiler\": " + json_string(calls::compiler()) +
         ", \"ranks\": " + std::to_string(job.ranks) + ", \"rows\": " + std::to_string(rows) + "}";
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Job job;
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
  job.is_loaded = lacuna_loaded();
  if (job.ranks % 2 != 0) fail("needs an even number of ranks, not " + std::to_string(job.ranks));
  const Options options = parse(argc, argv);
  const auto rows =
      parse_exchange_rows(read_for_all("lacuna-bench-apps", options.rows, job.rank), options.rows);
  if (!rows) fail(rows.error().message);
  if (job.rank == 0 && !job.out.open(options.out))
    fail("cannot write " + options.out + ": " + std::strerror(errno));
  job.out.write(header(rows->size(), job));
  for (const ExchangeRow& row : *rows) {
    auto messages = make_messages(row, job.rank);
    if (!messages) fail(row.id + ": " + messages.error().message);
    std::vector<Runner> runners = prepare(row, *messages, job);
    if (!options.verify_only) measure(row, runners, options, job);
    job.out.write("{\"kind\": \"row\", \"id\": " + json_string(row.id) + "}");
  }
  job.out.write("{\"kind\": \"end\"}");
  switch_lacuna(true);
  MPI_Finalize();
  return 0;
}

}  // namespace lacuna::bench

int main(int argc, char** argv) { return lacuna::bench::main(argc, argv); }
