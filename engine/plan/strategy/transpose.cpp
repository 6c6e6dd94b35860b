// SPDX-License-Identifier: BSD-3-Clause
//
// Transposes: a loop over neighbours in memory, outside a loop with a stride. If both are tiled,
// whole lines are read and written once. Byna, Gropp, Sun & Thakur 2003: section 5.2 decides
// whether blocking can help (pages against TLB entries), section 5.3 how large a block may be (half
// the TLB).
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "plan/strategy/prefetch.hpp"
#include "plan/strategy/strategy.hpp"

namespace lacuna {

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

namespace strategy {
namespace {

// Byna 2003, section 5.2: pages that n blocks of `width` bytes touch, `stride` bytes apart.
int64_t pages_touched(int64_t n, int64_t width, int64_t stride, int64_t page) {
  stride = std::abs(stride);
  if (stride == 0) return 1;
  if (page >= stride) return n / (page / stride) + 1;
  return n * ((width + page - 1) / page);
}

// Whether columns of `inner` may be gathered in a buffer (transpose_any.inl.hpp).
bool can_gather(int64_t width, const Loop& inner, const Host& host) {
  constexpr int64_t kLeastLines = 2;
  const int64_t line = host.machine.line_bytes;
  return host.kernels.has(Strategy::kTranspose, Width::k8) && width <= line &&
         inner.count * width >= kLeastLines * line;
}

class TransposeRule final : public Rule {
 public:
  TransposeRule(const Tiles& tiles, const PrefetchRule& prefetch, Direction way, int64_t width,
                const Host& host)
      : tiles_(tiles), prefetch_(prefetch), way_(way), width_(width), host_(host) {}

  void cut(Cuts& messages, Cuts& outputs) const override {
    prefetch_.cut(way_, messages, outputs);
    messages.add(host_.machine.stream_transpose_bytes);
    outputs.add(host_.machine.stream_transpose_bytes);
    messages.add(after(tiles_.four_lines_bytes));
    messages.add(after(tiles_.diagonals_bytes));
  }

  Choice choose(int64_t message, int64_t output) const override {
    Choice choice{Strategy::kTranspose, width_, {}};
    const int64_t large = host_.machine.stream_transpose_bytes;
    choice.hints.prefetch = prefetch_.at(way_, message, output, host_.machine);
    choice.hints.move = host_.move();
    choice.hints.non_temporal = output >= large;
    choice.hints.tiles = {message >= large, message <= tiles_.four_lines_bytes,
                          message <= tiles_.diagonals_bytes};
    return choice;
  }

 private:
  static int64_t after(int64_t bytes) { return bytes == Regime::kNoEnd ? bytes : bytes + 1; }

  const Tiles& tiles_;
  const PrefetchRule& prefetch_;
  Direction way_;
  int64_t width_;
  const Host& host_;
};

}  // namespace

Traversal traversal_of(const Loop& inner, int64_t width, const Machine& machine) {
  const int64_t pages = pages_touched(inner.count, width, inner.mem_stride, machine.page_bytes);
  const int64_t lines = inner.count * std::max<int64_t>(1, width / machine.line_bytes);
  const int64_t cached_lines = machine.l1_bytes / machine.line_bytes / 2;
  if (pages < machine.tlb_entries && lines <= cached_lines) return {pages, lines, 0};
  const int64_t per_page =
      std::max<int64_t>(1, machine.page_bytes / std::max<int64_t>(1, std::abs(inner.mem_stride)));
  return {pages, lines,
          std::max<int64_t>(8, std::min(machine.tlb_entries / 2 * per_page, cached_lines))};
}

std::string why_transpose(const Step& step, const Machine& machine) {
  const int64_t tile_rows = step.pack_call.tile_rows;
  const std::string rows =
      tile_rows == 0 || tile_rows >= step.inner.count ? "all" : text(tile_rows);
  return "columns are neighbours in memory (stride = width = " + text(step.width) +
         "): tiles read and write whole lines; a column touches " +
         text(traversal_of(step.inner, step.width, machine).pages) + " pages, the TLB has " +
         text(machine.tlb_entries) + " entries; " +
         (width_class(step.width) == Width::kAny
              ? "strips of columns are gathered in a buffer, or loops of runs move " + rows +
                    " rows at a time"
              : "a tile is " + rows + " rows by one page of columns") +
         "; outputs of at least " + text(machine.stream_transpose_bytes) +
         " bytes use non-temporal stores";
}

bool select_transpose(Step& step, Nest& nest, const Host& host) {
  const Loop& inner = nest.loops.back();
  const bool is_gathered = width_class(step.width) == Width::kAny;  // no register tile
  if (is_gathered && !can_gather(step.width, inner, host)) return false;
  for (size_t i = 0; i + 1 < nest.loops.size(); ++i) {
    // The own loop's count may change at run time; the kernel accepts small ones.
    const bool own_count_open = i == 0;
    if (nest.loops[i].mem_stride != step.width || (!own_count_open && nest.loops[i].count < 4))
      continue;
    step.shape = Step::Shape::kTranspose;
    step.inner = inner;
    const Traversal touched = traversal_of(inner, step.width, host.machine);
    const Tiles tiles = transpose_tiles(step.width, host.machine);
    for (KernelCall* const call : {&step.pack_call, &step.unpack_call}) {
      call->tile_rows = is_gathered ? touched.cached_iterations : tiles.rows;
      call->tile_columns = tiles.columns;
    }
    nest.loops.pop_back();
    place_outer(step, nest, i);
    place_rest(step, nest);
    const PrefetchRule prefetch =
        is_gathered ? prefetch_strided(step, step.width, host) : PrefetchRule();
    for (const Direction way : {Direction::kPack, Direction::kUnpack}) {
      step.regimes(way) =
          make_regimes(TransposeRule(tiles, prefetch, way, step.width, host), host.kernels);
    }
    return true;
  }
  return false;
}

}  // namespace strategy
}  // namespace lacuna
