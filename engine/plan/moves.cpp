// SPDX-License-Identifier: BSD-3-Clause
#include "plan/moves.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace lacuna {
namespace {

// What was timed for each hint: docs/experiments/2026-11-27-plan-thresholds.md.

using How = Sweep::How;

Dim pack_dim(const Loop& loop) { return {loop.count, loop.mem_stride, loop.packed_stride}; }

Dim reversed(const Dim& dim) { return {dim.count, dim.dst_stride, dim.src_stride}; }

constexpr int64_t kSetPeriodBytes = 4096;  // lines this far apart are in the same set of the L1

// Number of L1 sets that lines at this stride fall into.
int64_t l1_sets_of(int64_t stride) {
  return kSetPeriodBytes / std::min(kSetPeriodBytes, stride & -stride);
}

// Sets how often each run is stored (Move::repeats), from how many runs in a call on, and below how
// many in the message: the store queue then holds fewer lines of the same L1 set.
void set_repeats(Sweep& sweep, const Machine& machine) {
  Move& unpack = sweep.unpack_move;
  constexpr int64_t kMostRepeats = 16;
  const int64_t stride = std::abs(sweep.inner.mem_stride);
  const int64_t line = machine.line_bytes;
  if (sweep.how != How::kStrided || machine.early_stores == 0 || stride < 8 * line) return;
  const bool is_lines = sweep.width % line == 0;
  if ((width_class(sweep.width) == Width::kAny && !is_lines) || stride % (8 * line) != 0) return;
  // A line that takes two stores is not faster stored several times.
  if (is_lines && machine.store_bytes < line) return;
  const int64_t places = l1_sets_of(stride);
  // Short runs use a third of the ways; the rest is for what is read and for other data. Lines
  // stored whole are not read and use all ways; the lines of one run lie in different sets.
  const int64_t often = is_lines ? machine.early_stores / (places * (sweep.width / line))
                                 : (3 * machine.early_stores + places - 1) / places;
  unpack.repeats = std::clamp<int64_t>(often, 1, kMostRepeats);
  unpack.repeats_from = machine.l1_bytes / kSetPeriodBytes * places;
  // Not for messages whose lines exceed the L2: there the queue should hold many different lines.
  constexpr int64_t kFillsOfShortRuns = 2;  // how many times their lines may fill the L2
  sweep.repeats_below =
      is_lines ? machine.l2_bytes / sweep.width : kFillsOfShortRuns * machine.l2_bytes / line;
}

// Sets narrow moves for runs of whole lines (Move::piece): the fewer L1 sets their lines fall into,
// the narrower.
void set_pieces(Sweep& sweep, const Machine& machine) {
  const int64_t stride = std::abs(sweep.inner.mem_stride);
  const int64_t line = machine.line_bytes;
  if (sweep.how != How::kStrided || !machine.narrow_moves_avoid_conflicts ||
      sweep.width % line != 0 || stride < 16 * line || stride % (16 * line) != 0)
    return;
  const int64_t room = l1_sets_of(stride) * sweep.width;
  if (room > 4 * line) return;
  const int64_t piece = room > line ? 16 : 8;
  sweep.pack_move.piece = room > 2 * line ? 0 : piece;
  sweep.pack_move.piece_off_lines = piece;
  sweep.unpack_move.piece = piece;
  sweep.unpack_move.piece_off_lines = room > 2 * line ? 16 : 8;
  sweep.most_in_pieces = machine.l2_bytes;
}

// Sets the cycles between loads at strides that cause conflict misses (Move::pace). Beyond the L2
// it gains little or loses.
void set_pace(const Sweep& sweep, const Machine& machine, Move& pack) {
  const int64_t stride = std::abs(sweep.inner.mem_stride);
  if (sweep.how != How::kStrided || machine.conflict_load_cycles == 0 ||
      stride < machine.line_bytes)
    return;
  pack.pace = std::max<int64_t>(1, machine.conflict_load_cycles / l1_sets_of(stride));
  pack.paced_most = machine.l2_bytes / machine.line_bytes;
}

}  // namespace

void prepare_moves(Sweep& sweep, const KernelTable& kernels, const Machine& machine) {
  Move& m = sweep.pack_move;
  m.width = sweep.width;
  m.outer = pack_dim(sweep.outer);
  m.inner = pack_dim(sweep.inner);
  if (sweep.list != nullptr) {
    m.inner = {static_cast<int64_t>(sweep.list->mem_offsets.size()), 0, 0};
    m.offsets = sweep.list->mem_offsets.data();
    if (!sweep.list->packed_offsets.empty()) m.packed_offsets = sweep.list->packed_offsets.data();
    if (sweep.places != nullptr) {
      m.inner.count = static_cast<int64_t>(sweep.places->size());
      m.places = sweep.places->data();
    }
  }
  m.fields = sweep.fields.get();
  m.ahead_bytes = sweep.ahead_bytes;
  m.ahead_second = sweep.ahead_second;
  m.ahead_in_order = sweep.ahead_in_order;
  m.asks_always = !machine.hides_l2_misses;
  m.library_run = machine.fast_memcpy_bytes;
  const bool is_learned = sweep.width >= machine.learned_run_least_bytes &&
                          sweep.inner.mem_stride % machine.learned_stride_bytes == 0;
  m.one_by_one = is_learned ? machine.learned_run_bytes : 0;
  m.masks = moves_by_masks(kernels, machine);
  m.half_lines = machine.vector_bytes < machine.line_bytes;
  m.tile_rows = sweep.tile_rows;
  m.tile_cols = sweep.tile_cols;
  const bool is_line = sweep.width == machine.line_bytes;
  if (!is_line) m.one_by_one_runs = machine.learned_lines;
  sweep.unpack_move = m;
  // Where memory has gaps, memcpy may be slower than vectors when it writes, not when it reads.
  sweep.unpack_move.library_run = machine.fast_memcpy_scatter_bytes;
  // The stride prefetcher does not cross pages, so for large strides one load instruction has no
  // advantage when unpacking. Packing lines that are in a cache gains by one whole-line load each.
  if (is_line && std::abs(sweep.inner.mem_stride) > machine.page_bytes / 2) {
    m.one_by_one_runs = machine.l2_bytes / machine.line_bytes;
    sweep.unpack_move.one_by_one_runs = 0;
  }
  sweep.unpack_move.outer = reversed(m.outer);
  sweep.unpack_move.inner = reversed(m.inner);
  set_repeats(sweep, machine);
  set_pieces(sweep, machine);
  set_pace(sweep, machine, m);
  // The inner dimension of a transpose is the one that is dense in the destination.
  if (sweep.how == How::kTranspose) std::swap(sweep.unpack_move.outer, sweep.unpack_move.inner);
}

}  // namespace lacuna
