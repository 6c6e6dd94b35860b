// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/report/library_times.hpp"

#include <algorithm>
#include <climits>
#include <map>
#include <mutex>

#include "base/address.hpp"
#include "exec/exec.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"

namespace lacuna {
namespace {

constexpr size_t kMostTimed = 64;
constexpr int64_t kMostSpan = int64_t{64} << 20;  // bytes of a buffer for timing
constexpr int kRepetitions = 5;                   // repetitions, of which the fastest counts

struct TimedType {
  PlanPtr plan;
  MPI_Datatype type;
};

struct TimedTypes {
  std::mutex mutex;
  std::map<uint64_t, TimedType> kept;
};
TimedTypes& timed_types() {
  static auto* const one = new TimedTypes;  // as long as the process
  return *one;
}

template <typename Work>
double quickest_ns(const Work& work) {
  int64_t least = INT64_MAX;
  for (int i = 0; i < kRepetitions; ++i) {
    const int64_t begin = now_ns();
    if (!work()) return 0;
    least = std::min(least, now_ns() - begin);
  }
  return static_cast<double>(least);
}

// Nanoseconds per byte, for messages of about so many bytes; all 0 if that cannot be timed.
PackSpeeds speeds_of(const TimedType& kept, int64_t bytes) {
  const Plan& plan = *kept.plan;
  const int64_t count = std::max<int64_t>(1, bytes / plan.size());
  const DataSpan span = data_span(plan.type(), count);
  const int64_t packed = count * plan.size();
  if (span.bytes() > kMostSpan || packed > kMostSpan || count > INT_MAX) return {};
  std::vector<std::byte> mem(static_cast<size_t>(span.bytes()), std::byte{1});
  std::vector<std::byte> out(static_cast<size_t>(packed), std::byte{1});
  std::byte* const at = address(mem.data(), -span.low);
  const Next& next = next_functions();
  const MPI_Comm comm = runtime().probe_comm;
  const auto n = static_cast<int>(count);
  const auto room = static_cast<int>(packed);
  const double data = static_cast<double>(packed);
  PackSpeeds speeds;
  speeds.native_pack =
      quickest_ns([&] {
        int position = 0;
        return next.MPI_Pack(at, n, kept.type, out.data(), room, &position, comm) == MPI_SUCCESS;
      }) /
      data;
  speeds.native_unpack =
      quickest_ns([&] {
        int position = 0;
        return next.MPI_Unpack(out.data(), room, &position, at, n, kept.type, comm) == MPI_SUCCESS;
      }) /
      data;
  speeds.pack = quickest_ns([&] {
                  pack(plan, at, count, out.data());
                  return true;
                }) /
                data;
  speeds.unpack = quickest_ns([&] {
                    unpack(plan, out.data(), count, at);
                    return true;
                  }) /
                  data;
  return speeds;
}

}  // namespace

void keep_for_timing(uint64_t hash, const PlanPtr& plan, MPI_Datatype datatype) noexcept try {
  TimedTypes& types = timed_types();
  {
    const std::lock_guard<std::mutex> lock(types.mutex);
    if (types.kept.count(hash) != 0 || types.kept.size() >= kMostTimed) return;
  }
  // Not a dup, which would copy the program's attributes.
  const Next& next = next_functions();
  MPI_Datatype type = runtime().datatype_null;
  if (next.MPI_Type_contiguous(1, datatype, &type) != MPI_SUCCESS) return;
  bool is_kept = false;
  if (next.MPI_Type_commit(&type) == MPI_SUCCESS) {
    const std::lock_guard<std::mutex> lock(types.mutex);
    is_kept = types.kept.emplace(hash, TimedType{plan, type}).second;
  }
  if (!is_kept) next.MPI_Type_free(&type);
} catch (...) {
}

void time_kept_types(Report* report) {
  TimedTypes& types = timed_types();
  const std::lock_guard<std::mutex> lock(types.mutex);
  for (size_t i = 0; i < report->types.size(); ++i) {
    const auto found = types.kept.find(report->types[i].facts.hash);
    if (i == kOtherTypes || found == types.kept.end()) continue;
    int64_t bytes = 0;
    int64_t calls = 0;
    for (const ReportRow& row : report->rows) {
      if (row.type != i) continue;
      bytes += row.bytes_handled + row.bytes_declined;
      calls += row.calls();
    }
    if (calls > 0) report->types[i].speeds = speeds_of(found->second, bytes / calls);
  }
}

void drop_kept_types() noexcept try {
  std::map<uint64_t, TimedType> kept;
  {
    const std::lock_guard<std::mutex> lock(timed_types().mutex);
    kept.swap(timed_types().kept);
  }
  for (auto& [hash, one] : kept) next_functions().MPI_Type_free(&one.type);
} catch (...) {
}

// What lacuna moved would have taken the library's time, and what it declined would have taken
// lacuna's. Whether a declined call packs or unpacks is known from the function; for what lacuna
// moved, from which times were measured.
Savings savings_of(const Report& report, const ReportRow& row) {
  Savings savings;
  const PackSpeeds& speeds = report.types[row.type].speeds;
  if (speeds.native_pack <= 0 || speeds.native_unpack <= 0) return savings;
  const FunctionFacts& facts = facts_of(row.function);
  const auto handled = static_cast<double>(row.bytes_handled);
  const auto declined = static_cast<double>(row.bytes_declined);
  if (row.bytes_handled > 0 && row.pack_ns + row.unpack_ns > 0) {
    const double native =
        (row.pack_ns > 0 ? speeds.native_pack : 0) + (row.unpack_ns > 0 ? speeds.native_unpack : 0);
    savings.saved_ns = static_cast<int64_t>(handled * native) - row.pack_ns - row.unpack_ns;
  }
  const double gain = (facts.packs ? speeds.native_pack - speeds.pack : 0) +
                      (facts.unpacks ? speeds.native_unpack - speeds.unpack : 0);
  savings.would_save_ns = std::max<int64_t>(0, static_cast<int64_t>(declined * gain));
  // No more can be saved than these pieces of the calls.
  const Pieces pieces = pieces_of(report, row);
  savings.would_save_ns =
      std::min(savings.would_save_ns, pieces.pack + pieces.library + pieces.network);
  return savings;
}

}  // namespace lacuna
