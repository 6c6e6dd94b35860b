// SPDX-License-Identifier: BSD-3-Clause
//
// The numbers of the report, of one rank or of several together.
#ifndef LACUNA_INTERPOSE_REPORT_DATA_HPP_
#define LACUNA_INTERPOSE_REPORT_DATA_HPP_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "interpose/policy/outcome.hpp"
#include "interpose/policy/policy.hpp"
#include "interpose/report/report.hpp"

namespace lacuna {

// Outcomes by Outcome, and one more: nothing to move, or nothing for lacuna to judge.
inline constexpr size_t kOutcomes = kOutcomesOfTypes + 1;
inline constexpr size_t kNothing = kOutcomesOfTypes;

// Nanoseconds a byte, of the library and of lacuna; 0: not timed.
struct PackSpeeds {
  double native_pack = 0;
  double native_unpack = 0;
  double pack = 0;
  double unpack = 0;
};

struct ReportType {
  TypeFacts facts;
  int64_t made = 0;  // handles met
  int64_t learn_ns = 0;
  PackSpeeds speeds;  // with LACUNA_COSTS, on rank 0 in the end
};

// The groups of functions.ini.
enum class FunctionGroup : uint8_t {
  kInit,
  kPack,
  kP2p,
  kCollectives,
  kFiles,
  kRma,
  kCompletion,
  kTypes
};

// What functions.ini says of a wrapped function.
struct FunctionFacts {
  std::string_view name;
  FunctionGroup group;
  bool packs;    // data of the program
  bool unpacks;  // into data of the program
};
// Of one that this build does not know: a collective that does both.
const FunctionFacts& facts_of(std::string_view function);

struct ReportRow {
  std::string function;
  size_t type = 0;  // in Report::types
  std::array<int64_t, kOutcomes> outcomes{};
  int64_t bytes_handled = 0;
  int64_t bytes_declined = 0;
  int64_t bytes_on_device = 0;  // packed or unpacked there
  int64_t pack_ns = 0;
  int64_t unpack_ns = 0;
  int64_t slowest_ns = 0;  // packing and unpacking of one rank, at most
  int64_t ranks = 0;
  // With LACUNA_COSTS:
  std::string site;   // "FILE+0xOFFSET NAME": where the call is, in which function if that is known
  int64_t timed = 0;  // calls, those that complete others included
  int64_t call_ns = 0;      // in them, and in packing and unpacking for them later
  int64_t wait_ns = 0;      // of that, waiting
  double variance_ns2 = 0;  // of call_ns, as not all calls are timed

  int64_t handled() const { return outcomes[static_cast<size_t>(Outcome::kHandled)]; }
  int64_t calls() const;
};

// Nanoseconds by bytes, bytes in order.
using CostCurve = std::vector<std::pair<int64_t, int64_t>>;

struct Report {
  std::string program;
  std::string library;  // the first line of its version
  Flavour flavour = Flavour::kOther;
  int64_t ranks = 1;      // of the job
  int64_t reporting = 1;  // those whose numbers are in here
  double seconds = 0;     // from MPI_Init to MPI_Finalize, of the slowest rank
  int64_t pool_mb = 0;
  bool may_pipeline = false;      // messages between nodes could go in pieces (LACUNA_PIPELINE)
  std::vector<ReportType> types;  // [0]: all that are not named
  std::vector<ReportRow> rows;
  CompiledCounts compiled;
  bool costs = false;
  CostCurve copies;    // memcpy, on rank 0
  CostCurve messages;  // without gaps, one way, between ranks 0 and 1; empty: there is no rank 1
};

// The pieces of a row's time (docs/internals/costs.md), in nanoseconds: their sum is call_ns.
struct Pieces {
  int64_t copy = 0;     // o
  int64_t pack = 0;     // l_p
  int64_t library = 0;  // l_m
  int64_t network = 0;  // L
  int64_t wait = 0;
};
Pieces pieces_of(const Report& report, const ReportRow& row);

// An estimate, from the times that the library's MPI_Pack and MPI_Unpack and lacuna take for the
// type.
struct Savings {
  int64_t saved_ns = 0;       // by what lacuna has moved; below 0: lost
  int64_t would_save_ns = 0;  // at most, if lacuna moved what it has left to the library
};
Savings savings_of(const Report& report, const ReportRow& row);

// Adds the counts of `row` to another row of the same function and type.
void add(const ReportRow& row, ReportRow* sum);

// What this process has counted so far. The rest is for the caller to fill in.
Report counted_here();

// Adds what other ranks have counted. Types beyond kMostTypes, those with the least data, become
// "other types".
void merge(const Report& other, Report* report);

// The form in which it travels between ranks.
std::vector<uint8_t> serialized(const Report& report);
// Throws if `bytes` is not a report.
Report parsed(const std::vector<uint8_t>& bytes);

// For people, lines that start with "lacuna: "; and as data (docs/user/report.md).
std::string report_table(const Report& report);
std::string report_json(const Report& report);

// What a user could do about a row, in words; empty: nothing.
std::vector<std::string> advice(const Report& report, const ReportRow& row);
// Why calls ended so, in a few words; also the keys in the JSON.
const char* outcome_name(size_t outcome);

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_REPORT_DATA_HPP_
