// SPDX-License-Identifier: BSD-3-Clause
//
// Counting. Each thread has a table of its own, which it writes with plain loads and stores and
// never gives back: a thread that ends leaves it, with all that is in it, to one that begins.
#include "interpose/report.hpp"

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <new>

#include "interpose/look.hpp"
#include "interpose/next.hpp"
#include "interpose/report_data.hpp"

namespace lacuna {
namespace {

using Counter = std::atomic<int64_t>;

// By the one thread that writes it.
void add(Counter* counter, int64_t value) noexcept {
  counter->store(counter->load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
}

struct Cell {
  std::atomic<uint32_t> key{0};  // function and type, plus one; 0: empty
  Counter outcomes[kOutcomes] = {};
  Counter bytes_taken{0};
  Counter bytes_declined{0};
  Counter pack_ns{0};
  Counter unpack_ns{0};
};

struct Table {
  static constexpr size_t kCells = 512;
  Cell cells[kCells];
  std::atomic<bool> owned{true};
  Table* next = nullptr;
};

constinit std::atomic<Table*> g_tables{nullptr};

uint32_t key_of(const Account& account) noexcept {
  return ((uint32_t{account.function} << 16) | account.type) + 1;
}

Table* take_table() noexcept {
  for (Table* table = g_tables.load(std::memory_order_acquire); table != nullptr;
       table = table->next) {
    bool owned = false;
    if (table->owned.compare_exchange_strong(owned, true, std::memory_order_acquire)) return table;
  }
  auto* table = new (std::nothrow) Table;
  if (table == nullptr) return nullptr;
  table->next = g_tables.load(std::memory_order_relaxed);
  while (!g_tables.compare_exchange_weak(table->next, table, std::memory_order_acq_rel)) {
  }
  return table;
}

struct Owner {
  Table* table = take_table();
  ~Owner() {
    if (table != nullptr) table->owned.store(false, std::memory_order_release);
  }
};

// Null: no memory, or more functions and types than a table has cells; such calls are not counted.
Cell* cell_of(const Account& account) noexcept {
  thread_local Owner owner;
  if (owner.table == nullptr) return nullptr;
  const uint32_t key = key_of(account);
  size_t at = (key * 0x9E3779B1U) >> 7 & (Table::kCells - 1);
  for (size_t tried = 0; tried < Table::kCells; ++tried, at = (at + 1) & (Table::kCells - 1)) {
    Cell& cell = owner.table->cells[at];
    const uint32_t found = cell.key.load(std::memory_order_relaxed);
    if (found == key) return &cell;
    if (found != 0) continue;
    cell.key.store(key, std::memory_order_release);
    return &cell;
  }
  return nullptr;
}

// All types met so far, under a lock, as learning a type takes microseconds anyway.
struct Types {
  std::mutex mutex;
  std::map<uint64_t, TypeId> ids;
  std::vector<ReportType> all{1};
};
Types& types() {
  static auto* const all = new Types;  // as long as the process
  return *all;
}

thread_local Look* t_look = nullptr;  // the innermost

void count_outcome(const Account& account, size_t outcome, int64_t bytes) noexcept {
  Cell* cell = cell_of(account);
  if (cell == nullptr) return;
  add(&cell->outcomes[outcome], 1);
  const bool taken = outcome == static_cast<size_t>(Note::kTaken);
  add(taken ? &cell->bytes_taken : &cell->bytes_declined, bytes);
}

void add_cell(const Cell& cell, Report* report) {
  const uint32_t key = cell.key.load(std::memory_order_acquire);
  if (key == 0) return;
  const auto get = [](const Counter& counter) { return counter.load(std::memory_order_relaxed); };
  ReportRow row;
  row.function = wrapped_names()[(key - 1) >> 16];
  row.type = (key - 1) & 0xffff;
  for (size_t i = 0; i < kOutcomes; ++i) row.outcomes[i] = get(cell.outcomes[i]);
  row.bytes_taken = get(cell.bytes_taken);
  row.bytes_declined = get(cell.bytes_declined);
  row.pack_ns = get(cell.pack_ns);
  row.unpack_ns = get(cell.unpack_ns);
  row.ranks = 1;
  for (ReportRow& other : report->rows) {
    if (other.function == row.function && other.type == row.type) return add(row, &other);
  }
  report->rows.push_back(row);
}

}  // namespace

// ---- the current call ---------------------------------------------------------------------------

void Look::begin() noexcept {
  watched_ = true;
  outer_ = t_look;
  t_look = this;
}

void Look::end() noexcept { t_look = outer_; }

void Look::tell_nothing() const noexcept {
  if (is_watched(kReported)) count_outcome(account_of(kOtherTypes), kNothing, 0);
}

Account account_of(TypeId type) noexcept {
  const Look* look = t_look;
  return {static_cast<uint16_t>(look != nullptr ? look->function() : FunctionId{}), type};
}

bool leaves_new_types_alone() noexcept {
  return t_look != nullptr && t_look->role() == Role::kMovesMany;
}

// ---- counting -----------------------------------------------------------------------------------

std::string shortened(const std::string& text) {
  constexpr size_t kLongest = 200;
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

TypeId report_type(uint64_t hash, int64_t learn_ns,
                   const std::function<TypeFacts()>& describe) noexcept try {
  Types& known = types();
  const std::lock_guard<std::mutex> lock(known.mutex);
  TypeId id = kOtherTypes;
  if (const auto found = known.ids.find(hash); found != known.ids.end()) {
    id = found->second;
  } else if (known.all.size() <= kMostTypes) {
    id = static_cast<TypeId>(known.all.size());
    known.all.push_back({describe()});
    known.ids.emplace(hash, id);
  }
  known.all[id].made += 1;
  known.all[id].learn_ns += learn_ns;
  return id;
} catch (...) {
  return kOtherTypes;
}

void report_outcome(TypeId type, Note note, int64_t bytes) noexcept {
  if (t_look == nullptr) return;
  t_look->told();
  count_outcome(account_of(type), static_cast<size_t>(note), bytes);
}

void report_time(const Account& account, Way way, int64_t ns) noexcept {
  if (Cell* cell = cell_of(account)) add(way == Way::kPack ? &cell->pack_ns : &cell->unpack_ns, ns);
}

int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Report counted_here() {
  Report report;
  {
    Types& known = types();
    const std::lock_guard<std::mutex> lock(known.mutex);
    report.types = known.all;
  }
  for (const Table* table = g_tables.load(std::memory_order_acquire); table != nullptr;
       table = table->next) {
    for (const Cell& cell : table->cells) add_cell(cell, &report);
  }
  for (ReportRow& row : report.rows) row.slowest_ns = row.pack_ns + row.unpack_ns;
  return report;
}

}  // namespace lacuna
