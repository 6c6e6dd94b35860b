// SPDX-License-Identifier: BSD-3-Clause
#include "plan/moves.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace lacuna {
namespace {

using How = Sweep::How;

Dim pack_dim(const Loop& loop) { return {loop.count, loop.mem_stride, loop.packed_stride}; }

Dim reversed(const Dim& dim) { return {dim.count, dim.dst_stride, dim.src_stride}; }

constexpr int64_t kPlaceBytes = 4096;  // of the first level's lines a page apart meet

// In how many places of the first level lines at that stride meet.
int64_t meeting_places(int64_t stride) {
  return kPlaceBytes / std::min(kPlaceBytes, stride & -stride);
}

// How often runs at that stride should be stored (Move::repeats), from how many runs of a piece on
// and below how many of the message.
void set_repeats(Sweep& sweep, const Machine& machine) {
  Move& unpack = sweep.unpack_move;
  constexpr int64_t kMostRepeats = 16;
  const int64_t stride = std::abs(sweep.inner.mem_stride);
  const int64_t line = machine.line_bytes;
  if (sweep.how != How::kStrided || machine.early_stores == 0 || stride < 8 * line) return;
  const bool is_lines = sweep.width % line == 0;
  if ((width_class(sweep.width) == Width::kAny && !is_lines) || stride % (8 * line) != 0) return;
  // Lines that take two stores each wait for those longer than for their places (Zen 4, 1024 of 64
  // at 4096, so often 1, 2 and 8: 3.2, 3.8 and 6.8 us, at 2048 1, 2 and 4: 2.05, 2.3 and 3.2).
  if (is_lines && machine.store_bytes < line) return;
  const int64_t places = meeting_places(stride);
  // A third of the ways, so that what is read and what others use have room. Lines stored whole are
  // not read: all of the ways (Zen 5, 64 at 1024, so often 1 to 4: 3.8, 1.2, 1.5 and 1.6 us). The
  // lines of one run have places of their own (256 at 4096, so often 1, 2 and 4: 2.0, 1.1, 1.1 us).
  const int64_t often = is_lines ? machine.early_stores / (places * (sweep.width / line))
                                 : (3 * machine.early_stores + places - 1) / places;
  unpack.repeats = std::clamp<int64_t>(often, 1, kMostRepeats);
  unpack.repeats_from = machine.l1_bytes / kPlaceBytes * places;
  // Out of memory lines stored whole so often take longer (64 at 4096, 8 MiB: 1.2 and 1.6 ms). So
  // do short runs there, as the queue then holds few of the lines that it could wait for: Zen 4,
  // two ranks at once, 65536 of 16 bytes at 2048 so often 1, 4 and 12 times 0.65, 0.93 and 1.4 ms;
  // of 8 0.62, 0.77 and 1.05.
  constexpr int64_t kFillsOfShortRuns = 2;  // of the second level: Zen 5, 16384 of 8 at 1024, gain
  sweep.repeats_below =
      is_lines ? machine.l2_bytes / sweep.width : kFillsOfShortRuns * machine.l2_bytes / line;
}

// By which moves runs of lines at that stride should go (Move::piece): the less room there is for
// their lines, the narrower.
void set_pieces(Sweep& sweep, const Machine& machine) {
  const int64_t stride = std::abs(sweep.inner.mem_stride);
  const int64_t line = machine.line_bytes;
  if (sweep.how != How::kStrided || !machine.narrow_moves_avoid_conflicts ||
      sweep.width % line != 0 || stride < 16 * line || stride % (16 * line) != 0)
    return;
  const int64_t room = meeting_places(stride) * sweep.width;
  if (room > 4 * line) return;
  const int64_t piece = room > line ? 16 : 8;
  sweep.pack_move.piece = room > 2 * line ? 0 : piece;
  sweep.pack_move.piece_off_lines = piece;
  sweep.unpack_move.piece = piece;
  sweep.unpack_move.piece_off_lines = room > 2 * line ? 16 : 8;
  sweep.most_in_pieces = machine.l2_bytes;
}

// What loads at that stride should wait for each other (Move::pace). Beyond the second level it
// gains little or loses: 32768 runs at 4096 0.9 to 0.97 times as long, at 1024 1.18.
void set_pace(const Sweep& sweep, const Machine& machine, Move& pack) {
  const int64_t stride = std::abs(sweep.inner.mem_stride);
  if (sweep.how != How::kStrided || machine.conflict_load_cycles == 0 ||
      stride < machine.line_bytes)
    return;
  pack.pace = std::max<int64_t>(1, machine.conflict_load_cycles / meeting_places(stride));
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
  // To places with gaps vectors of half a line are quicker than string instructions (Zen 4, hand-
  // written loop over either: 64 runs of 4 KiB off the line 1.05 and 0.80, cold 1.04 and 0.93, of 8
  // KiB out of the second level 1.0 and 0.94); packed from memory they are not (0.90 and 1.05).
  sweep.unpack_move.library_run = machine.fast_memcpy_scatter_bytes;
  // No stride is learned across pages; by halves whole lines have two instructions each. Loads of
  // lines that are in a cache do not wait for that (Zen 5, 64 at 4096, 64 KiB: 4.6 and 3.8 us, 512
  // KiB 52 and 41; 2 MiB 0.33 and 0.36 ms).
  if (is_line && std::abs(sweep.inner.mem_stride) > machine.page_bytes / 2) {
    m.one_by_one_runs = machine.l2_bytes / machine.line_bytes;
    sweep.unpack_move.one_by_one_runs = 0;
  }
  sweep.unpack_move.outer = reversed(m.outer);
  sweep.unpack_move.inner = reversed(m.inner);
  set_repeats(sweep, machine);
  set_pieces(sweep, machine);
  set_pace(sweep, machine, m);
  // A transpose's rows are the dimension whose elements are neighbours in the destination.
  if (sweep.how == How::kTranspose) std::swap(sweep.unpack_move.outer, sweep.unpack_move.inner);
}

}  // namespace lacuna
