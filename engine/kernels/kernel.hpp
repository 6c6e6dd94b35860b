// SPDX-License-Identifier: BSD-3-Clause
//
// Kernels: the movers of bytes. Each moves the innermost one or two loops of a layout, keyed by
// shape and width, never by a C type. One mover serves packing and unpacking: it sees a source and
// a destination, each with its strides. They know neither layouts nor machines; plan/ chooses among
// them.
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

// What a kernel is asked to move, for i in [0, outer.count), j in [0, inner.count):
//
//   strided      dst[i*outer.dst + j*inner.dst, +width) <- src[i*outer.src + j*inner.src, +width)
//   transpose    the same, with inner.dst_stride = outer.src_stride = width: rows become columns
//   gather       dst[i*outer.dst + j*width, +width) <- src[i*outer.src + offsets[j], +width)
//   scatter      dst[i*outer.dst + offsets[j], +width) <- src[i*outer.src + j*width, +width)
//   gather_runs, scatter_runs
//                as gather and scatter, with packed_offsets[j] for j*width, and
//                packed_offsets[j+1] - packed_offsets[j] for the width
//                gather and scatter may be given places[] (the same in 32 bits) for offsets[]
//   gather_fields, scatter_fields
//                elements of several runs: those of fields->fields at i, j, packed one after the
//                other
//
// All but a transpose repeats that around.count times, each around.src and around.dst on.
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
  // strided, by_field: iterations by which to touch the side with gaps ahead, `ahead_bytes` of
  // each: its lines come at strides that the hardware does not follow, or stops following at each
  // page. 0: not worth it. A hint: kernels may ignore it.
  int64_t ahead = 0;
  int64_t ahead_bytes = 0;
  // gather, scatter, one row: entries of the list after inner.count, which are moved next. They are
  // asked for.
  int64_t following = 0;
  // strided, to a side with gaps whose lines meet in few places of the first level: how often each
  // run is stored where there are so many of them (strided.inl.hpp says why). A hint.
  int64_t repeats = 1;
  int64_t repeats_from = 0;
  // strided, from a side with gaps whose lines meet so: cycles from one load to the next, up to so
  // many runs (paced_rows). A hint.
  int64_t pace = 1;
  int64_t paced_most = 0;
  // strided, runs of whole lines whose lines meet so: by moves of so many bytes, on the lines' own
  // boundaries and off them (rows_by_pieces). 0: whole. A hint.
  int64_t piece = 0;
  int64_t piece_off_lines = 0;
  // strided: many runs of one load each, a line apart, are moved by one instruction up to this
  // width.
  int64_t one_by_one = 16;
  // More than so many go several at a time, lines' worths by halves.
  int64_t one_by_one_runs = std::numeric_limits<int64_t>::max();
  // strided: runs of so many bytes are left to the C library's memcpy.
  int64_t library_run = 16384;
  // transpose: source rows taken together (a multiple of a line's elements; all of them: column
  // after column), and columns swept before the next rows.
  int64_t tile_rows = 0;
  int64_t tile_cols = 0;
  // The flags stand together: of more than 256 bytes the compiler makes copies by a string
  // instruction, which takes 10 ns to begin.
  //
  // strided, runs of at most a line: those are asked for into the second level, reading or writing.
  bool ahead_second = false;
  // The same for runs of many lines, of which the first are asked for: also where `ahead` is 0.
  bool asks_always = true;
  // gather: the places rise, by little, and leave few lines out: with `ahead`, lines are asked for
  // one after the other.
  bool ahead_in_order = false;
  // Vectors of half a line, where those of a whole line lie across two too often (strided runs of
  // more than two lines: beyond the first level, and off the lines' boundaries).
  bool half_lines = false;
  // Runs of up to 31 bytes that no single vector holds exactly are moved under masks, where the
  // kernels have those.
  bool masks = false;
  // The output will not be read from cache soon: non-temporal stores where they fit.
  bool stream = false;
  // transpose, strided runs of a few lines: the source is in no cache, though the output may be.
  bool far = false;
  // transpose: by non-temporal stores, columns of whole pages are written four lines at a time, and
  // the source is asked for (transpose.inl.hpp). A hint.
  bool four_lines = false;
  // transpose: where rows of whole pages meet in the caches, tiles are taken along diagonals. A
  // hint.
  bool diagonals = false;
};
static_assert(sizeof(Move) <= 256);

// Whether strided runs are moved under masks, where Move::masks says that there are such moves. The
// hardware seems not to follow them, which it must where runs lie close: Zen 5, cold, 12 of 16
// bytes 6.2 and, so, 9.6 us, 52 of 56 11.5 and 16.6 (warm 1.7 and 1.0, 3.5 and 2.1). Nor for short
// runs (7 bytes of a matrix, cold: 1.3 and 2.6 ms), nor for longer ones: what a mask leaves out may
// lie in one line more (162 of 40 bytes at 6480 92 and 102 ns).
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

// All kernels of one instruction set: what it can do, not what is quick on some CPU, which plan/
// takes from the machine. A null entry declines. The reference has one
// for each shape, under kAny, which serves all widths.
struct KernelTable {
  std::string_view isa;  // "reference", "ssse3", "avx2", "avx3", ...
  KernelFn fn[kShapes][kWidths];
  int64_t field_bytes = 0;  // vectors for the tables of gather_fields and scatter_fields; 0: none
  int64_t field_lane = 4;   // their narrowest lanes
  bool shuffles = false;    // gather_fields follows tables of shuffles
  bool masks = false;       // runs can be moved under masks
  bool half_line_moves = false;  // half a line is one move (AVX)
  bool elements = false;         // the bytes of a vector can be permuted (element.hpp)
  bool words = false;            // words can be moved one by one (words.hpp, word_list.hpp)
  // `gather` of some widths by instructions that gather lanes, in place of a load for each; null:
  // there are none.
  KernelFn lane_gathers[kWidths] = {};
  // For one run of at least kNearRun bytes in the first level.
  void (*copy_near)(std::byte* dst, const std::byte* src, int64_t bytes) noexcept = nullptr;
  // For one run, its whole lines by non-temporal stores, which have been done before what is stored
  // after fence_past.
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
