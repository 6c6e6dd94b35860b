// SPDX-License-Identifier: BSD-3-Clause
//
// In a file of its own: it needs no MPI, and the JSON library takes long to compile.
#include "bench/apps/exchange_row.hpp"

#include <nlohmann/json.hpp>

namespace lacuna::bench {
namespace {

using Json = nlohmann::json;

// A row of the file. For a member of the wrong kind the JSON library throws, which
// parse_exchange_rows() turns into an error.
ExchangeRow read_row(const Json& json) {
  ExchangeRow row;
  row.id = json.at("id");
  row.test = json.value("test", "");
  row.shape = json.value("shape", std::vector<int>());
  row.receives_packed = json.value("receives_packed", false);
  row.needs_received = json.value("needs_received", false);
  row.partner_type = json.value("partner_type", "");
  row.work_us = json.value("work_us", 0);
  row.work_kib = json.value("work_kib", 0);
  for (const Json& one : json.at("lanes")) {
    LaneRow lane;
    lane.name = one.at("name");
    lane.way = one.at("way");
    lane.is_lacuna = one.value("lacuna", false);
    lane.has_costs = one.value("costs", false);
    lane.type = one.value("type", json.value("type", ""));
    lane.count = one.value("count", json.value("count", 1));
    lane.has_own_type = one.contains("type");
    lane.test = one.value("test", row.test);
    lane.shape = one.value("shape", row.shape);
    row.lanes.push_back(std::move(lane));
  }
  return row;
}

}  // namespace

Result<std::vector<ExchangeRow>> parse_exchange_rows(const std::string& content,
                                                     const std::string& path) {
  std::vector<ExchangeRow> rows;
  try {
    for (const Json& json : Json::parse(content)) rows.push_back(read_row(json));
  } catch (const Json::exception& error) {
    return Error{LACUNA_PARSE_ERROR, path + ": " + error.what()};
  }
  if (rows.empty()) return Error{LACUNA_INVALID_ARGUMENT, "no rows in " + path};
  return rows;
}

}  // namespace lacuna::bench
