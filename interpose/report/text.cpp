// SPDX-License-Identifier: BSD-3-Clause
//
// The report in words: the table on stderr, the JSON document, and what a user could do about it.
#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "interpose/policy/policy.hpp"
#include "interpose/report/data.hpp"
#include "lacuna/lacuna.h"

namespace lacuna {
namespace {

using Json = nlohmann::ordered_json;

__attribute__((format(printf, 1, 2))) std::string format(const char* text, ...) {
  char line[1024];
  va_list arguments;
  va_start(arguments, text);
  std::vsnprintf(line, sizeof(line), text, arguments);
  va_end(arguments);
  return line;
}

std::string bytes_text(int64_t bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  return format(unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
}

// As in "2026-01-31T12:00:00+00:00".
std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  char text[32] = "";
  if (gmtime_r(&now, &utc) != nullptr) std::strftime(text, sizeof(text), "%FT%T+00:00", &utc);
  return text;
}

double seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

int64_t count(const ReportRow& row, Outcome why) { return row.outcomes[static_cast<size_t>(why)]; }

// Rows with the most data first; where calls are timed, those with the most time.
std::vector<const ReportRow*> in_order(const Report& report) {
  std::vector<const ReportRow*> rows;
  for (const ReportRow& row : report.rows) rows.push_back(&row);
  if (report.costs) {
    std::stable_sort(rows.begin(), rows.end(), [](const ReportRow* a, const ReportRow* b) {
      return a->call_ns > b->call_ns;
    });
    return rows;
  }
  std::stable_sort(rows.begin(), rows.end(), [](const ReportRow* a, const ReportRow* b) {
    return a->bytes_handled + a->bytes_declined > b->bytes_handled + b->bytes_declined;
  });
  return rows;
}

int64_t calls_on(const Report& report, size_t type) {
  int64_t sum = 0;
  for (const ReportRow& row : report.rows) sum += row.type == type ? row.calls() : 0;
  return sum;
}

std::string type_text(const Report& report, const ReportRow& row) {
  return row.type == kOtherTypes ? "(other types, or none)" : report.types[row.type].facts.text;
}

// Whether to handle a receive is decided before its message arrives. So there are receives that
// were declined, and whose data lacuna has unpacked nevertheless: from shared memory, or from
// pieces of another node.
bool has_receives_of_shared_memory(const ReportRow& row) {
  const FunctionFacts& facts = facts_of(row.function);
  const bool sends_and_receives =
      facts.group == FunctionGroup::kP2p && facts.packs && facts.unpacks;
  return row.unpack_ns > 0 && count(row, Outcome::kLongRuns) > 0 &&
         (row.handled() == 0 || sends_and_receives);
}

// "12 contiguous, 3 no memory for packed data". Without declined receives whose data came through
// shared memory (see above).
std::string reasons(const ReportRow& row) {
  std::string text;
  for (size_t i = 0; i < kOutcomes; ++i) {
    const bool is_long_runs = i == static_cast<size_t>(Outcome::kLongRuns);
    if (row.outcomes[i] == 0 || i == static_cast<size_t>(Outcome::kHandled) ||
        (is_long_runs && has_receives_of_shared_memory(row))) {
      continue;
    }
    text += format("%s%lld %s", text.empty() ? "" : ", ", static_cast<long long>(row.outcomes[i]),
                   outcome_name(i));
  }
  return text;
}

constexpr double kLongRun = 512;
// Advice to combine messages: at least so many calls of a rank, at most so many bytes, and at least
// this share of the time for other things than copying.
constexpr int64_t kManyCalls = 256;
constexpr int64_t kSmallMessage = 1024;
constexpr double kMostlyStarting = 0.5;
constexpr double kMuch = 0.1;  // of the time of all calls

// With costs: what could be done about where the time goes.
void add_cost_advice(const Report& report, const ReportRow& row, std::vector<std::string>* words) {
  const ReportType& type = report.types[row.type];
  const int64_t bytes =
      row.calls() > 0 ? (row.bytes_handled + row.bytes_declined) / row.calls() : 0;
  const Pieces pieces = pieces_of(report, row);
  int64_t all = 0;
  int64_t all_busy = 0;
  for (const ReportRow& other : report.rows) {
    all += other.call_ns;
    all_busy += other.call_ns - other.wait_ns;
  }
  const int64_t busy = row.call_ns - pieces.wait;
  const auto part = [](int64_t one, int64_t whole) {
    return whole > 0 ? static_cast<double>(one) / static_cast<double>(whole) : 0;
  };
  // Where others wait for long, so much of what is left is much, too.
  const bool matters = part(row.call_ns, all) >= kMuch || part(busy, all_busy) >= kMuch;
  const int64_t starting = pieces.network + pieces.library;
  if (bytes > 0 && bytes <= kSmallMessage && row.calls() >= kManyCalls * row.ranks &&
      row.type != kOtherTypes && part(starting, busy) >= kMostlyStarting && matters) {
    words->push_back(format(
        "%lld messages of %lld bytes from one place in the program: most of their time is the "
        "cost for each message; send several at once (a larger count, a vector, a struct)",
        static_cast<long long>(row.calls()), static_cast<long long>(bytes)));
  }
  if (type.facts.transposes) {
    words->push_back(
        "the type's inner loop has the longer stride, so that each cache line is read many times. "
        "Exchange the loops if the order of the data does not matter; or send in memory order and "
        "receive by a type that transposes, so that the receiver does the work");
  }
  if (type.facts.text == "byte" && matters && bytes > kSmallMessage) {
    words->push_back(
        "the data are sent as bytes: if they are structs, their padding is sent, too; describe "
        "them with MPI_Type_create_struct");
  }
  const Savings savings = savings_of(report, row);
  if (part(savings.saved_ns, row.call_ns + savings.saved_ns) >= kMuch)
    words->push_back(
        format("lacuna has saved about %.3g s here (compared with the library's own packing)",
               seconds(savings.saved_ns)));
  if (part(savings.would_save_ns, row.call_ns) >= kMuch)
    words->push_back(format("lacuna would save at most %.3g s here (by the time of packing alone)",
                            seconds(savings.would_save_ns)));
}

std::string advice_on_long_runs(const Report& report, const ReportRow& row) {
  if (has_receives_of_shared_memory(row)) {
    const auto receives = static_cast<long long>(count(row, Outcome::kLongRuns));
    return format(
        "%lld %s not counted as handled, because that is decided before the message arrives; "
        "lacuna has unpacked what came through shared memory or in pieces; nothing to do",
        receives, receives == 1 ? "receive is" : "receives are");
  }
  const double run = report.types[row.type].facts.mean_run_bytes;
  const FunctionGroup group = facts_of(row.function).group;
  if (run < kLongRun && group == FunctionGroup::kCollectives) {
    return "the library is as fast for single messages of this type; for collectives that is not "
           "measured: LACUNA_ALWAYS=1 shows what packing first would gain";
  }
  if (report.flavour == Flavour::kOpenMpi && run < 1024 &&
      (group == FunctionGroup::kP2p || group == FunctionGroup::kCollectives)) {
    return "Open MPI pipelines this itself: it packs one part while the receiver unpacks another, "
           "and packing first would be slower; nothing to do";
  }
  if (run >= kLongRun) {
    return format(
        "its contiguous pieces are long, %.0f bytes on average: the library copies them as fast; "
        "nothing to do",
        run);
  }
  return "for this type and size the library is as fast, or was not measured: `lacuna tune` "
         "measures it on this machine, and LACUNA_ALWAYS=1 shows what packing first would gain";
}

bool sends_large_messages(const ReportRow& row) {
  const FunctionFacts& facts = facts_of(row.function);
  const int64_t messages = count(row, Outcome::kHandled) + count(row, Outcome::kLongRuns);
  return facts.group == FunctionGroup::kP2p && facts.packs && messages > 0 &&
         row.bytes_handled + row.bytes_declined >= kLeastPipelined * row.calls();
}

}  // namespace

std::vector<std::string> advice(const Report& report, const ReportRow& row) {
  std::vector<std::string> words;
  const ReportType& type = report.types[row.type];
  const int64_t calls = calls_on(report, row.type);
  if (row.type != kOtherTypes && type.made >= 16 * report.reporting && 2 * type.made >= calls) {
    words.push_back(format(
        "the program makes this type again and again (%lld times; analysing it took %.3g s): "
        "make it once and keep it",
        static_cast<long long>(type.made), seconds(type.learn_ns)));
  }
  if (count(row, Outcome::kContiguous) > 0) {
    words.push_back(
        "the type is contiguous: nothing to gain; a count of basic elements is equivalent");
  }
  if (count(row, Outcome::kNoMemory) > 0) {
    words.push_back(format("there was no memory for packed data: set LACUNA_POOL_MB above %lld",
                           static_cast<long long>(report.pool_mb)));
  }
  if (count(row, Outcome::kLongRuns) > 0) words.push_back(advice_on_long_runs(report, row));
  if (count(row, Outcome::kMixed) > 0) {
    words.push_back(
        facts_of(row.function).group == FunctionGroup::kP2p
            ? "MPICH may fail to receive messages of this size into types of several basic types "
              "if they come packed; nothing to do"
            : "lacuna declines collectives, one-sided calls and file access on types of several "
              "basic types; it would handle a type of one basic type, and messages of this one");
  }
  if (count(row, Outcome::kHiddenCompletion) > 0) {
    words.push_back(
        "requests may be completed where lacuna cannot see it (Fortran bindings inside the "
        "library, or a tool preloaded before lacuna): lacuna would handle blocking calls");
  }
  if (count(row, Outcome::kTooLarge) > 0) {
    words.push_back("this library has no large counts: send shorter messages, or use MPI 4.0");
  }
  if (count(row, Outcome::kOnDevice) > 0) {
    words.push_back("the data may be in the memory of an accelerator: lacuna leaves them alone");
  }
  if (sends_large_messages(row) && report.may_pipeline) {
    words.push_back(
        "messages of 64 KiB and more to other nodes can go in pieces, each packed while others are "
        "on their way, if all ranks run lacuna; LACUNA_LOG=1 says what is missing (lacuna docs "
        "tune)");
  }
  if (report.costs) add_cost_advice(report, row, &words);
  return words;
}

namespace {

// "main.cpp's file+0x12 in its function", without the folders.
std::string short_site(const std::string& site) {
  const size_t name = site.find(' ');
  const size_t slash = site.rfind('/', name);
  return slash == std::string::npos ? site : site.substr(slash + 1);
}

// The line about kernels that lacuna-cc has compiled into the program.
std::string compiled_words(const CompiledCounts& compiled) {
  if (compiled.registered == 0) return "";
  return format(
      "lacuna: compiled kernels: %lld registered, %lld types use theirs (%lld packs and unpacks), "
      "%lld did not match the type\n",
      static_cast<long long>(compiled.registered), static_cast<long long>(compiled.used),
      static_cast<long long>(compiled.moves), static_cast<long long>(compiled.others));
}

std::string cost_table(const Report& report) {
  std::string text = format(
      "lacuna: seconds in calls, summed over ranks; o: one copy, l_p: packing minus that copy, "
      "l_m: what the library adds, L: network, waiting: for other ranks\n");
  text += format("lacuna: %-24s %9s %9s %9s %9s %9s %9s %9s  %s\n", "function", "calls", "all", "o",
                 "l_p", "l_m", "L", "waiting", "type; place");
  for (const ReportRow* row : in_order(report)) {
    const Pieces pieces = pieces_of(report, *row);
    text += format("lacuna: %-24s %9lld %9.3g %9.3g %9.3g %9.3g %9.3g %9.3g  ",
                   row->function.c_str(), static_cast<long long>(row->timed), seconds(row->call_ns),
                   seconds(pieces.copy), seconds(pieces.pack), seconds(pieces.library),
                   seconds(pieces.network), seconds(pieces.wait));
    text += type_text(report, *row) + "; " + short_site(row->site) + "\n";
    for (const std::string& words : advice(report, *row)) text += "lacuna:     " + words + "\n";
  }
  return text;
}

Json cost_json(const Report& report, const ReportRow& row) {
  const Pieces pieces = pieces_of(report, row);
  const Savings savings = savings_of(report, row);
  return {{"site", row.site},
          {"calls", row.timed},
          {"seconds", seconds(row.call_ns)},
          {"error_seconds", std::sqrt(row.variance_ns2) * 1e-9},
          {"o_seconds", seconds(pieces.copy)},
          {"l_p_seconds", seconds(pieces.pack)},
          {"l_m_seconds", seconds(pieces.library)},
          {"L_seconds", seconds(pieces.network)},
          {"wait_seconds", seconds(pieces.wait)},
          {"saved_seconds", seconds(savings.saved_ns)},
          {"would_save_seconds", seconds(savings.would_save_ns)}};
}

}  // namespace

std::string report_table(const Report& report) {
  std::string text = format("lacuna: report of %lld rank%s of %s on %s, %.3g s\n",
                            static_cast<long long>(report.ranks), report.ranks == 1 ? "" : "s",
                            report.program.c_str(), report.library.c_str(), report.seconds);
  if (report.reporting != report.ranks) {
    text += format("lacuna: these are the numbers of %lld ranks only\n",
                   static_cast<long long>(report.reporting));
  }
  text += compiled_words(report.compiled);
  if (report.rows.empty()) {
    return text + "lacuna: no calls on derived types\n";
  }
  if (report.costs) return text + cost_table(report);
  text += format("lacuna: %-24s %11s %11s %11s %10s %8s  %s\n", "function", "calls", "handled",
                 "data", "packing s", "GB/s", "type");
  for (const ReportRow* row : in_order(report)) {
    const double packing = seconds(row->pack_ns + row->unpack_ns);
    const double moved = static_cast<double>(row->bytes_handled) * 1e-9;
    text += format("lacuna: %-24s %11lld %11lld %11s %10.3g %8s  ", row->function.c_str(),
                   static_cast<long long>(row->calls()), static_cast<long long>(row->handled()),
                   bytes_text(row->bytes_handled + row->bytes_declined).c_str(), packing,
                   packing > 0 && moved > 0 ? format("%.2f", moved / packing).c_str() : "-");
    text += type_text(report, *row) + "\n";
    if (const int64_t there = row->bytes_on_device; there > 0)
      text += "lacuna:     packed and unpacked on a device: " + bytes_text(there) + "\n";
    if (const std::string why = reasons(*row); !why.empty()) {
      text += "lacuna:     declined: " + why + "\n";
    }
    for (const std::string& words : advice(report, *row)) text += "lacuna:     " + words + "\n";
  }
  return text;
}

std::string report_json(const Report& report) {
  Json types = Json::array();
  for (const ReportType& type : report.types) {
    types.push_back({{"text", type.facts.text},
                     {"size_bytes", type.facts.size_bytes},
                     {"mean_run_bytes", type.facts.mean_run_bytes},
                     {"made", type.made},
                     {"learn_seconds", seconds(type.learn_ns)}});
  }
  types[kOtherTypes]["text"] = nullptr;
  Json rows = Json::array();
  for (const ReportRow* row : in_order(report)) {
    Json declined = Json::object();
    for (size_t i = 0; i < kOutcomes; ++i) {
      if (row->outcomes[i] != 0 && i != static_cast<size_t>(Outcome::kHandled))
        declined[outcome_name(i)] = row->outcomes[i];
    }
    rows.push_back({{"function", row->function},
                    {"type", row->type},
                    {"calls", row->calls()},
                    {"handled", row->handled()},
                    {"declined", declined},
                    {"bytes_handled", row->bytes_handled},
                    {"bytes_declined", row->bytes_declined},
                    {"bytes_on_device", row->bytes_on_device},
                    {"pack_seconds", seconds(row->pack_ns)},
                    {"unpack_seconds", seconds(row->unpack_ns)},
                    {"slowest_rank_seconds", seconds(row->slowest_ns)},
                    {"ranks", row->ranks},
                    {"advice", advice(report, *row)}});
    if (report.costs) rows.back()["costs"] = cost_json(report, *row);
  }
  const Json provenance = {{"kind", "job"},
                           {"format", 1},
                           {"date", now_text()},
                           {"lacuna", format("%d.%d.%d", LACUNA_VERSION_MAJOR, LACUNA_VERSION_MINOR,
                                             LACUNA_VERSION_PATCH)},
                           {"program", report.program},
                           {"library", report.library}};
  const Json document = {{"provenance", provenance},
                         {"ranks", report.ranks},
                         {"reporting_ranks", report.reporting},
                         {"seconds", report.seconds},
                         {"pool_mb", report.pool_mb},
                         {"compiled_kernels",
                          {{"registered", report.compiled.registered},
                           {"used", report.compiled.used},
                           {"of_another_type", report.compiled.others},
                           {"moves", report.compiled.moves}}},
                         {"types", types},
                         {"rows", rows}};
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace lacuna
