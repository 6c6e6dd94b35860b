// SPDX-License-Identifier: BSD-3-Clause
//
// Adding up reports, and their form between ranks (CBOR).
#include "interpose/report/data.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>

#include "function_facts.gen.hpp"

namespace lacuna {
namespace {

using Json = nlohmann::json;

constexpr FunctionFacts kUnknown{"", FunctionGroup::kCollectives, true, true};

// Where each type of `other` is in `types`, which grows.
std::vector<size_t> joined(const std::vector<ReportType>& other, std::vector<ReportType>* types) {
  std::map<uint64_t, size_t> places;
  for (size_t i = 1; i < types->size(); ++i) places.emplace((*types)[i].facts.hash, i);
  std::vector<size_t> to(other.size(), 0);
  for (size_t i = 0; i < other.size(); ++i) {
    if (i > 0) {
      const auto [found, is_new] = places.emplace(other[i].facts.hash, types->size());
      if (is_new) types->push_back({other[i].facts, 0, 0, {}});
      to[i] = found->second;
    }
    (*types)[to[i]].made += other[i].made;
    (*types)[to[i]].learn_ns += other[i].learn_ns;
  }
  return to;
}

using Rows = std::map<std::tuple<std::string, size_t, std::string>, ReportRow>;

// `other_ranks`: a row with the same key is of other ranks, so that the numbers of ranks are added.
void add_row(ReportRow row, bool other_ranks, Rows* rows) {
  const auto [found, is_new] = rows->try_emplace({row.function, row.type, row.site}, row);
  if (is_new) return;
  add(row, &found->second);
  found->second.ranks =
      other_ranks ? found->second.ranks + row.ranks : std::max(found->second.ranks, row.ranks);
}

std::vector<ReportRow> values(const Rows& rows) {
  std::vector<ReportRow> result;
  for (const auto& [key, row] : rows) result.push_back(row);
  return result;
}

// Keeps the types with the most data.
void bound(Report* report) {
  const size_t count = report->types.size();
  if (count <= size_t{kMostTypes} + 1) return;
  std::vector<int64_t> data(count, 0);
  for (const ReportRow& row : report->rows)
    data[row.type] += row.bytes_handled + row.bytes_declined;
  std::vector<size_t> order(count - 1);
  std::iota(order.begin(), order.end(), size_t{1});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return data[a] > data[b]; });
  std::vector<size_t> to(count, kOtherTypes);
  std::vector<ReportType> types{report->types[kOtherTypes]};
  for (const size_t type : order) {
    if (types.size() <= kMostTypes) {
      to[type] = types.size();
      types.push_back(report->types[type]);
    } else {
      types[kOtherTypes].made += report->types[type].made;
      types[kOtherTypes].learn_ns += report->types[type].learn_ns;
    }
  }
  report->types = std::move(types);
  Rows rows;
  for (ReportRow& row : report->rows) {
    row.type = to[row.type];
    add_row(row, false, &rows);
  }
  report->rows = values(rows);
}

}  // namespace

const char* outcome_name(size_t outcome) {
  if (outcome == kNothing) return "no data, or not examined";
  switch (static_cast<Outcome>(outcome)) {
    case Outcome::kHandled:
      return "handled";
    case Outcome::kPredefined:
      return "predefined";
    case Outcome::kUndecoded:
      return "not decodable";
    case Outcome::kEmpty:
      return "without data";
    case Outcome::kContiguous:
      return "contiguous";
    case Outcome::kLongRuns:
      return "the library is as fast";
    case Outcome::kNoMemory:
      return "no memory for packed data";
    case Outcome::kHiddenCompletion:
      return "completion hidden";
    case Outcome::kTooLarge:
      return "too large for int counts";
    case Outcome::kOnDevice:
      return "on an accelerator";
    case Outcome::kMixed:
      return "several basic types";
    case Outcome::kOneRun:
      return "one contiguous element";
    case Outcome::kNew:
      return "new type, small message";
    case Outcome::kMayOverrun:
      return "too many message lengths";
    case Outcome::kByDevice:
    case Outcome::kDirect:
      return "through shared memory";
    case Outcome::kPipelined:
      return "pipelined between nodes";
    case Outcome::kCutByExtent:
      return "messages follow the extent";
    case Outcome::kSeenByComponent:
      return "a collectives component looks at types";
  }
  return "";
}

const FunctionFacts& facts_of(std::string_view function) {
  const auto found = std::ranges::find(kFunctionFacts, function, &FunctionFacts::name);
  return found != std::end(kFunctionFacts) ? *found : kUnknown;
}

int64_t ReportRow::calls() const {
  return std::accumulate(outcomes.begin(), outcomes.end(), int64_t{0});
}

void add(const ReportRow& row, ReportRow* sum) {
  for (size_t i = 0; i < kOutcomes; ++i) sum->outcomes[i] += row.outcomes[i];
  sum->bytes_handled += row.bytes_handled;
  sum->bytes_declined += row.bytes_declined;
  sum->bytes_on_device += row.bytes_on_device;
  sum->pack_ns += row.pack_ns;
  sum->unpack_ns += row.unpack_ns;
  sum->slowest_ns = std::max(sum->slowest_ns, row.slowest_ns);
  sum->timed += row.timed;
  sum->call_ns += row.call_ns;
  sum->wait_ns += row.wait_ns;
  sum->variance_ns2 += row.variance_ns2;
}

void merge(const Report& other, Report* report) {
  const std::vector<size_t> to = joined(other.types, &report->types);
  Rows rows;
  for (const ReportRow& row : report->rows) add_row(row, true, &rows);
  for (ReportRow row : other.rows) {
    row.type = to.at(row.type);
    add_row(row, true, &rows);
  }
  report->rows = values(rows);
  report->reporting += other.reporting;
  report->seconds = std::max(report->seconds, other.seconds);
  report->compiled.registered += other.compiled.registered;
  report->compiled.used += other.compiled.used;
  report->compiled.others += other.compiled.others;
  report->compiled.moves += other.compiled.moves;
  bound(report);
}

std::vector<uint8_t> serialized(const Report& report) {
  Json types = Json::array();
  for (const ReportType& type : report.types) {
    types.push_back({type.facts.hash, type.facts.text, type.facts.size_bytes,
                     type.facts.mean_run_bytes, type.made, type.learn_ns, type.facts.transposes});
  }
  Json rows = Json::array();
  for (const ReportRow& row : report.rows) {
    rows.push_back({row.function, row.type, row.outcomes, row.bytes_handled, row.bytes_declined,
                    row.bytes_on_device, row.pack_ns, row.unpack_ns, row.slowest_ns, row.ranks,
                    row.site, row.timed, row.call_ns, row.wait_ns, row.variance_ns2});
  }
  const CompiledCounts& compiled = report.compiled;
  return Json::to_cbor({report.reporting,
                        report.seconds,
                        types,
                        rows,
                        report.costs,
                        {compiled.registered, compiled.used, compiled.others, compiled.moves}});
}

Report parsed(const std::vector<uint8_t>& bytes) {
  const Json json = Json::from_cbor(bytes);
  Report report;
  json.at(0).get_to(report.reporting);
  json.at(1).get_to(report.seconds);
  for (const Json& type : json.at(2)) {
    report.types.push_back(
        {{type.at(0), type.at(1), type.at(2), type.at(3), type.at(6)}, type.at(4), type.at(5), {}});
  }
  for (const Json& row : json.at(3)) {
    report.rows.push_back({row.at(0), row.at(1), row.at(2), row.at(3), row.at(4), row.at(5),
                           row.at(6), row.at(7), row.at(8), row.at(9), row.at(10), row.at(11),
                           row.at(12), row.at(13), row.at(14)});
  }
  json.at(4).get_to(report.costs);
  const Json& compiled = json.at(5);
  report.compiled = {compiled.at(0), compiled.at(1), compiled.at(2), compiled.at(3)};
  return report;
}

}  // namespace lacuna
