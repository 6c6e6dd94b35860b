// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/report/costs.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"

namespace lacuna {
namespace {

constexpr int kMostBytes = 1 << 22;
constexpr int kTimes = 8;  // repetitions, of which the fastest counts
constexpr int kTag = 1;    // other than the reports'

// Interpolated linearly between two sizes; beyond the last, proportional to the bytes.
int64_t at(const CostCurve& curve, int64_t bytes) {
  if (curve.empty() || bytes <= 0) return 0;
  const auto above = std::lower_bound(curve.begin(), curve.end(), std::pair(bytes, int64_t{0}));
  if (above == curve.begin()) return curve.front().second;
  if (above == curve.end()) {
    const auto& [last, ns] = curve.back();
    return static_cast<int64_t>(static_cast<double>(ns) * static_cast<double>(bytes) /
                                static_cast<double>(last));
  }
  const auto& [low, low_ns] = *(above - 1);
  const auto& [high, high_ns] = *above;
  return low_ns + (high_ns - low_ns) * (bytes - low) / (high - low);
}

// Whether it is a message between two ranks. For a collective, network and library cannot be
// separated.
bool is_one_message(std::string_view function) {
  const FunctionFacts& facts = facts_of(function);
  return facts.group == FunctionGroup::kP2p && (facts.packs || facts.unpacks);
}

}  // namespace

CostCurve copy_costs() {
  std::vector<char> from(kMostBytes, 1), to(kMostBytes, 1);
  CostCurve curve;
  for (int bytes = 8; bytes <= kMostBytes; bytes *= 4) {
    int64_t least = INT64_MAX;
    for (int i = 0; i < kTimes; ++i) {
      const int64_t begin = now_ns();
      std::memcpy(to.data(), from.data(), static_cast<size_t>(bytes));
      asm volatile("" : : "r"(to.data()) : "memory");  // the copy must happen each time
      least = std::min(least, now_ns() - begin);
    }
    curve.emplace_back(bytes, least);
  }
  return curve;
}

CostCurve message_costs(MPI_Comm comm, int rank) {
  const Next& next = next_functions();
  std::vector<char> data(kMostBytes, 1);
  CostCurve curve;
  for (int bytes = 8; bytes <= kMostBytes; bytes *= 4) {
    int64_t least = INT64_MAX;
    for (int i = 0; i < kTimes; ++i) {
      const int64_t begin = now_ns();
      for (int turn = 0; turn < 2; ++turn) {
        const int code =
            turn == rank ? next.MPI_Send(data.data(), bytes, runtime().byte, 1 - rank, kTag, comm)
                         : next.MPI_Recv(data.data(), bytes, runtime().byte, 1 - rank, kTag, comm,
                                         MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS) return {};
      }
      least = std::min(least, (now_ns() - begin) / 2);
    }
    curve.emplace_back(bytes, least);
  }
  return curve;
}

// The pieces are subtracted one after the other, and none is more than what is left. So their sum
// is the row's time, whatever the curves are.
Pieces pieces_of(const Report& report, const ReportRow& row) {
  Pieces pieces;
  int64_t left = row.call_ns;
  const auto take = [&left](int64_t wanted) {
    const int64_t handled = std::clamp<int64_t>(wanted, 0, std::max<int64_t>(left, 0));
    left -= handled;
    return handled;
  };
  const int64_t packing = row.pack_ns + row.unpack_ns;
  const int64_t bytes =
      row.calls() > 0 ? (row.bytes_handled + row.bytes_declined) / row.calls() : 0;
  const int64_t copy = at(report.copies, bytes);
  pieces.wait = take(std::min(row.wait_ns, row.call_ns - packing));
  pieces.copy = take(packing > 0 ? std::min(packing, row.calls() * copy) : row.calls() * copy);
  pieces.pack = take(packing - pieces.copy);
  const bool told_apart = is_one_message(row.function) && !report.messages.empty();
  if (told_apart) {
    pieces.network = take(row.calls() * (at(report.messages, bytes) - copy));
    pieces.library = left;
  } else {
    pieces.network = left;
  }
  return pieces;
}

}  // namespace lacuna
