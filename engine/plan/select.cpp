// SPDX-License-Identifier: BSD-3-Clause
//
// Chooses, for a loop or list of a plan, the kernel, the order of the loops and the block sizes.
// The first model is that of Byna, Gropp, Sun & Thakur 2003: section 5.2 decides whether blocking
// can help (pages against TLB entries), section 5.3 how large a block may be (half the TLB),
// section 5.4 which packing function serves the pattern.
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "plan/ahead.hpp"
#include "plan/moves.hpp"
#include "plan/plan.hpp"
#include "plan/worthwhile.hpp"

namespace lacuna {
namespace {

using Kind = LayoutNode::Kind;
using How = Sweep::How;

// Loops directly inside each other, outermost first, and what they repeat.
struct Nest {
  std::vector<Loop> loops;
  const PlanNode* leaf = nullptr;
};

Nest unfold(const PlanNode& node) {
  Nest nest;
  const PlanNode* at = &node;
  while (at->kind == Kind::kLoop) {
    nest.loops.push_back(at->loop);
    at = at->children[0].get();
  }
  nest.leaf = at;
  return nest;
}

// Byna 2003, section 5.2: pages that n blocks of `width` bytes touch, `stride` bytes apart.
int64_t pages_touched(int64_t n, int64_t width, int64_t stride, int64_t page) {
  stride = std::abs(stride);
  if (stride == 0) return 1;
  if (page >= stride) return n / (page / stride) + 1;
  return n * ((width + page - 1) / page);
}

std::string text(int64_t value) { return std::to_string(value); }

void set_kernels(Sweep& sweep, const KernelTable& kernels, const Machine& machine, Shape pack,
                 Shape unpack) {
  sweep.pack = find_kernel(kernels, pack, sweep.width, machine.fast_gathers);
  sweep.unpack = find_kernel(kernels, unpack, sweep.width);
}

// Makes loops[index] the kernel's outer dimension. The node's own loop is loops[0].
void place_outer(Sweep& sweep, Nest& nest, size_t index) {
  sweep.outer = nest.loops[index];
  nest.loops.erase(nest.loops.begin() + static_cast<ptrdiff_t>(index));
  if (index == 0) sweep.own = Sweep::Own::kOuter;
}

void place_rest(Sweep& sweep, Nest& nest) {
  sweep.around = std::move(nest.loops);
  if (sweep.own == Sweep::Own::kNone) sweep.own = Sweep::Own::kAround;
}

// What one traversal of the innermost loop touches, and how many of its iterations stay in the TLB
// and the L1 until the next traversal uses the same lines again; 0: all (Byna 2003, section 5.3).
struct Footprint {
  int64_t pages;
  int64_t lines;
  int64_t cached_iterations;
};

Footprint footprint_of(const Loop& inner, int64_t width, const Machine& machine) {
  const int64_t pages = pages_touched(inner.count, width, inner.mem_stride, machine.page_bytes);
  const int64_t lines = inner.count * std::max<int64_t>(1, width / machine.line_bytes);
  const int64_t cached_lines = machine.l1_bytes / machine.line_bytes / 2;
  if (pages < machine.tlb_entries && lines <= cached_lines) return {pages, lines, 0};
  const int64_t per_page =
      std::max<int64_t>(1, machine.page_bytes / std::max<int64_t>(1, std::abs(inner.mem_stride)));
  return {pages, lines,
          std::max<int64_t>(8, std::min(machine.tlb_entries / 2 * per_page, cached_lines))};
}

// Whether columns of `inner` may be gathered in a buffer (transpose_any.inl.hpp).
bool can_gather(int64_t width, const Loop& inner, const KernelTable& kernels,
                const Machine& machine) {
  constexpr int64_t kLeastLines = 2;
  const int tiles = static_cast<int>(Shape::kTranspose);
  return kernels.fn[tiles][static_cast<int>(Width::k8)] != nullptr && width <= machine.line_bytes &&
         inner.count * width >= kLeastLines * machine.line_bytes;
}

// The sentence for explain. Not inlined: building strings takes much stack.
[[gnu::noinline]] std::string why_transpose(const Sweep& sweep, int64_t pages, bool is_gathered,
                                            const Machine& machine) {
  const std::string rows =
      sweep.tile_rows == 0 || sweep.tile_rows >= sweep.inner.count ? "all" : text(sweep.tile_rows);
  return "columns are neighbours in memory (stride = width = " + text(sweep.width) +
         "): tiles read and write whole lines; a column touches " + text(pages) +
         " pages, the TLB has " + text(machine.tlb_entries) + " entries; " +
         (is_gathered ? "strips of columns are gathered in a buffer, or loops of runs move " +
                            rows + " rows at a time"
                      : "a tile is " + rows + " rows by one page of columns") +
         "; outputs of at least " + text(machine.stream_transpose_bytes) +
         " bytes use non-temporal stores";
}

// A loop over neighbours in memory, outside a loop with a stride, is a transpose. If both are
// tiled, whole lines are read and written once.
bool select_transpose(Sweep& sweep, Nest& nest, const KernelTable& kernels,
                      const Machine& machine) {
  const Loop& inner = nest.loops.back();
  const bool is_gathered = width_class(sweep.width) == Width::kAny;  // no register tile
  if (is_gathered && !can_gather(sweep.width, inner, kernels, machine)) return false;
  for (size_t i = 0; i + 1 < nest.loops.size(); ++i) {
    // The own loop's count may change at run time; the kernel accepts small ones.
    const bool own_count_open = i == 0;
    if (nest.loops[i].mem_stride != sweep.width || (!own_count_open && nest.loops[i].count < 4))
      continue;
    sweep.how = How::kTranspose;
    sweep.inner = inner;
    const Footprint touched = footprint_of(inner, sweep.width, machine);
    const Tiles tiles = transpose_tiles(sweep.width, machine);
    sweep.tile_rows = is_gathered ? touched.cached_iterations : tiles.rows;
    sweep.tile_cols = tiles.columns;
    sweep.four_lines_bytes = tiles.four_lines_bytes;
    sweep.diagonals_bytes = tiles.diagonals_bytes;
    if (is_gathered) set_ahead(sweep, sweep.width, kernels, machine);
    sweep.why = why_transpose(sweep, touched.pages, is_gathered, machine);
    nest.loops.pop_back();
    place_outer(sweep, nest, i);
    place_rest(sweep, nest);
    set_kernels(sweep, kernels, machine, Shape::kTranspose, Shape::kTranspose);
    return true;
  }
  return false;
}

void select_strided(Sweep& sweep, Nest& nest, const KernelTable& kernels, const Machine& machine) {
  sweep.how = How::kStrided;
  sweep.inner = nest.loops.back();
  nest.loops.pop_back();
  if (nest.loops.empty()) {
    sweep.own = Sweep::Own::kInner;
    sweep.why = "one loop of runs";
  } else {
    // Iterations of the loop with the least stride may share lines with each other.
    size_t closest = nest.loops.size() - 1;
    for (size_t i = 0; i < nest.loops.size(); ++i) {
      if (std::abs(nest.loops[i].mem_stride) < std::abs(nest.loops[closest].mem_stride))
        closest = i;
    }
    const bool shares_lines = std::abs(nest.loops[closest].mem_stride) < machine.line_bytes;
    const size_t outer = shares_lines ? closest : nest.loops.size() - 1;
    const Footprint touched = footprint_of(sweep.inner, sweep.width, machine);
    if (shares_lines) sweep.block_inner = touched.cached_iterations;
    if (sweep.block_inner > 0) {
      sweep.why = "neighbouring iterations share cache lines, and the inner loop touches " +
                  text(touched.pages) + " pages (TLB " + text(machine.tlb_entries) + ") and " +
                  text(touched.lines) + " lines: the loops are blocked by " +
                  text(sweep.block_inner) + " inner iterations";
    } else if (shares_lines) {
      sweep.why = "the inner loop's " + text(touched.pages) + " pages and " + text(touched.lines) +
                  " lines stay in the TLB and the cache";
    } else {
      sweep.why = "iterations share no cache line: the loop order is kept";
    }
    place_outer(sweep, nest, outer);
    place_rest(sweep, nest);
  }
  set_ahead(sweep, sweep.width, kernels, machine);
  set_kernels(sweep, kernels, machine, Shape::kStrided, Shape::kStrided);
}

// The runs of one iteration of loops[first], in packed order; false if they are too many.
bool runs_of(const Nest& nest, size_t first, std::vector<Field>& runs) {
  constexpr int64_t kMostFields = 32;
  const PlanNode& leaf = *nest.leaf;
  int64_t entries =
      leaf.kind == Kind::kRun ? 1 : static_cast<int64_t>(leaf.layout->mem_offsets.size());
  for (size_t i = first + 1; i < nest.loops.size(); ++i) {
    if (nest.loops[i].count > kMostFields / entries) return false;
    entries *= nest.loops[i].count;
  }
  if (entries > kMostFields) return false;
  const LayoutNode& layout = *leaf.layout;
  if (leaf.kind == Kind::kRun) {
    runs = {{0, leaf.size}};
  } else {
    for (size_t i = 0; i < layout.mem_offsets.size(); ++i) {
      const int64_t bytes = leaf.kind == Kind::kBlocks
                                ? leaf.children[0]->size
                                : layout.packed_offsets[i + 1] - layout.packed_offsets[i];
      runs.push_back({layout.mem_offsets[i], bytes});
    }
  }
  for (size_t i = nest.loops.size(); i-- > first + 1;) {
    const size_t n = runs.size();
    for (int64_t k = 1; k < nest.loops[i].count; ++k) {
      for (size_t j = 0; j < n; ++j)
        runs.push_back({runs[j].mem_offset + k * nest.loops[i].mem_stride, runs[j].bytes});
    }
  }
  return true;
}

// The sentence for explain. `in_row`: records in a row of the kernel.
[[gnu::noinline]] std::string why_fields(const Fields& found, int64_t in_row) {
  const bool single = found.fields.size() == 1;
  const auto way = [&](const FieldTable& table, bool is_permuted, const std::string& by_table) {
    const bool has_moves = found.moves.pack != nullptr;
    const std::string otherwise =
        !table.steps.empty()     ? by_table
        : found.words != nullptr ? std::string(has_moves ? "words" : "words, element by element")
        : goes_by_list(found, in_row) ? "a list of words, four elements at a time"
        : single                      ? "a loop of runs"
                                      : "a pass per field";
    if (!is_permuted && (!has_moves || !table.steps.empty())) return otherwise;
    const bool is_all = table.steps.empty() && found.words == nullptr;
    return "one permute for each element" + (is_all ? "" : ", beyond the L1 by " + otherwise);
  };
  return (single ? "runs of " + text(found.size) + " bytes at a stride of "
                 : "elements of " + text(static_cast<int64_t>(found.fields.size())) + " fields, " +
                       text(found.size) + " bytes in ") +
         text(found.extent) + ": packed by " +
         way(found.gather, found.gather_permuted,
             (found.gather.shuffles ? "shuffles, each vector from " : "vectors, each from ") +
                 text(found.gather.steps_per_store) + " loads") +
         ", unpacked by " + way(found.scatter, found.scatter_permuted, "masked vector stores");
}

// Records of a few small runs: moved by vector tables where these are faster, else run by run. A
// record is an iteration of the innermost loop, or of an outer one whose inner loops are short.
bool select_fields(Sweep& sweep, Nest& nest, const KernelTable& kernels, const Machine& machine) {
  constexpr int64_t kShortLoop = 16;
  constexpr int64_t kMostSize = 1024;
  // Iterations of the innermost loop over a list, above which the loop is not part of the record.
  constexpr int64_t kShortListedRow = 3;
  if (nest.loops.empty()) return false;
  size_t at = nest.loops.size() - 1;
  // The loop of a repeat root has count 1 here; its real count is not known.
  const auto is_long = [](const Loop& loop) { return loop.count >= 4 || loop.count == 1; };
  for (size_t i = at; i > 0 && nest.loops[i].count < kShortLoop; --i) {
    if (is_long(nest.loops[i - 1])) at = i - 1;
  }
  FieldsPtr found;
  for (; at < nest.loops.size(); ++at) {
    std::vector<Field> runs;
    const bool is_list = nest.leaf->kind != Kind::kRun;
    if (at + 1 < nest.loops.size() &&
        (!is_long(nest.loops[at]) || (is_list && nest.loops.back().count > kShortListedRow)))
      continue;
    if (!runs_of(nest, at, runs)) continue;
    int64_t size = 0;
    for (const Field& run : runs) size += run.bytes;
    if (size > kMostSize) continue;
    const bool listed = is_list && at + 1 == nest.loops.size();
    const int64_t row = at + 1 < nest.loops.size() ? nest.loops.back().count : 1;
    found = worthwhile_fields(std::move(runs), nest.loops[at].mem_stride, listed, row, kernels,
                              machine);
    // A row that is too short for both tables stays a loop of runs.
    if (found != nullptr && found->fields.size() == 1 && nest.loops[at].count > 1 && at > 0 &&
        nest.loops[at].count < found->gather.least && nest.loops[at].count < found->scatter.least)
      found = nullptr;
    if (found != nullptr) break;
  }
  if (found == nullptr) return false;
  sweep.how = How::kFields;
  sweep.fields = found;
  sweep.width = found->size;
  nest.loops.resize(at + 1);
  sweep.inner = nest.loops.back();
  nest.loops.pop_back();
  if (nest.loops.empty()) {
    sweep.own = Sweep::Own::kInner;
  } else {
    place_outer(sweep, nest, nest.loops.size() - 1);
    place_rest(sweep, nest);
  }
  // A single run that no table serves is a plain loop of runs.
  const bool single = found->fields.size() == 1;
  const int64_t in_row = sweep.own == Sweep::Own::kInner ? INT64_MAX : sweep.inner.count;
  sweep.why = why_fields(*found, in_row);
  set_ahead(sweep, found->span, kernels, machine);
  set_kernels(sweep, kernels, machine,
              single && found->gather.steps.empty() ? Shape::kStrided : Shape::kGatherFields,
              single && found->scatter.steps.empty() ? Shape::kStrided : Shape::kScatterFields);
  return true;
}

// The list as equal runs with 32-bit offsets. Runs of unequal lengths are cut into their greatest
// common length, unless the pieces are too many: a varying length costs mispredicted branches.
void find_places(Sweep& sweep, const LayoutNode& list) {
  constexpr int64_t kMostUnits = 8;
  const size_t runs = list.mem_offsets.size();
  const bool equal = list.kind == Kind::kBlocks;
  int64_t unit = equal ? list.children[0]->size : 0;
  for (size_t i = 0; !equal && i < runs; ++i)
    unit = std::gcd(unit, list.packed_offsets[i + 1] - list.packed_offsets[i]);
  const bool has_moves = width_class(unit) != Width::kAny || unit >= 12;
  if (!equal && (!has_moves || list.size / unit > kMostUnits * static_cast<int64_t>(runs))) return;
  auto places = std::make_shared<std::vector<int32_t>>();
  places->reserve(static_cast<size_t>(list.size / unit));
  for (size_t i = 0; i < runs; ++i) {
    const int64_t bytes = equal ? unit : list.packed_offsets[i + 1] - list.packed_offsets[i];
    for (int64_t at = list.mem_offsets[i]; bytes > at - list.mem_offsets[i]; at += unit) {
      if (at != static_cast<int32_t>(at)) return;
      places->push_back(static_cast<int32_t>(at));
    }
  }
  sweep.places = std::move(places);
  sweep.width = unit;
}

void select_listed(Sweep& sweep, Nest& nest, const KernelTable& kernels, const Machine& machine) {
  sweep.how = How::kListed;
  const LayoutNode& list = *nest.leaf->layout;
  sweep.list = &list;
  sweep.width = list.kind == Kind::kBlocks ? list.children[0]->size : 0;
  if (!nest.loops.empty() && nest.leaf->sweep.list != nullptr) {  // found for the leaf's own sweep
    sweep.places = nest.leaf->sweep.places;
    sweep.width = nest.leaf->sweep.width;
  } else {
    find_places(sweep, list);
  }
  sweep.why = list.kind == Kind::kBlocks ? "a list of equal runs"
              : sweep.places != nullptr
                  ? "a list of runs of unequal lengths, cut into " +
                        text(static_cast<int64_t>(sweep.places->size())) + " runs of " +
                        text(sweep.width) + " bytes: avoids branch mispredictions on the length"
                  : "a list of runs of unequal lengths";
  const bool equal_runs = list.kind == Kind::kBlocks || sweep.places != nullptr;
  if (equal_runs) {
    set_listed_ahead(sweep, kernels, machine);
  } else {
    set_unequal_ahead(sweep, machine);
  }
  const Shape pack = equal_runs ? Shape::kGather : Shape::kGatherRuns;
  const Shape unpack = equal_runs ? Shape::kScatter : Shape::kScatterRuns;
  if (!nest.loops.empty()) {
    sweep.why += ", repeated by the loop around it";
    place_outer(sweep, nest, nest.loops.size() - 1);
    place_rest(sweep, nest);
  }
  set_kernels(sweep, kernels, machine, pack, unpack);
}

}  // namespace

Tiles transpose_tiles(int64_t width, const Machine& machine) {
  const int64_t line = std::max<int64_t>(1, machine.line_bytes / width);
  const int64_t most = std::min<int64_t>(machine.tlb_entries / 2, 256 / width);
  const int64_t rows = machine.tile_rows > 0 ? machine.tile_rows : most;
  // Messages of up to 1024^2 elements where four_lines_bytes is 16 MiB.
  const bool has_diagonals = machine.conflicts_stall_tiles && (width == 4 || width == 8);
  return {std::max(line, rows / line * line), std::max(line, machine.page_bytes / width),
          width <= 4 ? machine.four_lines_narrow_bytes : machine.four_lines_bytes / 16 * width,
          has_diagonals ? machine.four_lines_bytes / 16 * width : 0};
}

void select_sweep(PlanNode& node, const KernelTable& kernels, const Machine& machine) {
  Sweep& sweep = node.sweep;
  Nest nest = unfold(node);
  const PlanNode& leaf = *nest.leaf;
  if (leaf.kind == Kind::kRun) {
    sweep.width = leaf.size;
    if (nest.loops.empty()) {
      sweep.how = How::kStrided;
      sweep.why = "one run";
      set_kernels(sweep, kernels, machine, Shape::kStrided, Shape::kStrided);
    } else if (!select_transpose(sweep, nest, kernels, machine) &&
               !select_fields(sweep, nest, kernels, machine)) {
      select_strided(sweep, nest, kernels, machine);
    }
  } else if ((leaf.kind == Kind::kRuns ||
              (leaf.kind == Kind::kBlocks && leaf.children[0]->kind == Kind::kRun)) &&
             select_fields(sweep, nest, kernels, machine)) {
    // done
  } else if (leaf.kind == Kind::kBlocks && leaf.children[0]->kind == Kind::kRun) {
    select_listed(sweep, nest, kernels, machine);
  } else if (leaf.kind == Kind::kRuns) {
    select_listed(sweep, nest, kernels, machine);
  } else {
    sweep.why = "parts of different shapes, each moved by its own kernel";
  }
  prepare_moves(sweep, kernels, machine);
}

}  // namespace lacuna
