// SPDX-License-Identifier: BSD-3-Clause
//
// What a plan does, as JSON for `lacuna explain --gpu`: the kernel, its words and blocks, the
// pieces, and the sectors of memory that hold data, from which the time is predicted.
#include <algorithm>
#include <cstdlib>
#include <memory>

#include "gpu/plan.hpp"

namespace lacuna::gpu {
namespace {

constexpr int64_t kSectorBytes = 32;
constexpr int64_t kFetchBytes = 64;              // what a device reads at a time by default
constexpr size_t kMostLooked = size_t{1} << 16;  // runs; further ones are assumed to be alike

struct Run {
  int64_t begin;
  int64_t end;
};

// The runs of one leaf, from its first byte.
std::vector<Run> runs_of_leaf(const Piece& piece) {
  const Ranked& ranked = piece.ranked;
  if (ranked.groups == nullptr) return {{0, piece.leaf_bytes}};
  std::vector<Run> runs;
  const int64_t units = piece.leaf_bytes >> ranked.unit_log;
  int64_t begin = 0;
  for (int64_t unit = 1; unit <= units && runs.size() < kMostLooked; ++unit) {
    if (unit < units && (ranked.groups[unit >> 5].begins >> (unit & 31) & 1) == 0) continue;
    const auto number = static_cast<uint32_t>(runs.size());
    const int64_t shift = offset_at<true>(ranked.shifts, number);
    runs.push_back({(begin << ranked.unit_log) + shift, (unit << ranked.unit_log) + shift});
    begin = unit;
  }
  return runs;
}

int64_t place_of(const Digit& digit, uint32_t i) {
  return i * digit.mem_stride +
         (digit.table.entries != nullptr ? offset_at<true>(digit.table, i) : 0);
}

// The mean distance of neighbours in memory.
int64_t apart(const Digit& digit) {
  return std::abs(place_of(digit, digit.count.count - 1) - place_of(digit, 0)) /
         std::max<int64_t>(1, digit.count.count - 1);
}

// The first runs of a piece, by loops in memory order (the closest loop innermost). *all: how many
// runs the piece has.
std::vector<Run> runs_in_memory(const Piece& piece, double* all) {
  std::vector<const Digit*> loops;
  for (const Digit& digit : piece.digits) {
    if (digit.count.count > 1) loops.push_back(&digit);
  }
  std::stable_sort(loops.begin(), loops.end(),
                   [](const Digit* a, const Digit* b) { return apart(*a) > apart(*b); });
  std::vector<Run> runs = runs_of_leaf(piece);
  double leaves = 1;
  for (const Digit* digit : loops) leaves *= digit->count.count;
  const Ranked& ranked = piece.ranked;
  double in_leaf = 1;
  if (ranked.groups != nullptr) {
    const Group& last = ranked.groups[(piece.leaf_bytes >> ranked.unit_log) / 32];
    in_leaf = last.before + bits_of(last.begins);
  }
  *all = leaves * in_leaf;
  while (!loops.empty()) {
    const Digit& digit = *loops.back();
    loops.pop_back();
    const std::vector<Run> inner = std::move(runs);
    runs.clear();
    for (uint32_t i = 0; i < digit.count.count && runs.size() < kMostLooked; ++i) {
      const int64_t at = place_of(digit, i);
      for (const Run& run : inner) runs.push_back({run.begin + at, run.end + at});
    }
  }
  return runs;
}

int64_t down(int64_t at, int64_t unit) { return at >= 0 ? at / unit : -((-at + unit - 1) / unit); }

// Counts the units of `unit` bytes that runs touch, and those that they fill only in part. The runs
// must come in ascending order, with gaps between them.
struct Units {
  explicit Units(int64_t bytes) : unit(bytes) {}
  void add(const Run& run) {
    const int64_t first = down(run.begin, unit);
    const int64_t end = down(run.end - 1, unit) + 1;
    touched += end - first - (first < next ? 1 : 0);
    const bool is_first_whole = run.begin <= first * unit && run.end >= (first + 1) * unit;
    partly += first >= next && !is_first_whole ? 1 : 0;
    partly += end - first > 1 && run.end < end * unit ? 1 : 0;
    next = end;
  }
  int64_t unit;
  int64_t touched = 0;
  int64_t partly = 0;
  int64_t next = INT64_MIN;
};

}  // namespace

Touched touched_by(const DevicePlan& plan) {
  Touched all;
  for (const PieceRow& row : plan.rows) {
    double runs = 0;
    std::vector<Run> looked = runs_in_memory(row.piece, &runs);
    const double share = runs / static_cast<double>(looked.size());
    for (Run& run : looked) {
      run.begin += row.piece.mem;
      run.end += row.piece.mem;
    }
    std::sort(looked.begin(), looked.end(),
              [](const Run& a, const Run& b) { return a.begin < b.begin; });
    Units sectors(kSectorBytes);
    Units fetched(kFetchBytes);
    for (size_t i = 0; i < looked.size();) {
      Run run = looked[i];
      for (++i; i < looked.size() && looked[i].begin <= run.end; ++i)
        run.end = std::max(run.end, looked[i].end);
      sectors.add(run);
      fetched.add(run);
    }
    all.sectors += share * static_cast<double>(sectors.touched * kSectorBytes);
    all.partly += share * static_cast<double>(sectors.partly * kSectorBytes);
    all.fetched += share * static_cast<double>(fetched.touched * kFetchBytes);
  }
  return all;
}

namespace {

std::string quoted_lines(const std::string& text) {
  std::string list;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    list += (list.empty() ? "\"" : ", \"") + text.substr(at, end - at) + "\"";
    at = end + 1;
  }
  return "[" + list + "]";
}

std::string member(const char* name, const std::string& value) {
  return std::string(", \"") + name + "\": " + value;
}

std::string number(double value) { return std::to_string(static_cast<int64_t>(value + 0.5)); }

std::string told(DevicePlan& plan) {
  const auto image = std::make_unique<std::byte[]>(image_bytes(plan));
  place(plan, image.get());
  std::copy(plan.image.begin(), plan.image.end(), image.get());
  // An aligned address, as cudaMalloc returns them.
  const auto* const at = reinterpret_cast<const void*>(uintptr_t{1} << 40);
  const std::unique_ptr<const Launch> chosen(new Launch(choose(plan, at, at, 0, plan.size, true)));
  const Launch& launch = *chosen;
  static const char* const kKernels[] = {"nothing", "run", "words", "bytes", "tiles", "many"};
  std::string words;
  for (const PieceRow& row : plan.rows) {
    const uint32_t log = launch.way == Launch::Way::kMany ? std::min(row.log, launch.message.log)
                                                          : static_cast<uint32_t>(launch.log);
    const int64_t bytes = launch.way == Launch::Way::kRun     ? plan.size
                          : launch.way == Launch::Way::kBytes ? int64_t{kBytesOfThread}
                                                              : int64_t{1} << log;
    words += (words.empty() ? "" : ", ") + std::to_string(bytes);
  }
  const Touched touched = touched_by(plan);
  std::string text = "{\"bytes\": " + std::to_string(plan.size);
  text += member("kernel", std::string("\"") + kKernels[static_cast<int>(launch.way)] + "\"");
  text += member("word_bytes", "[" + words + "]");
  text += member("pieces", quoted_lines(text_of(plan)));
  text += member("blocks", std::to_string(launch.blocks));
  text += member("threads", std::to_string(launch.blocks == 0 ? 0 : launch.threads));
  text += member("shared_bytes", std::to_string(launch.shared_bytes));
  text += member("table_bytes", std::to_string(plan.image.size()));
  text += member("sector_bytes", number(touched.sectors));
  text += member("fetched_bytes", number(touched.fetched));
  text += member("partly_bytes", number(touched.partly));
  return text + "}";
}

}  // namespace

Result<std::string> explain_json(const Type& type, int64_t count) {
  auto made = make_device_plan(type, count);
  if (!made) return made.error();
  DevicePlan plan = std::move(made).value();
  return told(plan);
}

}  // namespace lacuna::gpu
