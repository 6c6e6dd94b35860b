// SPDX-License-Identifier: BSD-3-Clause
//
// Kernels: the loops that move bytes. Each moves the innermost one or two loops of a layout and is
// chosen by shape and width, never by a C type. The same kernel packs and unpacks: it sees a source
// and a destination, each with its strides. Kernels know neither layouts nor machines; plan/
// chooses among them.
//
// The contract of every kernel:
//   - memory: any alignment; source and destination must not overlap. Counts >= 0, widths >= 1;
//     strides are bytes of any sign, on the source side also 0 or smaller than the width (overlap
//     is legal when packing).
//   - reads touch gap bytes only inside a 64-byte line that holds a data byte.
//   - writes touch data bytes only, never a gap, not even with its old value (another thread may
//     own it).
//   - no allocation, no errors, noexcept; a kernel that used non-temporal stores fences before it
//     returns.
#ifndef LACUNA_ENGINE_KERNELS_KERNEL_HPP_
#define LACUNA_ENGINE_KERNELS_KERNEL_HPP_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lacuna {

struct Dim {
  int64_t count = 1;
  int64_t src_stride = 0;
  int64_t dst_stride = 0;
};

// What a kernel moves, for i in [0, outer.count), j in [0, inner.count):
//
//   strided      dst[i*outer.dst + j*inner.dst, +width) <- src[i*outer.src + j*inner.src, +width)
//   transpose    the same, with inner.dst_stride = outer.src_stride = width: rows become columns
//   gather       dst[i*outer.dst + j*width, +width) <- src[i*outer.src + offset(j), +width)
//   scatter      dst[i*outer.dst + offset(j), +width) <- src[i*outer.src + j*width, +width)
//   gather_runs, scatter_runs
//                as gather and scatter, with packed_offsets[j] for j*width, and
//                packed_offsets[j+1] - packed_offsets[j] for the width
//   gather_record, scatter_record
//                the runs of `record` at i, j, packed one after the other
//
// All but the transpose repeat this around.count times, at around.src_stride and around.dst_stride.
struct Record;  // record.hpp

// The offsets of a list: 64-bit, or `places` in 32 bits.
struct ListEntries {
  const int64_t* offsets = nullptr;
  const int64_t* packed_offsets = nullptr;
  const int32_t* places = nullptr;
  // Entries after inner.count, which are moved next: they may be prefetched (one row).
  int64_t following = 0;
};

// Software prefetch on the side with gaps, `runs` iterations ahead, `bytes` of each. 0 runs: none.
struct Prefetch {
  int32_t runs = 0;
  int32_t bytes = 0;
  bool into_l2 = false;  // runs of at most a line: into the L2, not the L1

  bool operator==(const Prefetch&) const = default;
};

// The widest move of a run: 64, 32, 16 or 8 bytes. Moves that cross cache lines, and whole lines in
// few cache sets, are faster by narrower ones on some CPUs.
struct MoveWidth {
  uint8_t on_lines = 64;   // where all runs are line-aligned
  uint8_t off_lines = 64;  // where they are not
  // Runs of up to 31 bytes that are no power of two: one load and store under a mask, if the table
  // has these.
  bool masked = false;

  bool operator==(const MoveWidth&) const = default;
};

// The order of a transpose's tiles.
struct TileOrder {
  // The source is in DRAM: along its rows, as with non-temporal stores.
  bool along_rows = false;
  // With non-temporal stores: columns of whole pages four lines at a time, the source prefetched.
  bool four_lines = false;
  // Along diagonals, where rows of whole pages would cause conflict misses.
  bool diagonals = false;

  bool operator==(const TileOrder&) const = default;
};

// How a kernel moves, not what: the bytes are the same with any hints.
struct Hints {
  Prefetch prefetch;
  MoveWidth move;
  TileOrder tiles;
  // How often each run is stored, unpacking to lines of few L1 sets (repeated_rows).
  uint8_t stores = 1;
  // Cycles from one load to the next, packing from such lines (spaced_rows).
  uint8_t load_cycles = 1;
  // The output will not be read from a cache soon: non-temporal stores.
  bool non_temporal = false;

  bool operator==(const Hints&) const = default;
};

// The argument of a kernel.
struct KernelCall : Hints {
  const std::byte* src = nullptr;
  std::byte* dst = nullptr;
  int64_t width = 0;
  Dim around;
  Dim outer;
  Dim inner;
  ListEntries list;
  const Record* record = nullptr;
  // transpose: source rows that are moved together (a multiple of a line's elements; all: column by
  // column), and the columns that are moved before the next rows.
  int64_t tile_rows = 0;
  int64_t tile_columns = 0;
};
// GCC copies larger structs by `rep movs`, which is slow to begin
// (docs/experiments/2026-11-26-short-runs-and-records.md).
static_assert(sizeof(KernelCall) <= 256);

// Strategy::kShortRows: the most runs in a row.
inline constexpr int64_t kMostShortRow = 8;
// Longer runs are loops themselves (Strategy::kVectors, kLines, kLibrary); runs of at least so many
// bytes hold a whole line (kNonTemporal).
inline constexpr int64_t kLongRun = 128;
// Strategy::kLines: the longest run.
inline constexpr int64_t kMostByLines = 2048;

// Whether strided runs are moved by masked loads and stores if the hints say so. The hardware
// prefetcher does not follow those: runs that lie close, or are short, are slower from DRAM. Above
// 32 bytes the masked part may touch one line more (docs/experiments/2026-11-26-kernel-choices.md).
constexpr bool goes_under_masks(int64_t width, int64_t stride) {
  const bool is_one_move = (width & (width - 1)) == 0;
  return width > 8 && width <= 32 && !is_one_move && (stride >= 128 || stride <= -128);
}

using KernelFn = void (*)(const KernelCall&) noexcept;

// The loops that a table may have. plan/strategy/ chooses among those of one shape; the first of
// each shape moves everything that the shape can be.
enum class Strategy : uint8_t {
  // Runs at a stride.
  kStrided,      // unrolled by four
  kOneLoad,      // one load instruction for all runs, whose stride the hardware prefetcher learns
  kShortRows,    // rows of 1 to 8 runs: a function for each number
  kRepeated,     // unpacking: each run is stored KernelCall::stores times
  kSpaced,       // packing: KernelCall::load_cycles from load to load
  kNarrow,       // runs of whole lines: by moves of KernelCall::move
  kVectors,      // runs of more than 128 bytes
  kLines,        // the same, packing: one load instruction for each line of a run
  kLibrary,      // runs by the C library's memcpy
  kNonTemporal,  // runs of at least 128 bytes
  // Matrices.
  kTranspose,
  // Equal runs at listed offsets.
  kGather,
  kGatherInOrder,  // ascending offsets: all lines are prefetched, one after the other
  kGatherLanes,    // gather instructions
  kScatter,
  // Runs of unequal lengths at listed offsets.
  kGatherRuns,
  kScatterRuns,
  // Records.
  kGatherRecord,    // a pass over the records for each run
  kGatherTable,     // by vectors; width: of their lanes
  kGatherShuffled,  // by shuffles of 16 bytes
  kGatherPermuted,
  kGatherWords,
  kGatherMoveList,
  kScatterRecord,
  kScatterTable,
  kScatterPermuted,
  kScatterWords,
  kScatterMoveList,
};
inline constexpr int kStrategies = static_cast<int>(Strategy::kScatterMoveList) + 1;
// The first loop of the shape.
Strategy definition_of(Strategy strategy);

// Widths a kernel is specialised for; kAny serves every width.
enum class Width : uint8_t { k1, k2, k4, k8, k16, kAny };
inline constexpr int kWidths = 6;
Width width_class(int64_t width);

std::string_view strategy_name(Strategy strategy);
std::string_view width_name(Width width);

// The shortest run that KernelTable::copy_near is for.
inline constexpr int64_t kNearRun = 2048;

// All kernels of one instruction set: what it can do, not what is fast on some CPU, which plan/
// takes from the machine. A null entry declines. The reference has one entry for each shape, under
// kAny.
struct KernelTable {
  std::string_view isa;  // "reference", "ssse3", "avx2", "avx512", ...
  KernelFn fn[kStrategies][kWidths] = {};
  int64_t table_bytes = 0;       // vectors of the tables of records; 0: none
  int64_t table_lane = 4;        // their narrowest lanes
  bool shuffles = false;         // records can be packed by tables of shuffles
  bool masks = false;            // there are masked loads and stores
  bool half_line_moves = false;  // 32 bytes are one move (AVX)
  bool elements = false;         // the bytes of a vector can be permuted (permutes.hpp)
  bool words = false;            // words can be moved one by one (words.hpp, move_list.hpp)
  // For one run of at least kNearRun bytes that is in the L1.
  void (*copy_near)(std::byte* dst, const std::byte* src, int64_t bytes) noexcept = nullptr;
  // For one run: its whole lines by non-temporal stores. These are complete before any store that
  // follows fence_past.
  void (*copy_past)(std::byte* dst, const std::byte* src, int64_t bytes) noexcept = nullptr;
  void (*fence_past)() noexcept = nullptr;

  bool has(Strategy strategy, Width width) const {
    return fn[static_cast<int>(strategy)][static_cast<int>(width)] != nullptr;
  }
};

// The kernel and its name, e.g. "strided.short_rows.w8.avx512".
struct Kernel {
  KernelFn fn = nullptr;
  Strategy strategy = Strategy::kStrided;
  Width width = Width::kAny;
  std::string_view isa;

  std::string id() const;
};

// The tables this host can run, the best first, the reference last.
std::span<const KernelTable* const> kernel_tables();
// The table of that name among them, or nullptr.
const KernelTable* find_table(std::string_view isa);

// The table's kernel for the loop and width, else for the loop and any width, else for the first
// loop of the shape, else the reference's.
Kernel find_kernel(const KernelTable& table, Strategy strategy, int64_t width);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_KERNELS_KERNEL_HPP_
