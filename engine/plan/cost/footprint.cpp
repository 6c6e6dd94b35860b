// SPDX-License-Identifier: BSD-3-Clause
//
// Walks a plan as exec/ does, and counts. The counts of lines and pages are exact for single loops
// and lists, and for nests whose loops either interleave or do not overlap.
#include "plan/cost/footprint.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <utility>

#include "plan/cost/cycles.hpp"
#include "plan/cost/line_count.hpp"

namespace lacuna {
namespace {

using Kind = LayoutNode::Kind;
using Shape = Step::Shape;

// Which of the units (lines or pages) of a list were touched: one bit each. Without bits, where the
// list is sparse: then each unit counts as new.
class Seen {
 public:
  Seen(int64_t units, int64_t entries)
      : bits_(units <= 64 * entries + 4096 ? static_cast<size_t>(units / 64 + 1) : 0) {}

  bool is_first(int64_t unit) {
    if (bits_.empty()) return true;
    uint64_t& word = bits_[static_cast<size_t>(unit / 64)];
    const uint64_t bit = uint64_t{1} << (unit % 64);
    const bool is_new = (word & bit) == 0;
    word |= bit;
    return is_new;
  }

 private:
  std::vector<uint64_t> bits_;
};

class Walk {
 public:
  Walk(const Machine& machine, bool is_pack, int64_t vector_bytes)
      : machine_(machine), is_pack_(is_pack), vector_bytes_(vector_bytes) {}

  int64_t vector() const { return vector_bytes_; }

  // `origin`: of the node, from the buffer's address, which is assumed to be aligned to a page.
  Footprint node(const PlanNode& node, int64_t iterations, int64_t origin) const {
    if (node.step.shape != Shape::kParts) return swept(node.step, iterations, origin);
    Footprint all;
    all.cycles = kNodeCycles;
    switch (node.kind) {
      case Kind::kRun:
        break;
      case Kind::kLoop: {
        Loop loop = node.loop;
        loop.count = iterations;
        take(all, piece(node, 0, origin), loop);
        break;
      }
      case Kind::kBlocks:
      case Kind::kRuns: {
        const std::vector<int64_t>& at = node.layout->mem_offsets;
        const auto [least, most] = std::minmax_element(at.begin(), at.end());
        const Footprint child = piece(node, 0, origin);
        const auto n = static_cast<int64_t>(at.size());
        take(all, child, {n, n > 1 ? (*most - *least) / (n - 1) : 0, 0});
        break;
      }
      case Kind::kSeq:
        for (size_t i = 0; i < node.children.size(); ++i) {
          all.add(piece(node, i, origin + node.layout->mem_offsets[i]), 1);
        }
        break;
    }
    return all;
  }

  // A shared node is walked once for each offset in a page.
  Footprint whole(const PlanNode& one, int64_t origin) const {
    const int64_t page = floor_div(origin, machine_.page_bytes) * machine_.page_bytes;
    const auto [at, is_new] = done_.try_emplace({&one, origin - page});
    if (is_new) at->second = node(one, one.kind == Kind::kLoop ? one.loop.count : 1, origin - page);
    Footprint found = at->second;
    found.begin += page;
    found.end += page;
    return found;
  }

 private:
  // A traversal of a child of a node whose children are moved one by one.
  Footprint piece(const PlanNode& node, size_t child, int64_t origin) const {
    constexpr double kPieceCycles = 6;
    Footprint found = whole(*node.children[child], origin);
    if (const SmallMoves* const small = node.pieces[child].get())
      found.cycles =
          kPieceCycles + static_cast<double>(small->moves(1)) * run_cycles(8, vector_bytes_);
    return found;
  }

  // Adds the footprint of `loop` over `child` to `all`, in which only cycles have been set.
  void take(Footprint& all, Footprint child, const Loop& loop) const {
    const LineCount lines =
        repeated({child.lines, child.begin, child.end}, loop, machine_.line_bytes);
    const LineCount pages =
        repeated({child.pages, child.begin, child.end}, loop, machine_.page_bytes);
    const auto n = static_cast<double>(loop.count);
    all.add(child, n);
    // Lines that several iterations share are new once.
    if (all.lines > lines.units) {
      const double kept = lines.units / all.lines;
      for (LineStream& stream : all.streams) stream.lines *= kept;
      all.again += all.lines - lines.units;
      all.lines = lines.units;
      all.crowd *= kept;
    }
    all.pages = pages.units;
    all.begin = lines.begin;
    all.end = lines.end;
  }

  Footprint swept(const Step& step, int64_t iterations, int64_t origin) const {
    std::vector<Loop> loops = step.around;  // outermost first
    loops.push_back(step.outer);
    loops.push_back(step.inner);
    if (step.open_loop == Step::OpenLoop::kAround) loops.front().count = iterations;
    if (step.open_loop == Step::OpenLoop::kOuter) loops[loops.size() - 2].count = iterations;
    if (step.open_loop == Step::OpenLoop::kInner) loops.back().count = iterations;
    const Loop outer = loops[loops.size() - 2];
    const Loop inner = loops.back();
    double calls = 1;
    for (size_t i = 0; i + 2 < loops.size(); ++i) calls *= static_cast<double>(loops[i].count);
    const double rows = calls * static_cast<double>(outer.count);
    if (step.goes_around()) calls /= static_cast<double>(loops[loops.size() - 3].count);
    std::erase_if(loops, [](const Loop& loop) { return loop.count <= 1; });
    std::reverse(loops.begin(), loops.end());
    if (step.shape == Shape::kList) return listed(step, loops, calls, rows, origin);

    // A record counts as one run.
    const int64_t width = step.shape == Shape::kRecord ? step.record->span : step.width;
    const int64_t offset = origin + (step.shape == Shape::kRecord ? first_byte(*step.record) : 0);
    Footprint all;
    const LineCount lines = nest_line_count(width, loops, offset, machine_.line_bytes);
    const LineCount pages = nest_line_count(width, loops, offset, machine_.page_bytes);
    all.lines = lines.units;
    all.pages = pages.units;
    all.begin = lines.begin;
    all.end = lines.end;
    all.crowd = all.lines / set_share(width, loops, machine_);
    const double runs = rows * static_cast<double>(inner.count);
    all.cycles = calls * kCallCycles + rows * kRowCycles;
    if (step.shape == Shape::kTranspose) {
      all.cycles += runs * transpose_cycles(step.width, vector_bytes_);
      // Tiles: row after row, a page of columns wide.
      const int64_t piece = std::min(step.pack_call.tile_columns, outer.count) * step.width;
      add_streams(all, piece, std::abs(inner.mem_stride));
      // Without non-temporal stores the kernel takes strips of two lines, down all rows.
      const double bytes = runs * static_cast<double>(step.width);
      if (bytes < static_cast<double>(machine_.stream_transpose_bytes)) {
        const int64_t strip = 2 * std::max(machine_.line_bytes, step.width);
        const double strips =
            std::ceil(static_cast<double>(outer.count * step.width) / static_cast<double>(strip));
        all.turns = std::max(all.turns, strips * all.pages);
      }
      return all;
    }
    all.cycles += runs * (step.shape == Shape::kRecord
                              ? element_cycles(*step.record, inner.count, is_pack_, vector_bytes_)
                              : run_cycles(step.width, vector_bytes_));
    add_streams(all, width,
                loops.empty() ? machine_.line_bytes : std::abs(loops.front().mem_stride));
    return all;
  }

  static int64_t first_byte(const Record& fields) {
    int64_t first = fields.runs[0].mem_offset;
    for (const RecordRun& field : fields.runs) first = std::min(first, field.mem_offset);
    return first;
  }

  // The first line of each run comes at the loop's stride, the run's other lines are adjacent.
  void add_streams(Footprint& all, int64_t width, int64_t stride) const {
    const int64_t line = machine_.line_bytes;
    const double in_run = std::max(1.0, static_cast<double>(width) / static_cast<double>(line));
    if (stride < 2 * line || stride < width + line) {
      all.streams.push_back({all.lines, line});
      all.turns = all.pages;
    } else {
      all.streams.push_back({all.lines / in_run, stride});
      all.turns =
          std::min(1.0, static_cast<double>(stride) / static_cast<double>(machine_.page_bytes)) *
          all.lines / in_run;
      all.streams.push_back({all.lines - all.lines / in_run, line});
    }
  }

  Footprint listed(const Step& step, const std::vector<Loop>& loops, double calls, double rows,
                   int64_t origin) const {
    const LayoutNode& list = *step.list;
    Footprint one = entries(step, list, origin);
    Footprint all;
    Loop loop{1, 0, 0};
    if (!loops.empty()) loop = loops.front();
    loop.count = static_cast<int64_t>(rows);
    take(all, std::move(one), loop);
    all.cycles += calls * kCallCycles + rows * kRowCycles;
    return all;
  }

  Footprint entries(const Step& step, const LayoutNode& list, int64_t origin) const {
    const int64_t line = machine_.line_bytes;
    const int64_t page = machine_.page_bytes;
    const auto n = static_cast<int64_t>(list.mem_offsets.size());
    Footprint all;
    all.begin = origin + *std::min_element(list.mem_offsets.begin(), list.mem_offsets.end());
    all.end = all.begin;
    for (int64_t i = 0; i < n; ++i)
      all.end =
          std::max(all.end, origin + list.mem_offsets[static_cast<size_t>(i)] + bytes_of(step, i));
    const int64_t first_line = floor_div(all.begin, line);
    const int64_t first_page = floor_div(all.begin, page);
    Seen lines(floor_div(all.end, line) - first_line + 1, n);
    Seen pages(floor_div(all.end, page) - first_page + 1, n);
    double changes = 0;
    struct Near {  // lines up to a page after the one before
      double lines = 0;
      double way = 0;  // sum of the distances, in lines
    };
    Near regular;  // at the same distance as the one before
    Near irregular;
    int64_t near_bytes = 0;
    double far = 0;
    double beside = 0;
    int64_t last = first_line - 2 * page;
    int64_t last_page = first_page - 1;
    int64_t before = all.begin;  // where the last entry is
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = origin + list.mem_offsets[static_cast<size_t>(i)];
      const int64_t bytes = bytes_of(step, i);
      const int64_t begin = floor_div(at, line);
      const int64_t end = floor_div(at + bytes - 1, line);
      all.cycles += run_cycles(bytes, vector_bytes_) + kEntryCycles;
      if (i > 0 && length_kind(bytes) != length_kind(bytes_of(step, i - 1))) changes += 1;
      for (int64_t k = begin; k <= end; ++k) {
        if (k == last) continue;
        if (!lines.is_first(k - first_line)) {
          all.again += 1;
        } else if (k == begin && (k < last || (k - last) * line >= page)) {
          far += 1;
        } else if (k - last == 1) {
          beside += 1;
        } else {
          const int64_t ahead = at - before;
          Near& kind = ahead == near_bytes ? regular : irregular;
          kind.lines += 1;
          kind.way += static_cast<double>(k - last);
          near_bytes = ahead;
        }
        last = k;
      }
      for (int64_t k = floor_div(at, page); k <= floor_div(at + bytes - 1, page); ++k)
        if (pages.is_first(k - first_page)) all.pages += 1;
      if (floor_div(at, page) != last_page) all.turns += 1;
      last_page = floor_div(at + bytes - 1, page);
      before = at;
    }
    if (step.places != nullptr) {
      // Loads of 32-bit offsets overlap with the moves, so an entry costs no cycles of its own.
      all.cycles = static_cast<double>(step.places->size()) * run_cycles(step.width, vector_bytes_);
    } else if (!list.packed_offsets.empty()) {
      all.cycles += static_cast<double>(n) * kUnequalCycles;
      if (n > kEntriesByHeart) all.cycles += changes * kWrongGuessCycles;
    }
    all.lines = regular.lines + irregular.lines + far + beside;
    all.crowd = all.lines;
    all.pages = std::min(all.pages, all.lines);
    all.streams.push_back({beside, line});
    const auto add = [&](const Near& near, bool is_irregular) {
      if (near.lines == 0) return;
      const double stride = near.way / near.lines * static_cast<double>(line);
      all.streams.push_back({near.lines, static_cast<int64_t>(stride), is_irregular});
    };
    add(regular, false);
    add(irregular, true);
    if (far > 0) all.streams.push_back({far, 0});
    return all;
  }

  // Length of run i of the layout, which may be moved in several units.
  static int64_t bytes_of(const Step& step, int64_t i) {
    const std::vector<int64_t>& packed = step.list->packed_offsets;
    if (packed.empty()) return step.width;
    return packed[static_cast<size_t>(i) + 1] - packed[static_cast<size_t>(i)];
  }

  const Machine& machine_;
  bool is_pack_;
  int64_t vector_bytes_;
  mutable std::map<std::pair<const PlanNode*, int64_t>, Footprint> done_;
};

}  // namespace

void Footprint::add(const Footprint& other, double times) {
  cycles += times * other.cycles;
  for (const LineStream& stream : other.streams) {
    const auto same = std::find_if(streams.begin(), streams.end(), [&](const LineStream& mine) {
      return mine.stride == stream.stride && mine.irregular == stream.irregular;
    });
    if (same == streams.end()) {
      streams.push_back({times * stream.lines, stream.stride, stream.irregular});
    } else {
      same->lines += times * stream.lines;
    }
  }
  const bool is_first = lines == 0;
  lines += times * other.lines;
  again += times * other.again;
  pages += times * other.pages;
  crowd += times * other.crowd;
  turns += times * other.turns;
  begin = is_first ? other.begin : std::min(begin, other.begin);
  end = is_first ? other.end : std::max(end, other.end);
}

Footprint dense_footprint(int64_t bytes, const Machine& machine) {
  Footprint all;
  const int64_t line = machine.line_bytes;
  all.end = bytes;
  all.lines = all.crowd = static_cast<double>((bytes + line - 1) / line);
  all.pages = static_cast<double>((bytes + machine.page_bytes - 1) / machine.page_bytes);
  all.streams.push_back({all.lines, line});
  all.cycles = memcpy_cycles(bytes);
  return all;
}

Footprint footprint_of(const Plan& plan, int64_t count, Direction direction) {
  if (count <= 0 || plan.is_empty()) return {};
  const Machine& machine = plan.machine();
  if (plan.is_run(count)) {
    return dense_footprint(count * plan.size(), machine);
  }
  const Walk walk(machine, direction == Direction::kPack, vector_bytes(plan.kernels()));
  const PlanNode& root = plan.root(count);
  const int64_t iterations = plan.iterations(count);
  Footprint all = walk.node(root, iterations, plan.offset());
  if (count <= plan.small_moves().most_elements())
    all.cycles =
        static_cast<double>(plan.small_moves().moves(count)) * run_cycles(8, walk.vector());
  return all;
}

}  // namespace lacuna
