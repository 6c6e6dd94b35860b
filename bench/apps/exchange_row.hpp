// SPDX-License-Identifier: BSD-3-Clause
//
// The rows and lanes that the program reads from its file.
#ifndef LACUNA_BENCH_APPS_EXCHANGE_ROW_HPP_
#define LACUNA_BENCH_APPS_EXCHANGE_ROW_HPP_

#include <string>
#include <vector>

#include "base/result.hpp"

namespace lacuna::bench {

struct LaneRow {
  std::string name;
  std::string way;
  bool is_lacuna = false;  // lacuna is on while it runs
  bool has_costs = false;  // and its calls are counted and timed (LACUNA_COSTS)
  std::string type;        // text, with index lists as lists.hpp describes them
  int count = 1;
  bool has_own_type = false;  // the type is made from the text, not by the row's test
  std::string test;           // its loops pack by hand, with the numbers below; empty: the row's
  std::vector<int> shape;
};

struct ExchangeRow {
  std::string id;
  std::string test;  // an App's, FFT, GRAPH, HALO, SLABS or PENCILS; empty: types alone
  std::vector<int> shape;
  bool receives_packed = false;  // for types alone; an App says it of itself
  bool needs_received = false;   // lanes send and receive at once
  std::string partner_type;      // the odd ranks' type, if it differs
  int work_us = 0;
  int work_kib = 0;
  std::vector<LaneRow> lanes;
};

// What is in the file `path`: a JSON list of objects with the members of ExchangeRow by name, and
// type and count. A member that a lane lacks is the row's.
Result<std::vector<ExchangeRow>> parse_exchange_rows(const std::string& content,
                                                     const std::string& path);

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_APPS_EXCHANGE_ROW_HPP_
