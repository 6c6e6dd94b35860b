// SPDX-License-Identifier: BSD-3-Clause
//
// Counting. Each thread has a table of its own, which it writes with plain loads and stores and
// never gives back: a thread that ends leaves it, with all that is in it, to one that begins.
#include "interpose/report.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
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

// Half octaves of time, from 64 ns on.
constexpr size_t kBuckets = 48;
constexpr double kFirstBucketNs = 64;

struct Cell {
  std::atomic<uint64_t> key{0};  // of its account and size, plus one; 0: empty
  Counter outcomes[kOutcomes] = {};
  Counter bytes_taken{0};
  Counter bytes_declined{0};
  Counter pack_ns{0};
  Counter unpack_ns{0};
  Counter timed{0};
  Counter call_ns{0};
  Counter ended_ns{0};             // of calls that wait for others
  Counter by_time[kBuckets] = {};  // calls that do not
};

struct Table {
  static constexpr size_t kCells = 1024;
  Cell cells[kCells];
  std::atomic<bool> owned{true};
  Table* next = nullptr;
};

constinit std::atomic<Table*> g_tables{nullptr};

// `size`: an octave of bytes, so that the times of a cell can be compared; 0: none.
uint64_t key_of(const Account& account, unsigned size) noexcept {
  return ((((uint64_t{account.function} << 16 | account.type) << 16) | account.site) << 8 | size) +
         1;
}
Account account_of_key(uint64_t key) noexcept {
  key = (key - 1) >> 8;
  return {static_cast<uint16_t>(key >> 32), static_cast<TypeId>(key >> 16 & 0xffff),
          static_cast<uint16_t>(key & 0xffff)};
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
Cell* cell_of(const Account& account, unsigned size = 0) noexcept {
  thread_local Owner owner;
  if (owner.table == nullptr) return nullptr;
  const uint64_t key = key_of(account, size);
  size_t at = (key * 0x9E3779B97F4A7C15U) >> 40 & (Table::kCells - 1);
  for (size_t tried = 0; tried < Table::kCells; ++tried, at = (at + 1) & (Table::kCells - 1)) {
    Cell& cell = owner.table->cells[at];
    const uint64_t found = cell.key.load(std::memory_order_relaxed);
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

// Places of calls, by their return addresses.
struct Sites {
  std::mutex mutex;
  std::map<const void*, uint16_t> ids;
  std::vector<const void*> all{nullptr};
};
Sites& sites() {
  static auto* const all = new Sites;  // as long as the process
  return *all;
}

uint16_t learn_site(const void* caller) noexcept try {
  Sites& known = sites();
  const std::lock_guard<std::mutex> lock(known.mutex);
  if (const auto found = known.ids.find(caller); found != known.ids.end()) return found->second;
  if (known.all.size() > kMostSites) return 0;
  const auto id = static_cast<uint16_t>(known.all.size());
  known.all.push_back(caller);
  known.ids.emplace(caller, id);
  return id;
} catch (...) {
  return 0;
}

// "FILE+0xOFFSET NAME"; the address is of the call, not of what follows it.
std::string site_text(const void* caller) {
  Dl_info info{};
  const auto address = reinterpret_cast<uintptr_t>(caller) - 1;
  if (caller == nullptr || dladdr(reinterpret_cast<const void*>(address), &info) == 0) return "";
  char offset[32];
  std::snprintf(offset, sizeof offset, "+0x%zx",
                static_cast<size_t>(address - reinterpret_cast<uintptr_t>(info.dli_fbase)));
  std::string text = std::string(info.dli_fname != nullptr ? info.dli_fname : "?") + offset;
  if (info.dli_sname != nullptr) text.append(1, ' ').append(info.dli_sname);
  return text;
}

// Whoever takes much longer than the quickest tenth of the calls on as much data has waited.
int64_t waited_ns(const Cell& cell) {
  const auto get = [](const Counter& counter) { return counter.load(std::memory_order_relaxed); };
  int64_t calls = 0;
  for (const Counter& bucket : cell.by_time) calls += get(bucket);
  size_t quick = 0;
  for (int64_t below = 0; quick + 1 < kBuckets; ++quick) {
    below += get(cell.by_time[quick]);
    if (10 * below >= calls) break;
  }
  const auto middle = [](size_t bucket) {
    return kFirstBucketNs * std::exp2((static_cast<double>(bucket) + 0.5) / 2);
  };
  double waited = 0;
  for (size_t i = quick + 2; i < kBuckets; ++i)
    waited += static_cast<double>(get(cell.by_time[i])) * (middle(i) - middle(quick));
  const int64_t rest = get(cell.call_ns) - get(cell.ended_ns);
  return get(cell.ended_ns) + std::min(static_cast<int64_t>(waited), std::max<int64_t>(rest, 0));
}

thread_local const void* t_caller = nullptr;  // of the call that is about to be looked at
thread_local Look* t_look = nullptr;          // the innermost

void count_outcome(const Account& account, size_t outcome, int64_t bytes) noexcept {
  Cell* cell = cell_of(account);
  if (cell == nullptr) return;
  add(&cell->outcomes[outcome], 1);
  const bool taken = outcome == static_cast<size_t>(Note::kTaken);
  add(taken ? &cell->bytes_taken : &cell->bytes_declined, bytes);
}

void add_cell(const Cell& cell, const std::vector<std::string>& places, Report* report) {
  const uint64_t key = cell.key.load(std::memory_order_acquire);
  if (key == 0) return;
  const auto get = [](const Counter& counter) { return counter.load(std::memory_order_relaxed); };
  ReportRow row;
  const Account account = account_of_key(key);
  row.function = wrapped_names()[account.function];
  row.type = account.type;
  row.site = places.at(account.site);
  for (size_t i = 0; i < kOutcomes; ++i) row.outcomes[i] = get(cell.outcomes[i]);
  row.bytes_taken = get(cell.bytes_taken);
  row.bytes_declined = get(cell.bytes_declined);
  row.pack_ns = get(cell.pack_ns);
  row.unpack_ns = get(cell.unpack_ns);
  row.timed = get(cell.timed);
  row.call_ns = get(cell.call_ns);
  row.wait_ns = waited_ns(cell);
  row.ranks = 1;
  for (ReportRow& other : report->rows) {
    if (other.function == row.function && other.type == row.type && other.site == row.site)
      return add(row, &other);
  }
  report->rows.push_back(row);
}

}  // namespace

// ---- the current call ---------------------------------------------------------------------------

void Look::begin() noexcept {
  watched_ = true;
  outer_ = t_look;
  t_look = this;
  if (!is_watched(kCosted)) return;
  site_ = site_of(t_caller != nullptr ? t_caller : caller_);
  t_caller = nullptr;
  begin_ns_ = now_ns();
}

void Look::end() noexcept {
  t_look = outer_;
  if (begin_ns_ == 0 || outer_ != nullptr) return;
  const Account account = {static_cast<uint16_t>(function_), type_, site_};
  report_call(account, role_ == Role::kEnds, bytes_, now_ns() - begin_ns_ - elsewhere_ns_);
}

void Look::tell_nothing() const noexcept {
  if (is_watched(kReported)) count_outcome(account_of(kOtherTypes), kNothing, 0);
}

Account account_of(TypeId type) noexcept {
  const Look* look = t_look;
  if (look == nullptr) return {0, type};
  return {static_cast<uint16_t>(look->function()), type, look->site()};
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
    known.all.push_back({describe(), 0, 0, {}});
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
  t_look->told(type, bytes);
  count_outcome(account_of(type), static_cast<size_t>(note), bytes);
}

void report_time(const Account& of, Way way, int64_t ns) noexcept {
  // Data for a predefined type, which nobody has booked: the current call's.
  const bool nobodys = of.function == 0;
  if (nobodys && t_look == nullptr) return;
  const Account account = nobodys ? account_of(t_look->type()) : of;
  Cell* cell = cell_of(account);
  if (cell == nullptr) return;
  add(way == Way::kPack ? &cell->pack_ns : &cell->unpack_ns, ns);
  // What a request leaves for its completion is the starting call's, not the waiting one's.
  if (t_look == nullptr || !is_watched(kCosted)) return;
  if (account.function == static_cast<uint16_t>(t_look->function()) &&
      account.site == t_look->site())
    return;
  t_look->leave_out(ns);
  add(&cell->call_ns, ns);
}

void report_call(const Account& account, bool ends, int64_t bytes, int64_t ns) noexcept {
  Cell* cell = cell_of(
      account, ends ? 0
                    : 1 + static_cast<unsigned>(
                              std::bit_width(static_cast<uint64_t>(std::max<int64_t>(bytes, 0)))));
  if (cell == nullptr) return;
  add(&cell->timed, 1);
  add(&cell->call_ns, ns);
  if (ends) return add(&cell->ended_ns, ns);
  const double octaves =
      std::log2(std::max(static_cast<double>(ns), kFirstBucketNs) / kFirstBucketNs);
  add(&cell->by_time[std::min(static_cast<size_t>(2 * octaves), kBuckets - 1)], 1);
}

void called_from(const void* caller) noexcept { t_caller = caller; }

uint16_t site_of(const void* caller) noexcept {
  struct Known {
    const void* caller = nullptr;
    uint16_t id = 0;
  };
  constexpr size_t kKnown = 64;
  thread_local Known known[kKnown];
  Known& one = known[(reinterpret_cast<uintptr_t>(caller) * 0x9E3779B97F4A7C15U) >> 58];
  if (one.caller != caller) one = {caller, learn_site(caller)};
  return one.id;
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
  report.costs = is_watched(kCosted);
  std::vector<std::string> places;
  {
    Sites& known = sites();
    const std::lock_guard<std::mutex> lock(known.mutex);
    for (const void* caller : known.all) places.push_back(site_text(caller));
  }
  for (const Table* table = g_tables.load(std::memory_order_acquire); table != nullptr;
       table = table->next) {
    for (const Cell& cell : table->cells) add_cell(cell, places, &report);
  }
  for (ReportRow& row : report.rows) row.slowest_ns = row.pack_ns + row.unpack_ns;
  return report;
}

}  // namespace lacuna
