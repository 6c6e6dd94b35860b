// SPDX-License-Identifier: BSD-3-Clause
//
// The messages that a row of the file makes.
#ifndef LACUNA_BENCH_APPS_ROWS_HPP_
#define LACUNA_BENCH_APPS_ROWS_HPP_

#include <vector>

#include "base/result.hpp"
#include "bench/apps/exchange_row.hpp"
#include "bench/apps/ways/way.hpp"

namespace lacuna::bench {

// One for each lane; lanes of the same type and count share the memory.
Result<std::vector<Message>> make_messages(const ExchangeRow& row, int rank);

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_APPS_ROWS_HPP_
