// SPDX-License-Identifier: BSD-3-Clause
// Messages between two ranks, each sent and received in several ways, interleaved in one job.
// `lacuna bench preload` and `lacuna tune` start it on each MPI library.
//
// A way is two letters, for the sending and the receiving side: n, a derived type, lacuna switched
// off; l, the same with lacuna; i, the same with lacuna inside the library alone (LACUNA_INSIDE;
// both sides only); c, contiguous data of the same size; h, packed or unpacked by an application's
// loops. `nn*` is nn once more: it shows the measurement error. Both ranks send and receive, and
// half of the round trip is one message. A row lacks ways that the library cannot do, and h where
// an application would have no loops.
//
// Usage: lacuna-bench-preload-FAMILY --rows FILE --out FILE --ways WAY[,WAY...] [--seconds S]
//          [--rounds N] [--link NAME]                                              (two ranks)
//          NAME: a network interface of rank 0, of which the lines say what each way has sent by it
#include <mpi.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/arguments.hpp"
#include "bench/harness/job.hpp"
#include "bench/harness/json_lines.hpp"
#include "bench/preload/lines.hpp"
#include "bench/preload/link.hpp"
#include "bench/preload/message.hpp"
#include "lacuna/lacuna.h"
#include "plan/cost/cost.hpp"
#include "plan/pattern.hpp"

namespace lacuna::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Short enough for the machine's state to be the same for all ways of a round, long enough for
// clock and barrier not to matter.
constexpr double kBatchSeconds = 4e-4;
constexpr int kMostIterations = 2000;
constexpr int kLeastRounds = 5;
// For slow rounds: some libraries take seconds for 64 MiB in runs of 8 bytes.
constexpr int kLeastSlowRounds = 3;
constexpr double kSlowRoundSeconds = 0.4;
constexpr int kLeastSlowestRounds = 1;
constexpr double kSlowestRoundSeconds = 2;
constexpr double kSlowSeconds = 0.02;  // of one message

constexpr const char* kProgram = "lacuna-bench-preload";
[[noreturn]] void fail(const std::string& what) { fail_job(kProgram, what); }

struct Half {
  Form form = Form::kDerived;
  bool lacuna = false;
  bool inside = false;  // alone
};

struct Way {
  std::string name;
  Half out;
  Half in;
  // lacuna must be switched between send and receive, as `lacuna` belongs to a side, not to a rank.
  bool mixed() const {
    return out.form == Form::kDerived && in.form == Form::kDerived && out.lacuna != in.lacuna;
  }
};

struct Options {
  std::string rows;
  std::string out;
  std::vector<Way> ways;
  double seconds = 0.2;  // for a row
  int rounds = 41;       // at most
  std::string link;      // none: what is sent is not counted
};

Half half_of(char letter, const std::string& name) {
  switch (letter) {
    case 'n':
      return {Form::kDerived, false};
    case 'l':
      return {Form::kDerived, true};
    case 'i':
      return {Form::kDerived, true, true};
    case 'c':
      return {Form::kContiguous, false};
    case 'h':
      return {Form::kByHand, false};
    default:
      fail("unknown way " + name + "; a way is two letters of n, l, i, c and h");
  }
}

std::vector<Way> parse_ways(const std::string& text) {
  std::vector<Way> ways;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string name = text.substr(at, end - at);
    const std::string letters = name == "nn*" ? "nn" : name;
    if (letters.size() != 2) half_of('?', name);
    ways.push_back({name, half_of(letters[0], name), half_of(letters[1], name)});
    if (ways.back().out.inside != ways.back().in.inside) fail("way " + name + ": i must be both");
    at = end + 1;
  }
  return ways;
}

Options parse(int argc, char** argv) {
  Options options;
  const auto ways = [&](const std::string& value) { options.ways = parse_ways(value); };
  read_arguments(argc, argv,
                 {text_argument("--rows", options.rows),
                  text_argument("--out", options.out),
                  {"--ways", ways},
                  seconds_argument("--seconds", options.seconds),
                  count_argument("--rounds", options.rounds, 1),
                  text_argument("--link", options.link)},
                 fail);
  if (options.rows.empty() || options.out.empty() || options.ways.empty())
    fail("--rows FILE, --out FILE and --ways WAY[,WAY...] are needed");
  return options;
}

// There and back.
void round_trip(const Message& message, const Way& way, int rank) {
  const int peer = 1 - rank;
  if (rank == 0) {
    if (way.mixed()) MPI_Pcontrol(way.out.lacuna ? 1 : 0);
    message.send(way.out.form, peer);
  }
  if (way.mixed()) MPI_Pcontrol(way.in.lacuna ? 1 : 0);
  message.receive(way.in.form, peer);
  if (rank == 1) {
    if (way.mixed()) MPI_Pcontrol(way.out.lacuna ? 1 : 0);
    message.send(way.out.form, peer);
  }
}

// Seconds of one message; valid on rank 0 only.
double batch(const Message& message, const Way& way, int rank, int iterations) {
  switch_lacuna_to(way.out.inside                    ? Lacuna::kInsideAlone
                   : way.out.lacuna || way.in.lacuna ? Lacuna::kOn
                                                     : Lacuna::kOff);
  MPI_Barrier(MPI_COMM_WORLD);
  const auto begin = Clock::now();
  for (int i = 0; i < iterations; ++i) round_trip(message, way, rank);
  return std::chrono::duration<double>(Clock::now() - begin).count() / iterations / 2;
}

// The first small messages of a new type are declined (interpose/types/record.cpp).
constexpr int kMessagesToLearn = 16;

// Whether the library can do it: MPICH 4.0.2 cannot receive long contiguous data into structs of
// several basic types (docs/internals/defects.md). It returns an error then, and works afterwards.
bool is_possible(const Message& message, const Way& way, int rank) {
  const bool by_hand = way.out.form == Form::kByHand || way.in.form == Form::kByHand;
  if (by_hand && !message.has_loops()) return false;
  if (way.out.form != Form::kContiguous || way.in.form != Form::kDerived || way.in.lacuna ||
      !message.is_mixed())
    return true;
  switch_lacuna(false);
  MPI_Errhandler before = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) message.send(way.out.form, 1);
  int possible = rank == 0 || message.receive(way.in.form, 0) == MPI_SUCCESS;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
  MPI_Errhandler_free(&before);
  MPI_Bcast(&possible, 1, MPI_INT, 1, MPI_COMM_WORLD);
  return possible != 0;
}

// Sends a message of the way, which both ranks check; returns its seconds.
double verify(const Message& message, const Way& way, int rank) {
  if (message.bytes() <= 64 * 1024) (void)batch(message, way, rank, kMessagesToLearn);
  message.clear();
  const double seconds = batch(message, way, rank, 1);
  const std::string wrong = message.check(way.out.form, way.in.form);
  if (!wrong.empty()) fail("wrong data in " + message.id() + " by way " + way.name + ": " + wrong);
  return seconds;
}

// `first`: the seconds of one message.
int iterations_for(const Message& message, const Way& way, int rank, double first) {
  int is_slow = first > kSlowSeconds;
  MPI_Bcast(&is_slow, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (is_slow != 0) return 1;
  const double seconds = batch(message, way, rank, 1);
  int wanted = static_cast<int>(
      std::clamp(std::ceil(kBatchSeconds / seconds / 2), 1.0, double{kMostIterations}));
  MPI_Bcast(&wanted, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return wanted;
}

std::string described(const Message& message) {
  const Plan& plan = message.plan();
  const Cost cost = predict(plan, message.count(), Direction::kPack, Warmth::kWarm);
  const auto piece = static_cast<double>(message.piece_bytes());
  const bool in_pieces = piece > 0;
  const Pattern pattern = in_pieces ? Pattern::kPieces : pattern_of(plan.root(message.count()));
  return "{\"kind\": \"row\", \"id\": " + json_string(message.id()) +
         ", \"bytes\": " + std::to_string(message.bytes()) +
         ", \"contiguous\": " + (plan.is_run(message.count()) ? "true" : "false") +
         ", \"pattern\": \"" + pattern_name(pattern) +
         "\", \"mean_run_bytes\": " + number(in_pieces ? piece : plan.mean_run_bytes()) +
         ", \"predicted_pack_ns\": " + number(cost.ns) + "}";
}

struct Track {
  int iterations = 1;
  bool send_taken = false;
  bool receive_taken = false;
  int64_t link_bytes = 0;       // what rank 0 has sent by the link in all rounds
  std::vector<double> seconds;  // by round
};

std::string line(const Message& message, const Way& way, const Track& track,
                 const std::string& link) {
  std::string about = ", \"send_taken\": " + truth(track.send_taken) +
                      ", \"receive_taken\": " + truth(track.receive_taken);
  if (!link.empty()) about += ", \"link_bytes\": " + std::to_string(track.link_bytes);
  return times_line(message.id(), way.name, about, track.iterations, track.seconds);
}

// What has been sent by the link until now.
int64_t sent(const Options& options, int rank) {
  if (options.link.empty() || rank != 0) return 0;
  const auto bytes = sent_by(options.link);
  if (!bytes) fail("no network interface " + options.link);
  return *bytes;
}

void run(const Row& row, const Options& options, const PredefinedTypes& predefined, int rank,
         JsonLines& out) {
  const auto made = Message::make(row, predefined);
  if (!made) fail(row.id + ": " + made.error().message);
  const Message& message = **made;
  std::vector<Way> ways;
  for (const Way& way : options.ways) {
    if (is_possible(message, way, rank)) ways.push_back(way);
  }
  std::vector<Track> tracks(ways.size());
  for (size_t i = 0; i < ways.size(); ++i) {
    const double first = verify(message, ways[i], rank);
    tracks[i].iterations = iterations_for(message, ways[i], rank, first);
  }
  const auto begin = Clock::now();
  for (int round = 0, more = 1; more != 0; ++round) {
    for (size_t turn = 0; turn < ways.size(); ++turn) {
      // Each round begins with another way, and every second one goes backwards, so that no way
      // always follows the same one.
      const size_t shifted = (turn + static_cast<size_t>(round)) % ways.size();
      const size_t i = round % 2 == 0 ? shifted : ways.size() - 1 - shifted;
      const int64_t sends = taken("MPI_Send");
      const int64_t receives = taken("MPI_Recv");
      const int64_t before = sent(options, rank);
      tracks[i].seconds.push_back(batch(message, ways[i], rank, tracks[i].iterations));
      tracks[i].send_taken = taken("MPI_Send") > sends;
      tracks[i].receive_taken = taken("MPI_Recv") > receives;
      tracks[i].link_bytes += sent(options, rank) - before;
    }
    const double spent = std::chrono::duration<double>(Clock::now() - begin).count();
    const double each = spent / (round + 1);
    const int least = each > kSlowestRoundSeconds ? kLeastSlowestRounds
                      : each > kSlowRoundSeconds  ? kLeastSlowRounds
                                                  : kLeastRounds;
    more = round + 1 < std::min(least, options.rounds) ||
           (spent < options.seconds && round + 1 < options.rounds);
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  out.write(described(message));
  for (size_t i = 0; i < ways.size(); ++i)
    out.write(line(message, ways[i], tracks[i], options.link));
}

// The machine that the ranks run on, which need not be the launcher's.
std::string machine_json() {
  std::string text(1, '\0');
  size_t needed = 0;
  if (lacuna_machine_json(text.size(), text.data(), &needed) != LACUNA_TRUNCATED) return "{}";
  text.resize(needed);
  if (lacuna_machine_json(text.size(), text.data(), nullptr) != LACUNA_OK) return "{}";
  text.resize(std::strlen(text.c_str()));
  std::replace(text.begin(), text.end(), '\n', ' ');  // one line
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const int rank = begin_pair(kProgram, &argc, &argv);
  const Options options = parse(argc, argv);
  const auto rows = parse_rows(read_for_all(kProgram, options.rows, rank), options.rows);
  if (!rows) fail(rows.error().message);
  JsonLines out;
  if (rank == 0 && !out.open(options.out))
    fail("cannot write " + options.out + ": " + std::strerror(errno));
  out.write(header_line(rows->size(), nodes_field(rank) + ", \"machine\": " + machine_json()));
  {
    const PredefinedTypes predefined;
    for (const Row& row : *rows) run(row, options, predefined, rank, out);
  }
  out.write(kEndLine);
  switch_lacuna(true);
  MPI_Finalize();
  return 0;
}

}  // namespace lacuna::bench

int main(int argc, char** argv) { return lacuna::bench::main(argc, argv); }
