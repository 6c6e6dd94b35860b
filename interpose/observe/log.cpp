// SPDX-License-Identifier: BSD-3-Clause
//
// Each line is one write, so that ranks that share a terminal do not mix their lines.
#include "interpose/observe/log.hpp"

#include <unistd.h>

#include <functional>
#include <mutex>
#include <string>
#include <unordered_set>

#include "base/options.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/report/report.hpp"

namespace lacuna {
namespace {

std::string_view sentence_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kHandled:
      return "handled";
    case Outcome::kOneRun:
      return "declined: one element of it is contiguous";
    case Outcome::kNew:
      return "declined for now: the type is new, and the message is small";
    case Outcome::kPredefined:
      return "declined: it is predefined";
    case Outcome::kUndecoded:
      return "declined: lacuna cannot decode it";
    case Outcome::kEmpty:
      return "declined: it has no data";
    case Outcome::kContiguous:
      return "declined: it is contiguous";
    case Outcome::kLongRuns:
      return "declined: the library is as fast";
    case Outcome::kNoMemory:
      return "declined: the pool of buffers is full (LACUNA_POOL_MB), or out of memory";
    case Outcome::kHiddenCompletion:
      return "declined in nonblocking calls: requests may be completed where lacuna cannot see it "
             "(Fortran bindings inside the library, or a tool preloaded before lacuna)";
    case Outcome::kTooLarge:
      return "declined: the message is too large for the library's int counts";
    case Outcome::kOnDevice:
      return "declined: its data may be in the memory of an accelerator, where lacuna cannot move "
             "them (see lacuna docs run)";
    case Outcome::kMayOverrun:
      return "declined: too many different message lengths (for each, lacuna makes a type that "
             "keeps "
             "Open MPI from writing past the end of a buffer; the table of these types is full)";
    case Outcome::kByDevice:
      return "handled: packed and unpacked by the device that has the data";
    case Outcome::kDirect:
      return "handled: through shared memory";
    case Outcome::kPipelined:
      return "handled: pipelined between nodes";
    case Outcome::kCutByExtent:
      return "declined where MPI_Allgatherv receives it: this library cuts its messages at "
             "multiples "
             "of the type's extent";
    case Outcome::kSeenByComponent:
      return "declined in collectives: UCC or HCOLL is loaded, which decides by a rank's types "
             "whether "
             "it takes a call";
    case Outcome::kMixed:
      return "declined in collectives, one-sided calls and files: it has more than one basic type";
  }
  return "";
}

}  // namespace

bool log_wanted() noexcept { return option_flag(OptionId::kLog); }

void log_line(std::string_view sentence) noexcept try {
  std::string line = "lacuna[" + std::to_string(runtime().rank) + "]: ";
  line += sentence;
  line += '\n';
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
} catch (...) {
}

namespace detail {
namespace {

// The report names predefined types only if their calls are timed.
void name_predefined(const ObservedType& record) {
  if (record.reported_as != kOtherTypes) return;
  const Predefined* entry = runtime().predefined->find(record.wire);
  if (entry == nullptr || entry->basic == nullptr) return;
  const std::string name(entry->basic->name);
  const uint64_t hash = std::hash<std::string>()(name);
  record.reported_as = report_type(hash, 0, [&] {
    return TypeFacts{hash, name, record.size_bytes, static_cast<double>(record.size_bytes)};
  });
}

// Equal sentences are logged once, however often a type is made: mpi_f08 bindings may make one for
// each array section.
void log_once(std::string_view sentence) {
  constexpr size_t kMost = 1000;
  static constinit std::mutex mutex;
  static auto* const logged = new std::unordered_set<size_t>;  // as long as the process
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (logged->size() > kMost || !logged->insert(std::hash<std::string_view>()(sentence)).second)
      return;
    if (logged->size() > kMost) sentence = "more than 1000 lines about types; no more are logged";
  }
  log_line(sentence);
}

}  // namespace

void report_type_as(const ObservedType& record, Outcome outcome, int64_t bytes) noexcept try {
  if (is_watched(kCosted) && outcome == Outcome::kPredefined) name_predefined(record);
  const bool is_handled = outcome == Outcome::kDirect || outcome == Outcome::kPipelined ||
                          outcome == Outcome::kByDevice;
  const Outcome counted = is_handled ? Outcome::kHandled : outcome;
  report_outcome(record.reported_as, counted, bytes);
} catch (...) {
}

void log_type(const ObservedType& record, Outcome outcome, int64_t bytes) noexcept {
  count_type(record, outcome, bytes);
  if (is_watched(kLogged)) log_type_once(record, outcome, bytes);
}

void log_type_once(const ObservedType& record, Outcome outcome, int64_t bytes) noexcept try {
  const uint32_t bit = 1U << static_cast<unsigned>(outcome);
  if ((record.logged.fetch_or(bit, std::memory_order_relaxed) & bit) != 0) return;
  std::string sentence = record.text;
  sentence.append(": ").append(sentence_of(outcome));
  const int64_t count = record.size_bytes > 0 ? bytes / record.size_bytes : 0;
  if ((outcome == Outcome::kHandled || outcome == Outcome::kDirect ||
       outcome == Outcome::kPipelined) &&
      record.plan != nullptr && count > 0)
    sentence.append("; ")
        .append(std::to_string(bytes))
        .append(" bytes: ")
        .append(kernels_text(*record.plan, count));
  log_once(sentence);
} catch (...) {
}

}  // namespace detail

}  // namespace lacuna
