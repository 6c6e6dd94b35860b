// SPDX-License-Identifier: BSD-3-Clause
//
// The types and the call sites of the report.
#include "interpose/report/report.hpp"

#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>

#include "interpose/library/next.hpp"
#include "interpose/report/counters.hpp"
#include "interpose/report/data.hpp"

namespace lacuna {
namespace {

// All types met so far, under a lock, as learning a type takes much longer anyway.
struct Types {
  std::mutex mutex;
  std::map<uint64_t, TypeId> ids;
  std::vector<ReportType> all{1};
};
Types& types() {
  static auto* const all = new Types;  // as long as the process
  return *all;
}

// MemberData of calls, by their return addresses.
struct Sites {
  std::mutex mutex;
  std::map<const void*, uint16_t> ids;
  std::vector<const void*> all{nullptr};
};
Sites& sites() {
  static auto* const all = new Sites;  // as long as the process
  return *all;
}

}  // namespace

uint16_t site_of(const void* caller) noexcept try {
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

namespace {

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

}  // namespace

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
  add_cells(places, &report);
  for (ReportRow& row : report.rows) row.slowest_ns = row.pack_ns + row.unpack_ns;
  return report;
}

}  // namespace lacuna
