// SPDX-License-Identifier: BSD-3-Clause
//
// Runs at a stride: the order of the loops, and which loop moves the runs of a message. What was
// timed for each rule: docs/experiments/2026-11-27-plan-thresholds.md and
// 2026-11-26-kernel-choices.md.
#include <algorithm>
#include <cstdlib>

#include "plan/strategy/prefetch.hpp"
#include "plan/strategy/strategy.hpp"

namespace lacuna::strategy {
namespace {

constexpr int64_t kNearMessage = 16384;    // it and its destination fit into the L1
constexpr int64_t kNearRuns = 512;         // so many runs and their lines fit into any L1
constexpr int64_t kLongRow = 16;           // runs; shorter rows do not pay for preparing a loop
constexpr int64_t kPrefetchedRun = 1024;   // packing prefetches the next run from this size on
constexpr int64_t kSetPeriodBytes = 4096;  // lines this far apart are in the same set of the L1

// Number of L1 sets that lines at this stride fall into.
int64_t l1_sets_of(int64_t stride) {
  return kSetPeriodBytes / std::min(kSetPeriodBytes, stride & -stride);
}

// How often each run is stored, unpacking: the store queue then holds fewer lines of the same L1
// set.
struct Repeats {
  int64_t stores = 1;
  int64_t from_runs = 0;   // in a call
  int64_t below_runs = 0;  // in the message
};

Repeats repeats_of(const Step& step, const Machine& machine) {
  constexpr int64_t kMostStores = 16;
  const int64_t stride = std::abs(step.inner.mem_stride);
  const int64_t line = machine.line_bytes;
  if (machine.early_stores == 0 || stride < 8 * line) return {};
  const bool is_lines = step.width % line == 0;
  if ((width_class(step.width) == Width::kAny && !is_lines) || stride % (8 * line) != 0) return {};
  // A line that takes two stores is not faster stored several times.
  if (is_lines && machine.store_bytes < line) return {};
  const int64_t sets = l1_sets_of(stride);
  // Short runs use a third of the ways; the rest is for what is read and for other data. Lines
  // stored whole are not read and use all ways; the lines of one run lie in different sets.
  const int64_t often = is_lines ? machine.early_stores / (sets * (step.width / line))
                                 : (3 * machine.early_stores + sets - 1) / sets;
  // Not for messages whose lines exceed the L2: there the queue should hold many different lines.
  constexpr int64_t kFillsOfShortRuns = 2;  // how many times their lines may fill the L2
  return {std::clamp<int64_t>(often, 1, kMostStores), machine.l1_bytes / kSetPeriodBytes * sets,
          is_lines ? machine.l2_bytes / step.width : kFillsOfShortRuns * machine.l2_bytes / line};
}

// Narrow moves for runs of whole lines: the fewer L1 sets their lines fall into, the narrower.
// False: no narrow moves.
bool narrow_moves(const Step& step, Direction way, const Machine& machine, MoveWidth* move) {
  const int64_t stride = std::abs(step.inner.mem_stride);
  const int64_t line = machine.line_bytes;
  if (!machine.narrow_moves_avoid_conflicts || step.width % line != 0 || stride < 16 * line ||
      stride % (16 * line) != 0)
    return false;
  const int64_t room = l1_sets_of(stride) * step.width;
  if (room > 4 * line) return false;
  const uint8_t piece = room > line ? 16 : 8;
  const bool is_roomy = room > 2 * line;
  *move = way == Direction::kPack ? MoveWidth{is_roomy ? uint8_t{64} : piece, piece}
                                  : MoveWidth{piece, is_roomy ? uint8_t{16} : uint8_t{8}};
  return true;
}

// Cycles between loads at strides that cause conflict misses; 1: as soon as possible. Beyond the L2
// it gains little or loses.
int64_t load_cycles_of(const Step& step, const Machine& machine) {
  const int64_t stride = std::abs(step.inner.mem_stride);
  if (machine.conflict_load_cycles == 0 || stride < machine.line_bytes) return 1;
  return std::max<int64_t>(1, machine.conflict_load_cycles / l1_sets_of(stride));
}

class StridedRule final : public Rule {
 public:
  StridedRule(const Step& step, const PrefetchRule& prefetch, Direction way, const Host& host)
      : host_(host),
        machine_(host.machine),
        step_(step),
        way_(way),
        width_(step.width),
        stride_(step.inner.mem_stride),
        size_(step, host.is_open),
        prefetch_(prefetch) {
    if (way == Direction::kUnpack) {
      repeats_ = repeats_of(step, machine_);
    } else {
      load_cycles_ = load_cycles_of(step, machine_);
    }
    has_narrow_ = narrow_moves(step, way, machine_, &narrow_);
    const bool is_learned =
        width_ >= machine_.learned_run_least_bytes && stride_ % machine_.learned_stride_bytes == 0;
    one_load_bytes_ = is_learned ? machine_.learned_run_bytes : 0;
    one_load_runs_ = machine_.learned_lines;
    if (width_ == machine_.line_bytes) {
      // The stride prefetcher does not cross pages, so for large strides one load instruction has
      // no advantage when unpacking. Packing lines that are in a cache gains by one load each.
      one_load_runs_ = std::abs(stride_) <= machine_.page_bytes / 2 ? Regime::kNoEnd
                       : is_pack() ? machine_.l2_bytes / machine_.line_bytes
                                   : 0;
    }
  }

  void cut(Cuts& messages, Cuts& outputs) const override {
    prefetch_.cut(way_, messages, outputs);
    if (width_ <= 16) size_.cut_at_row(kMostShortRow + 1, messages);
    if (width_ >= kLongRun) outputs.add(machine_.stream_run_bytes);
    if (width_ > kLongRun || width_ == 64) size_.cut_at_runs(kNearMessage / width_ + 1, messages);
    if (width_ == 64 || has_narrow_ || is_dense_scatter()) size_.cut_at_row(kLongRow, messages);
    if (is_dense_scatter() || (width_ > kLongRun && width_ <= kMostByLines))
      messages.add(machine_.stream_transpose_bytes);
    if (repeats_.stores > 1) {
      size_.cut_at_runs(repeats_.from_runs, messages);
      messages.add(repeats_.below_runs * width_);
    }
    if (load_cycles_ > 1) {
      size_.cut_at_row(kNearRuns + 1, messages);
      size_.cut_at_runs(machine_.l2_bytes / machine_.line_bytes + 1, messages);
    }
    if (has_narrow_) messages.add(machine_.l2_bytes + 1);
    if (one_load_bytes_ >= width_ && is_one_move()) {
      size_.cut_at_runs(kNearRuns + 1, messages);
      if (one_load_runs_ < Regime::kNoEnd) size_.cut_at_runs(one_load_runs_ + 1, messages);
    }
  }

  Choice choose(int64_t message, int64_t output) const override {
    Choice choice{Strategy::kStrided, width_, {}};
    Hints& hints = choice.hints;
    hints.prefetch = prefetch_.at(way_, message, output, machine_);
    if (width_ > 32) hints.move = host_.move();
    if (width_ >= 64 && is_narrow(message)) {
      hints.move = narrow_;
      if (width_ == 64 && is_spaced(message, false)) hints.load_cycles = spacing();
      choice.strategy = Strategy::kNarrow;
    } else if (width_ >= kLongRun && output >= machine_.stream_run_bytes) {
      hints.non_temporal = true;
      choice.strategy = Strategy::kNonTemporal;
    } else if (is_repeated(message)) {
      hints.stores = static_cast<uint8_t>(repeats_.stores);
      choice.strategy = Strategy::kRepeated;
    } else if (is_spaced(message, hints.prefetch.runs > 0)) {
      hints.load_cycles = spacing();
      choice.strategy = Strategy::kSpaced;
    } else if (width_ == 64) {
      choose_line(message, choice);
    } else if (!is_one_move()) {
      choose_any(message, choice);
    } else {
      choose_small(message, choice);
    }
    return choice;
  }

 private:
  bool is_pack() const { return way_ == Direction::kPack; }
  // It and its destination are in the L1.
  bool is_near(int64_t message) const { return size_.runs(message) * width_ <= kNearMessage; }
  // User memory is taken to be in DRAM.
  bool is_far(int64_t message) const { return message >= machine_.stream_transpose_bytes; }
  uint8_t spacing() const { return static_cast<uint8_t>(std::min<int64_t>(load_cycles_, 255)); }
  // Unpacking to lines that follow each other, one or two runs in each.
  bool is_dense_scatter() const {
    return !is_pack() && width_ <= 16 && stride_ >= 32 && stride_ < 96;
  }
  // One load and one store.
  bool is_one_move() const { return width_ == 64 || width_class(width_) != Width::kAny; }

  bool is_narrow(int64_t message) const {
    return has_narrow_ && size_.in_row(message) >= kLongRow && message <= machine_.l2_bytes;
  }

  bool is_repeated(int64_t message) const {
    return repeats_.stores > 1 && size_.runs(message) >= repeats_.from_runs &&
           message / width_ < repeats_.below_runs;
  }

  bool is_spaced(int64_t message, bool prefetches) const {
    return load_cycles_ > 1 && !prefetches && is_one_move() && size_.in_row(message) > kNearRuns &&
           size_.runs(message) <= machine_.l2_bytes / machine_.line_bytes;
  }

  // Runs of one load each from a line of their own. In the L1 there is nothing to learn, and
  // unrolled loops are faster.
  bool is_one_load(int64_t message, bool prefetches) const {
    const int64_t runs = size_.runs(message);
    return width_ <= one_load_bytes_ && std::abs(stride_) >= 64 && runs <= one_load_runs_ &&
           (prefetches || runs > kNearRuns);
  }

  // Runs of 1, 2, 4, 8 and 16 bytes.
  void choose_small(int64_t message, Choice& choice) const {
    const bool prefetches = choice.hints.prefetch.runs > 0;
    const int64_t in_row = size_.in_row(message);
    // Dense lines in DRAM: a little faster (docs/experiments/2026-11-26-kernel-choices.md).
    const bool is_one =
        is_pack() ? is_one_load(message, prefetches)
                  : is_dense_scatter() && !prefetches && is_far(message) && in_row >= kLongRow;
    if (in_row <= kMostShortRow && in_row >= 1 && size_.has_rows() && !prefetches &&
        step_.inner.packed_stride == width_ && !(is_pack() && is_one)) {
      choice.strategy = Strategy::kShortRows;
    } else if (is_one) {
      choice.strategy = Strategy::kOneLoad;
    }
  }

  // Runs of 64 bytes: by one move or by two of 32 bytes. Zen 5: two are faster in the L1 for
  // unaligned stores, and from DRAM.
  void choose_line(int64_t message, Choice& choice) const {
    const bool prefetches = choice.hints.prefetch.runs > 0;
    const int64_t runs = size_.runs(message);
    // Short rows: preparing the unrolled loop takes longer than it saves.
    if (size_.in_row(message) < kLongRow || is_one_load(message, prefetches))
      choice.strategy = Strategy::kOneLoad;
    MoveWidth& move = choice.hints.move;
    if (is_near(message)) {
      move.off_lines = host_.has_narrow_moves() && !is_pack() ? 32 : 64;
    } else {
      const bool in_halves =
          !host_.has_narrow_moves() || one_load_bytes_ < 64 || runs > one_load_runs_;
      move.on_lines = move.off_lines = in_halves ? 32 : 64;
    }
  }

  void choose_any(int64_t message, Choice& choice) const {
    Hints& hints = choice.hints;
    const bool prefetches = hints.prefetch.runs > 0;
    if (width_ <= kLongRun) {
      hints.move.masked = host_.has_masks() && goes_under_masks(width_, stride_);
      return;
    }
    const bool is_far_or_prefetched = is_far(message) || prefetches;
    const int64_t library =
        is_pack() ? machine_.fast_memcpy_bytes : machine_.fast_memcpy_scatter_bytes;
    if (width_ >= library && !is_near(message)) {
      choice.strategy = Strategy::kLibrary;
    } else if (is_pack() && machine_.hides_l2_misses && is_far_or_prefetched &&
               width_ <= kMostByLines) {
      choice.strategy = Strategy::kLines;
    } else {
      choice.strategy = Strategy::kVectors;
      // Unpacking prefetches the first lines of the next runs; packing those of long runs.
      const bool does =
          (!machine_.hides_l2_misses || prefetches) && (!is_pack() || width_ >= kPrefetchedRun);
      const int64_t ahead = !is_pack() && width_ < 512 ? 512 / width_ : 1;
      hints.prefetch = {does ? static_cast<int32_t>(ahead) : 0, 0, false};
      // 32-byte vectors: faster in the L2 for unaligned runs below 512 bytes, and a little for
      // longer ones that are unpacked; no faster for line-aligned ones (`rows_in_halves` in
      // docs/experiments/2026-11-26-kernel-choices.md).
      if (is_near(message) || (is_pack() && width_ >= 512)) hints.move.off_lines = 64;
    }
  }

  const Host& host_;
  const Machine& machine_;
  const Step& step_;
  Direction way_;
  int64_t width_;
  int64_t stride_;
  CallSize size_;
  const PrefetchRule& prefetch_;
  Repeats repeats_;
  int64_t load_cycles_ = 1;
  bool has_narrow_ = false;
  MoveWidth narrow_;
  // The stride prefetcher learns strides of runs of up to so many bytes, and of so many runs in a
  // call.
  int64_t one_load_bytes_ = 0;
  int64_t one_load_runs_ = 0;
};

// Whether the nest without the outermost loop is moved by the same calls, only fewer of them: its
// regimes then are the same. Its runs and its innermost loop are the same in any case.
bool has_same_calls(const Step& step, const PrefetchRule& prefetch, const Step& below,
                    const Host& host) {
  return below.shape == step.shape && CallSize(below, false) == CallSize(step, host.is_open) &&
         prefetch_strided(below, below.width, host) == prefetch;
}

}  // namespace

Regimes strided_regimes(const Step& step, const PrefetchRule& prefetch, Direction way,
                        const Host& host) {
  return make_regimes(StridedRule(step, prefetch, way, host), host.kernels);
}

void select_run(Step& step, const Host& host) {
  const Machine& machine = host.machine;
  step.shape = Step::Shape::kStrided;
  const bool is_long = step.width > kLongRun;
  const bool is_near = step.width <= kNearMessage;
  for (const Direction way : {Direction::kPack, Direction::kUnpack}) {
    const int64_t library =
        way == Direction::kPack ? machine.fast_memcpy_bytes : machine.fast_memcpy_scatter_bytes;
    const Strategy strategy = !is_long                            ? Strategy::kStrided
                              : step.width >= library && !is_near ? Strategy::kLibrary
                                                                  : Strategy::kVectors;
    Regimes& regimes = step.regimes(way);
    regimes.reserve(is_long ? 2 : 1);
    Hints hints;
    if (!is_long || !is_near) hints.move = host.move();
    regimes.push_back({.kernel = find_kernel(host.kernels, strategy, step.width), .hints = hints});
    if (!is_long) continue;
    regimes.back().output_below = machine.stream_run_bytes;
    hints.non_temporal = true;
    regimes.push_back(
        {.kernel = find_kernel(host.kernels, Strategy::kNonTemporal, step.width), .hints = hints});
  }
}

std::string why_strided(const Step& step, const Machine& machine) {
  if (step.open_loop == Step::OpenLoop::kNone) return "one run";
  if (step.open_loop == Step::OpenLoop::kInner) return "one loop of runs";
  if (std::abs(step.outer.mem_stride) >= machine.line_bytes)
    return "iterations share no cache line: the loop order is kept";
  const Traversal touched = traversal_of(step.inner, step.width, machine);
  if (step.block_inner == 0) {
    return "the inner loop's " + text(touched.pages) + " pages and " + text(touched.lines) +
           " lines stay in the TLB and the cache";
  }
  return "neighbouring iterations share cache lines, and the inner loop touches " +
         text(touched.pages) + " pages (TLB " + text(machine.tlb_entries) + ") and " +
         text(touched.lines) + " lines: the loops are blocked by " + text(step.block_inner) +
         " inner iterations";
}

void select_strided(Step& step, Nest& nest, const Host& host) {
  const Machine& machine = host.machine;
  step.shape = Step::Shape::kStrided;
  step.inner = nest.loops.back();
  nest.loops.pop_back();
  if (nest.loops.empty()) {
    step.open_loop = Step::OpenLoop::kInner;
  } else {
    // Iterations of the loop with the least stride may share lines with each other.
    size_t closest = nest.loops.size() - 1;
    for (size_t i = 0; i < nest.loops.size(); ++i) {
      if (std::abs(nest.loops[i].mem_stride) < std::abs(nest.loops[closest].mem_stride))
        closest = i;
    }
    const bool shares_lines = std::abs(nest.loops[closest].mem_stride) < machine.line_bytes;
    const size_t outer = shares_lines ? closest : nest.loops.size() - 1;
    if (shares_lines)
      step.block_inner = traversal_of(step.inner, step.width, machine).cached_iterations;
    place_outer(step, nest, outer);
    place_rest(step, nest);
  }
  const PrefetchRule prefetch = prefetch_strided(step, step.width, host);
  if (has_same_calls(step, prefetch, *nest.below, host)) {
    step.pack = nest.below->pack;
    step.unpack = nest.below->unpack;
    return;
  }
  step.pack = strided_regimes(step, prefetch, Direction::kPack, host);
  step.unpack = strided_regimes(step, prefetch, Direction::kUnpack, host);
}

}  // namespace lacuna::strategy
