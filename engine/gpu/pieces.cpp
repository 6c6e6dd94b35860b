// SPDX-License-Identifier: BSD-3-Clause
//
// From a layout to pieces. Each path of the layout from the root to a run or a list is a piece; its
// loops and lists of equal entries become digits. A sequence of short runs becomes one ranked leaf,
// so that records are moved in the order of the stream; longer parts become pieces of their own.
#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "gpu/plan.hpp"
#include "layout/layout.hpp"

namespace lacuna::gpu {
namespace {

using Kind = LayoutNode::Kind;

constexpr int64_t kMostSpelled = int64_t{1} << 24;  // runs of a ranked leaf, as the last resort
// A sequence becomes a ranked leaf if it has at most so many runs, of such a mean length.
constexpr int64_t kMostSpelledOfSequence = int64_t{1} << 16;
constexpr int64_t kMostBytesSpelled = 512;
constexpr size_t kMostPieces = 4096;
constexpr int64_t kMostLeaf = int64_t{1} << 29;  // bytes

struct LeafLoops {
  std::vector<Digit> digits;  // outermost first
  int64_t mem = 0;
  int64_t packed = 0;
};

struct Run {
  int64_t mem;
  int64_t packed;
  int64_t bytes;
};

class Lowering {
 public:
  explicit Lowering(DevicePlan& plan) : plan_(plan) {}

  // Adds the pieces of a node inside the loops of `nest`. False: it cannot be lowered so.
  bool walk(const LayoutNode& node, LeafLoops nest) {
    if (plan_.rows.size() > kMostPieces) return false;
    switch (node.kind) {
      case Kind::kRun:
        return add_run(std::move(nest), node.size);
      case Kind::kLoop:
        return walk_loop(node, node.loop.count, std::move(nest));
      case Kind::kBlocks:
        return walk_blocks(node, std::move(nest));
      case Kind::kRuns:
        return spell(node, nest);
      case Kind::kSeq:
        break;
    }
    if (node.leaf_runs <= kMostSpelledOfSequence && node.size / node.leaf_runs <= kMostBytesSpelled)
      return spell(node, nest);
    for (size_t i = 0; i < node.children.size(); ++i) {
      LeafLoops part = nest;
      part.mem += node.mem_offsets[i];
      part.packed += node.packed_offsets[i];
      if (!walk(*node.children[i], std::move(part))) return false;
    }
    return true;
  }

  // Adds all runs of a node as ranked leaves of at most kMostLeaf bytes.
  bool spell(const LayoutNode& node, const LeafLoops& nest) {
    if (node.leaf_runs > kMostSpelled || nest.digits.size() > kMostLoops) return false;
    std::vector<Run> runs;
    runs.reserve(static_cast<size_t>(node.leaf_runs));
    for_each_run(
        {0, std::make_shared<const LayoutNode>(node)},
        [&](int64_t mem, int64_t packed, int64_t bytes) { runs.push_back({mem, packed, bytes}); });
    for (size_t begin = 0; begin < runs.size();) {
      size_t end = begin + 1;
      while (end < runs.size() &&
             runs[end].packed + runs[end].bytes - runs[begin].packed <= kMostLeaf)
        ++end;
      if (!add_runs({runs.begin() + static_cast<ptrdiff_t>(begin),
                     runs.begin() + static_cast<ptrdiff_t>(end)},
                    nest))
        return false;
      begin = end;
    }
    return true;
  }

 private:
  static bool has_room(const LeafLoops& nest) { return nest.digits.size() < kMostLoops; }

  bool walk_loop(const LayoutNode& node, int64_t count, LeafLoops nest) {
    if (!has_room(nest)) return spell(node, nest);
    const Loop& loop = node.loop;
    if (count < kMostCount) {
      nest.digits.push_back(digit(count, loop.mem_stride, loop.packed_stride));
      return walk(node.child(), std::move(nest));
    }
    // Too long for a digit: two nested loops, and one for the rest.
    constexpr int64_t kInner = kMostCount / 2;
    const int64_t full = count / kInner;
    if (full >= kMostCount) return false;
    LeafLoops most = nest;
    most.digits.push_back(digit(full, kInner * loop.mem_stride, kInner * loop.packed_stride));
    if (!walk_loop(node, kInner, std::move(most))) return false;
    const int64_t left = count - full * kInner;
    if (left == 0) return true;
    nest.mem += full * kInner * loop.mem_stride;
    nest.packed += full * kInner * loop.packed_stride;
    return walk_loop(node, left, std::move(nest));
  }

  bool walk_blocks(const LayoutNode& node, LeafLoops nest) {
    if (!has_room(nest)) return spell(node, nest);
    const auto count = static_cast<int64_t>(node.mem_offsets.size());
    if (count >= kMostCount) return false;
    Digit list = digit(count, 0, node.child().size);
    auto [at, is_new] = lists_.try_emplace(&node);
    if (is_new) at->second = add_offsets(node.mem_offsets);
    list.table = at->second;
    nest.digits.push_back(list);
    return walk(node.child(), std::move(nest));
  }

  static Digit digit(int64_t count, int64_t mem_stride, int64_t packed_stride) {
    Digit made;
    made.count = make_divisor(static_cast<uint32_t>(count));
    made.mem_stride = mem_stride;
    made.packed_stride = packed_stride;
    return made;
  }

  bool add_run(LeafLoops nest, int64_t bytes) {
    if (bytes < kMostCount) {
      add(nest, bytes, {}, 0);
      return true;
    }
    if (!has_room(nest)) return false;
    constexpr int64_t kInner = kMostCount / 2;
    const int64_t full = bytes / kInner;
    LeafLoops most = nest;
    most.digits.push_back(digit(full, kInner, kInner));
    add(most, kInner, {}, 0);
    nest.mem += full * kInner;
    nest.packed += full * kInner;
    if (bytes > full * kInner) add(nest, bytes - full * kInner, {}, 0);
    return true;
  }

  bool add_runs(const std::vector<Run>& runs, LeafLoops nest) {
    const Run& first = runs.front();
    nest.mem += first.mem;
    nest.packed += first.packed;
    if (runs.size() == 1) return add_run(std::move(nest), first.bytes);
    const int64_t bytes = runs.back().packed + runs.back().bytes - first.packed;
    uint64_t places = 0;
    for (const Run& run : runs) places |= static_cast<uint64_t>(run.packed | run.bytes);
    const auto unit_log = std::min(4, std::countr_zero(places | 16));
    std::vector<Group> groups(static_cast<size_t>((bytes >> unit_log) / 32 + 1));
    std::vector<int64_t> shifts;
    shifts.reserve(runs.size());
    uint64_t mask = 0;
    for (const Run& run : runs) {
      const int64_t unit = (run.packed - first.packed) >> unit_log;
      groups[static_cast<size_t>(unit >> 5)].begins |= uint32_t{1} << (unit & 31);
      shifts.push_back(run.mem - first.mem - (run.packed - first.packed));
      mask |= static_cast<uint64_t>(shifts.back());
    }
    uint32_t before = 0;
    for (Group& group : groups) {
      group.before = before;
      before += static_cast<uint32_t>(std::popcount(group.begins));
    }
    Ranked ranked;
    ranked.groups = static_cast<const Group*>(keep(groups.data(), groups.size() * sizeof(Group)));
    ranked.shifts = add_offsets(shifts);
    ranked.unit_log = static_cast<uint32_t>(unit_log);
    plan_.record = record_of(bytes >> unit_log, groups, shifts, ranked.unit_log);
    add(nest, bytes, ranked, mask | (uint64_t{1} << unit_log));
    return true;
  }

  static std::optional<Record> record_of(int64_t units, const std::vector<Group>& groups,
                                         const std::vector<int64_t>& shifts, uint32_t unit_log) {
    const auto is_narrow = [](int64_t shift) { return shift == static_cast<int32_t>(shift); };
    if (units > 32 || shifts.size() > kMostRecordRuns ||
        !std::all_of(shifts.begin(), shifts.end(), is_narrow))
      return {};
    Record record;
    record.begins = groups[0].begins;
    record.unit_log = unit_log;
    std::transform(shifts.begin(), shifts.end(), record.shifts,
                   [](int64_t shift) { return static_cast<int32_t>(shift); });
    return record;
  }

  static void note_list(PieceRow& row, const Offsets& offsets) {
    row.lists = std::max<uint8_t>(row.lists, offsets.scale == 0 ? 2 : 1);
  }

  void add(const LeafLoops& nest, int64_t leaf_bytes, const Ranked& ranked, uint64_t mask) {
    PieceRow row;
    Piece& piece = row.piece;
    piece.mem = nest.mem;
    piece.packed = nest.packed;
    piece.ranked = ranked;
    piece.leaf_bytes = leaf_bytes;
    const size_t loops = nest.digits.size();
    for (size_t k = 0; k < loops; ++k) {
      const Digit& from = nest.digits[k];
      piece.digits[kMostLoops - loops + k] = from;
      if (from.table.entries != nullptr) note_list(row, from.table);
      if (from.count.count == 1) continue;
      mask |= static_cast<uint64_t>(from.packed_stride);
      mask |= from.table.entries == nullptr ? static_cast<uint64_t>(from.mem_stride)
                                            : masks_.at(from.table.entries);
    }
    if (ranked.groups != nullptr) note_list(row, ranked.shifts);
    row.is_simple = row.lists == 0 && loops_of(piece) <= kSimpleLoops ? 1 : 0;
    mask |= static_cast<uint64_t>(piece.mem | piece.packed | leaf_bytes);
    row.log = static_cast<uint32_t>(std::countr_zero(mask | 16));
    row.leaves_parts = mask % 32 != 0 ? 1 : 0;
    for (uint32_t k = 0; k <= row.log; ++k)
      row.words[k] = make_divisor(static_cast<uint32_t>(leaf_bytes >> k));
    plan_.rows.push_back(row);
    plan_.log = std::min(plan_.log, row.log);
  }

  // Appends bytes to the image. Until `place`, a pointer is an offset plus one (null is none).
  const void* keep(const void* bytes, size_t size) {
    return reinterpret_cast<const void*>(append(plan_.image, bytes, size) + 1);
  }

  Offsets add_offsets(const std::vector<int64_t>& offsets) {
    int64_t scale = 0;
    int64_t most = 0;
    uint64_t mask = 0;
    for (const int64_t offset : offsets) {
      scale = std::gcd(scale, offset);
      most = std::max(most, offset < 0 ? -(offset + 1) : offset);
      mask |= static_cast<uint64_t>(offset);
    }
    Offsets made;
    scale = std::max<int64_t>(scale, 1);
    if (most / scale <= INT32_MAX - 1) {
      std::vector<int32_t> narrow;
      narrow.reserve(offsets.size());
      for (const int64_t offset : offsets) narrow.push_back(static_cast<int32_t>(offset / scale));
      made.entries = keep(narrow.data(), narrow.size() * sizeof(int32_t));
      made.scale = scale;
    } else {
      made.entries = keep(offsets.data(), offsets.size() * sizeof(int64_t));
    }
    masks_[made.entries] = mask;
    return made;
  }

  DevicePlan& plan_;
  std::unordered_map<const LayoutNode*, Offsets> lists_;
  std::unordered_map<const void*, uint64_t> masks_;  // all offsets of a table, or-ed
};

void clear(DevicePlan& plan) {
  plan.rows.clear();
  plan.log = 4;
  plan.record.reset();
  plan.image.clear();
}

// The pieces of the message. False: too many loops, and too many runs for a list. Out of line, as a
// piece takes stack; so below.
[[gnu::noinline]] bool add_pieces(DevicePlan& plan, const Placed& all) {
  LeafLoops root;
  root.mem = all.offset;
  if (Lowering(plan).walk(*all.node, root)) return true;
  clear(plan);
  return Lowering(plan).spell(*all.node, root);
}

// The whole message as one piece: a ranked leaf in the loop of elements. None if that is too large.
[[gnu::noinline]] void add_whole(DevicePlan& plan, const Layout& layout, int64_t count) {
  constexpr int64_t kMostRuns = int64_t{1} << 20;
  const LayoutNode& element = *layout.element.node;
  if (element.leaf_runs > kMostRuns || element.size > kMostLeaf || count >= kMostCount) return;
  DevicePlan alone;
  alone.image.swap(plan.image);
  LeafLoops nest;
  Digit repeat;
  repeat.count = make_divisor(static_cast<uint32_t>(count));
  repeat.mem_stride = layout.extent;
  repeat.packed_stride = layout.size();
  nest.digits.push_back(repeat);
  nest.mem = layout.element.offset;
  const bool done = Lowering(alone).spell(element, nest) && alone.rows.size() == 1;
  plan.image.swap(alone.image);
  if (!done) return;
  plan.log = std::min(plan.log, alone.log);
  plan.whole = alone.rows[0];
}

bool count_tiles(DevicePlan& plan) {
  for (uint32_t log = 0; log < kWordSizes; ++log) {
    std::vector<uint32_t>& tiles = plan.tiles[log];
    uint64_t all = 0;
    for (size_t i = 0; i < plan.rows.size(); ++i) {
      tiles.push_back(static_cast<uint32_t>(all));
      uint64_t words =
          static_cast<uint64_t>(plan.rows[i].piece.leaf_bytes) >> std::min(log, plan.rows[i].log);
      for (const Digit& digit : plan.rows[i].piece.digits) words *= digit.count.count;
      all += (words - 1) / (kUnroll * kThreads) + 1;
      if (all > kMostBlocks) return false;
    }
    tiles.push_back(static_cast<uint32_t>(all));
  }
  return true;
}

}  // namespace

Divisor make_divisor(uint32_t count) {
  __extension__ using Wide = unsigned __int128;
  Divisor made;
  made.count = count;
  made.shift = static_cast<uint32_t>(std::bit_width(count - 1));
  const Wide power = Wide{1} << (63 + made.shift);
  made.wide = static_cast<uint64_t>((power + count - 1) / count);
  made.narrow = static_cast<uint32_t>(made.wide >> 32) + (static_cast<uint32_t>(made.wide) != 0);
  return made;
}

int loops_of(const Piece& piece) {
  int loops = kMostLoops;
  while (loops > 0 && piece.digits[kMostLoops - loops].count.count == 1) --loops;
  return loops;
}

bool DevicePlan::is_run() const {
  return rows.size() == 1 && rows[0].piece.ranked.groups == nullptr && loops_of(rows[0].piece) == 0;
}

Result<DevicePlan> make_device_plan(const Type& type, int64_t count) {
  if (count < 0)
    return Error{LACUNA_INVALID_ARGUMENT,
                 "count is " + std::to_string(count) + "; it must not be negative"};
  DevicePlan plan;
  plan.count = count;
  const Layout layout = lower(type);
  int64_t reach = 0;
  if (__builtin_mul_overflow(count, layout.size(), &plan.size) ||
      __builtin_mul_overflow(count, layout.extent, &reach))
    return Error{LACUNA_OVERFLOW, std::to_string(count) + " elements do not fit into 64 bits"};
  if (plan.size == 0) return plan;
  const Placed all = make_loop(count, layout.extent, layout.element);
  if (!add_pieces(plan, all))
    return Error{LACUNA_UNSUPPORTED,
                 "the type has more nested loops than a kernel supports, and more runs than fit a "
                 "list"};
  if (plan.rows.size() > 1) add_whole(plan, layout, count);
  if (!count_tiles(plan))
    return Error{LACUNA_UNSUPPORTED, "the message is too large for one kernel launch"};
  return plan;
}

}  // namespace lacuna::gpu
