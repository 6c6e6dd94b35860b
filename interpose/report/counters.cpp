// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/report/counters.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <new>
#include <tuple>

#include "base/hash.hpp"
#include "interpose/library/next.hpp"

namespace lacuna {
namespace {

constexpr int64_t kFirstBucketNs = 64;

}  // namespace

struct CellTable {
  static constexpr size_t kCells = 1024;
  Cell cells[kCells];
  CallGroups groups;
  std::atomic<bool> owned{true};
  CellTable* next = nullptr;
};

namespace {

constinit std::atomic<CellTable*> g_tables{nullptr};

uint64_t key_of(const Account& account, unsigned octave) noexcept {
  return ((((uint64_t{account.function} << 16 | account.type) << 16) | account.site) << 8 |
          octave) +
         1;
}
Account account_of_key(uint64_t key) noexcept {
  key = (key - 1) >> 8;
  return {static_cast<uint16_t>(key >> 32), static_cast<TypeId>(key >> 16 & 0xffff),
          static_cast<uint16_t>(key & 0xffff)};
}

CellTable* take_table() noexcept {
  for (CellTable* table = g_tables.load(std::memory_order_acquire); table != nullptr;
       table = table->next) {
    bool owned = false;
    if (table->owned.compare_exchange_strong(owned, true, std::memory_order_acquire)) return table;
  }
  auto* table = new (std::nothrow) CellTable;
  if (table == nullptr) return nullptr;
  table->groups.table = table;
  table->next = g_tables.load(std::memory_order_relaxed);
  while (!g_tables.compare_exchange_weak(table->next, table, std::memory_order_acq_rel)) {
  }
  return table;
}

struct Owner {
  CellTable* table = take_table();
  Owner() {
    if (table != nullptr) t_call_groups = &table->groups;
  }
  ~Owner() {
    t_call_groups = nullptr;
    if (table != nullptr) table->owned.store(false, std::memory_order_release);
  }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
};

int64_t get(const Counter& counter) noexcept { return counter.load(std::memory_order_relaxed); }

// Calls that take at least an octave longer than the fastest tenth of the calls in the cell, which
// are of about the same size, are taken to have waited for the difference.
int64_t waited_ns(const Cell& cell) {
  int64_t calls = 0;
  for (const Counter& bucket : cell.by_time) calls += get(bucket);
  size_t quick = 0;
  for (int64_t below = 0; quick + 1 < kBuckets; ++quick) {
    below += get(cell.by_time[quick]);
    if (10 * below >= calls) break;
  }
  const auto middle = [](size_t bucket) {
    return static_cast<double>(kFirstBucketNs) * std::exp2((static_cast<double>(bucket) + 0.5) / 2);
  };
  double waited = 0;
  for (size_t i = quick + 2; i < kBuckets; ++i)
    waited += static_cast<double>(get(cell.by_time[i])) * (middle(i) - middle(quick));
  const int64_t rest = get(cell.call_ns) - get(cell.ended_ns);
  return get(cell.ended_ns) + std::min(static_cast<int64_t>(waited), std::max<int64_t>(rest, 0));
}

// The square of the standard error of the sum of the times, as of a ratio estimate: the number of
// calls is known exactly.
double variance_of(const Cell& cell) {
  const double timed = static_cast<double>(get(cell.timed));
  if (timed <= 0) return 0;
  const double mean = static_cast<double>(get(cell.call_ns)) / timed;
  double s[3];
  for (size_t i = 0; i < 3; ++i) s[i] = cell.spread[i].load(std::memory_order_relaxed);
  return std::max(0.0, s[2] - 2 * mean * s[1] + mean * mean * s[0]);
}

// Buckets are half octaves. Squares are compared, because half of the limits are odd powers of the
// square root of 2.
size_t bucket_of(int64_t ns) noexcept {
  if (ns <= kFirstBucketNs) return 0;
  const auto n = static_cast<uint64_t>(std::min<int64_t>(ns, INT32_MAX)) / kFirstBucketNs;
  const auto whole = static_cast<size_t>(std::bit_width(n)) - 1;
  const auto units = static_cast<uint64_t>(std::min<int64_t>(ns, INT32_MAX));
  const uint64_t low = static_cast<uint64_t>(kFirstBucketNs) << whole;
  const bool upper = units * units >= 2 * low * low;
  return std::min(2 * whole + (upper ? 1 : 0), kBuckets - 1);
}

}  // namespace

// Of this thread; null: no memory, or the thread is about to end.
static CallGroups* own_lanes() noexcept {
  thread_local Owner owner;
  return t_call_groups;
}

Cell* cell_of(const Account& account, unsigned octave) noexcept {
  const CallGroups* groups = t_call_groups != nullptr ? t_call_groups : own_lanes();
  if (groups == nullptr) return nullptr;
  CellTable& table = *groups->table;
  const uint64_t key = key_of(account, octave);
  size_t at = (key * kGoldenRatio) >> 40 & (CellTable::kCells - 1);
  for (size_t tried = 0; tried < CellTable::kCells;
       ++tried, at = (at + 1) & (CellTable::kCells - 1)) {
    Cell& cell = table.cells[at];
    const uint64_t found = cell.key.load(std::memory_order_relaxed);
    if (found == key) return &cell;
    if (found != 0) continue;
    cell.key.store(key, std::memory_order_release);
    return &cell;
  }
  return nullptr;
}

unsigned octave_of(int64_t bytes) noexcept {
  return 1 +
         static_cast<unsigned>(std::bit_width(static_cast<uint64_t>(std::max<int64_t>(bytes, 0))));
}

void count_outcome(const Account& account, size_t outcome, int64_t times, int64_t bytes) noexcept {
  Cell* cell = cell_of(account);
  if (cell == nullptr) return;
  add(&cell->outcomes[outcome], times);
  const bool handled = outcome == static_cast<size_t>(Outcome::kHandled);
  add(handled ? &cell->bytes_handled : &cell->bytes_declined, bytes);
}

void count_timed(Cell* cell, bool ends, int64_t ns, uint32_t weight) noexcept {
  const int64_t all = ns * weight;
  add(&cell->timed, weight);
  add(&cell->call_ns, all);
  if (ends) {
    add(&cell->ended_ns, all);
  } else {
    add(&cell->by_time[bucket_of(ns)], weight);
  }
  if (weight == 1) return;
  double term = static_cast<double>(weight) * (weight - 1);
  for (auto& sum : cell->spread) {
    sum.store(sum.load(std::memory_order_relaxed) + term, std::memory_order_relaxed);
    term *= static_cast<double>(ns);
  }
}

namespace {

using Place = std::tuple<uint16_t, TypeId, uint16_t>;
struct Calls {
  int64_t all = 0;
  int64_t timed = 0;
  double ratio() const {
    return timed > 0 ? static_cast<double>(all) / static_cast<double>(timed) : 1;
  }
};

Place place_of(const Account& account) { return {account.function, account.type, account.site}; }

int64_t scaled(int64_t value, double ratio) {
  return static_cast<int64_t>(std::llround(static_cast<double>(value) * ratio));
}

// Times are scaled from the calls that timed ones stand for to all calls: the calls that passed
// after the last timed one are taken to be as long as the others.
void add_cell(const Cell& cell, const std::map<Place, Calls>& calls,
              const std::vector<std::string>& places, Report* report) {
  const uint64_t key = cell.key.load(std::memory_order_acquire);
  if (key == 0) return;
  ReportRow row;
  const Account account = account_of_key(key);
  row.function = wrapped_names()[account.function];
  row.type = account.type;
  row.site = places.at(account.site);
  for (size_t i = 0; i < kOutcomes; ++i) row.outcomes[i] = get(cell.outcomes[i]);
  row.bytes_handled = get(cell.bytes_handled);
  row.bytes_declined = get(cell.bytes_declined);
  row.bytes_on_device = get(cell.bytes_on_device);
  const double of_all = calls.at(place_of(account)).ratio();
  const double here = Calls{get(cell.calls), get(cell.timed)}.ratio();
  row.pack_ns = scaled(get(cell.pack_ns), of_all);
  row.unpack_ns = scaled(get(cell.unpack_ns), of_all);
  row.timed = get(cell.calls);
  row.call_ns = scaled(get(cell.call_ns), here) + scaled(get(cell.elsewhere_ns), of_all);
  row.wait_ns = scaled(waited_ns(cell), here);
  row.variance_ns2 = variance_of(cell) * here * here;
  row.ranks = 1;
  for (ReportRow& other : report->rows) {
    if (other.function == row.function && other.type == row.type && other.site == row.site)
      return add(row, &other);
  }
  report->rows.push_back(row);
}

}  // namespace

void forget_call_groups_of(const ObservedType& record) noexcept {
  const uintptr_t type = record.handle.load(std::memory_order_relaxed);
  for (CellTable* table = g_tables.load(std::memory_order_acquire); table != nullptr;
       table = table->next)
    table->groups.forget(type);
}

void add_cells(const std::vector<std::string>& places, Report* report) {
  for (CellTable* table = g_tables.load(std::memory_order_acquire); table != nullptr;
       table = table->next) {
    for (CallGroup& group : table->groups.groups) count_passed(&group);
  }
  std::map<Place, Calls> calls;
  const auto each = [](const auto& work) {
    for (const CellTable* table = g_tables.load(std::memory_order_acquire); table != nullptr;
         table = table->next) {
      for (const Cell& cell : table->cells) work(cell);
    }
  };
  each([&](const Cell& cell) {
    const uint64_t key = cell.key.load(std::memory_order_acquire);
    if (key == 0) return;
    Calls& sum = calls[place_of(account_of_key(key))];
    sum.all += get(cell.calls);
    sum.timed += get(cell.timed);
  });
  each([&](const Cell& cell) { add_cell(cell, calls, places, report); });
}

}  // namespace lacuna
