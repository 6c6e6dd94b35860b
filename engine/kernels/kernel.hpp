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
#include <limits>
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
//   gather       dst[i*outer.dst + j*width, +width) <- src[i*outer.src + offsets[j], +width)
//   scatter      dst[i*outer.dst + offsets[j], +width) <- src[i*outer.src + j*width, +width)
//                both also with places[], the same offsets in 32 bits
//   gather_runs, scatter_runs
//                as gather and scatter, with packed_offsets[j] for j*width, and
//                packed_offsets[j+1] - packed_offsets[j] for the width
//   gather_fields, scatter_fields
//                records: the runs of fields->fields at i, j, packed one after the other
//
// All but the transpose repeat this around.count times, at around.src_stride and around.dst_stride.
struct Fields;  // fields.hpp

struct Move {
  const std::byte* src = nullptr;
  std::byte* dst = nullptr;
  int64_t width = 0;
  Dim around;
  Dim outer;
  Dim inner;
  const int64_t* offsets = nullptr;
  const int64_t* packed_offsets = nullptr;
  const int32_t* places = nullptr;
  const Fields* fields = nullptr;
  // strided, records: the prefetch distance in iterations, on the side with gaps, `ahead_bytes` of
  // each. For strides that the hardware prefetcher does not follow, or not across pages. 0: none. A
  // hint.
  int64_t ahead = 0;
  int64_t ahead_bytes = 0;
  // gather, scatter, one row: entries of the list after inner.count, which are moved next: they may
  // be prefetched.
  int64_t following = 0;
  // strided, unpacking to lines of a few L1 sets: how often each run is stored, if there are at
  // least `repeats_from` runs (why: repeated_rows). A hint.
  int64_t repeats = 1;
  int64_t repeats_from = 0;
  // strided, packing from such lines: cycles from one load to the next, up to `paced_most` runs
  // (why: paced_rows). A hint.
  int64_t pace = 1;
  int64_t paced_most = 0;
  // strided, runs of whole lines of a few L1 sets: bytes of a move, for line-aligned runs (0: whole
  // vectors) and for others (0: none of this). Why: rows_by_pieces. A hint.
  int64_t piece = 0;
  int64_t piece_off_lines = 0;
  // strided: many runs of one load each, at strides of a line and more, are not unrolled up to this
  // width: the stride prefetcher learns the strides of a single load instruction.
  int64_t one_by_one = 16;
  // More runs than this are unrolled by four, and runs of 64 bytes moved by two 32-byte moves.
  int64_t one_by_one_runs = std::numeric_limits<int64_t>::max();
  // strided: runs from this many bytes on are copied by the C library's memcpy.
  int64_t library_run = 16384;
  // transpose: source rows that are moved together (a multiple of a line's elements; all: column by
  // column), and the columns that are moved before the next rows.
  int64_t tile_rows = 0;
  int64_t tile_cols = 0;
  // The flags are side by side to keep a Move within 256 bytes: GCC copies larger ones by `rep
  // movs`, which takes 10 ns to begin.
  //
  // strided, runs of at most a line: prefetch into the L2, not the L1.
  bool ahead_second = false;
  // strided, runs of more than 128 bytes: prefetch the first lines of the next runs also if `ahead`
  // is 0.
  bool asks_always = true;
  // gather: offsets ascend by little and skip few lines. With `ahead`, lines are prefetched one
  // after the other, not by offset.
  bool ahead_in_order = false;
  // Move runs of more than 32 bytes by 32-byte vectors, as 64-byte ones cross lines too often.
  // Strided runs of more than 128 bytes: only beyond the L1, and if they are not line-aligned.
  bool half_lines = false;
  // Move runs of up to 31 bytes that are no power of two by masked loads and stores, if the table
  // has them.
  bool masks = false;
  // The output will not be read from a cache soon: use non-temporal stores where they fit.
  bool stream = false;
  // The message is large: user memory is taken to be in DRAM, though the packed part that is moved
  // now may stay in a cache.
  bool far = false;
  // transpose with non-temporal stores: columns of whole pages are written four lines at a time,
  // and the source is prefetched (transpose.inl.hpp). A hint.
  bool four_lines = false;
  // transpose: tiles are moved along diagonals if rows of whole pages would cause conflict misses.
  // A hint.
  bool diagonals = false;
};
static_assert(sizeof(Move) <= 256);

// Whether strided runs are moved by masked loads and stores if Move::masks is set. The hardware
// prefetcher does not follow those: runs that lie close, or are short, are slower from DRAM. Above
// 32 bytes the masked part may touch one line more (docs/experiments/2026-11-26-kernel-choices.md).
constexpr bool goes_under_masks(int64_t width, int64_t stride) {
  const bool is_one_move = (width & (width - 1)) == 0;
  return width > 8 && width <= 32 && !is_one_move && (stride >= 128 || stride <= -128);
}

using KernelFn = void (*)(const Move&) noexcept;

enum class Shape : uint8_t {
  kStrided,
  kTranspose,
  kGather,
  kScatter,
  kGatherRuns,
  kScatterRuns,
  kGatherFields,
  kScatterFields
};
inline constexpr int kShapes = 8;

// Widths a kernel is specialised for; kAny serves every width.
enum class Width : uint8_t { k1, k2, k4, k8, k16, kAny };
inline constexpr int kWidths = 6;
Width width_class(int64_t width);

std::string_view shape_name(Shape shape);
std::string_view width_name(Width width);

// The shortest run that KernelTable::copy_near is for.
inline constexpr int64_t kNearRun = 2048;

// All kernels of one instruction set: what it can do, not what is fast on some CPU, which plan/
// takes from the machine. A null entry declines. The reference has one entry for each shape, under
// kAny.
struct KernelTable {
  std::string_view isa;  // "reference", "ssse3", "avx2", "avx3", ...
  KernelFn fn[kShapes][kWidths];
  int64_t field_bytes = 0;       // vectors of the tables of gather_fields, scatter_fields; 0: none
  int64_t field_lane = 4;        // their narrowest lanes
  bool shuffles = false;         // gather_fields can use tables of shuffles
  bool masks = false;            // there are masked loads and stores
  bool half_line_moves = false;  // 32 bytes are one move (AVX)
  bool elements = false;         // the bytes of a vector can be permuted (element.hpp)
  bool words = false;            // words can be moved one by one (words.hpp, word_list.hpp)
  // `gather` by gather instructions, for some widths; null: none.
  KernelFn lane_gathers[kWidths] = {};
  // For one run of at least kNearRun bytes that is in the L1.
  void (*copy_near)(std::byte* dst, const std::byte* src, int64_t bytes) noexcept = nullptr;
  // For one run: its whole lines by non-temporal stores. These are complete before any store that
  // follows fence_past.
  void (*copy_past)(std::byte* dst, const std::byte* src, int64_t bytes) noexcept = nullptr;
  void (*fence_past)() noexcept = nullptr;
};

// The kernel and its name, e.g. "transpose.w8.avx3".
struct Kernel {
  KernelFn fn = nullptr;
  Shape shape = Shape::kStrided;
  Width width = Width::kAny;
  std::string_view isa;

  std::string id() const;
};

// The tables this host can run, the best first, the reference last.
std::span<const KernelTable* const> kernel_tables();
// The table of that name among them, or nullptr.
const KernelTable* find_table(std::string_view isa);

// The most specialised kernel of the table for the width, else the table's for any width, else the
// reference's. `gathers_lanes`: by lane_gathers, where the table has one.
Kernel find_kernel(const KernelTable& table, Shape shape, int64_t width,
                   bool gathers_lanes = false);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_KERNELS_KERNEL_HPP_
