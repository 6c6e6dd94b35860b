// SPDX-License-Identifier: BSD-3-Clause
//
// Device plans, on the host: from a type and a count to pieces and their tables, and from a message
// to a launch. Knows no CUDA: the unit tests run the launches on the host.
#ifndef LACUNA_ENGINE_GPU_PLAN_HPP_
#define LACUNA_ENGINE_GPU_PLAN_HPP_

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "gpu/bodies/bytes.hpp"
#include "gpu/bodies/tiles.hpp"
#include "gpu/bodies/words.hpp"
#include "type/type.hpp"

namespace lacuna::gpu {

Divisor make_divisor(uint32_t count);

// A plan for `count` elements. Its tables are one block of bytes, the image.
struct DevicePlan {
  int64_t size = 0;
  int64_t count = 0;
  std::vector<PieceRow> rows;
  // For words of 1 << i bytes: the number of the first tile of each row; at the end, of all tiles.
  std::vector<uint32_t> tiles[kWordSizes];
  uint32_t log = 4;  // logarithm of the widest words that all rows allow
  // Where there are several pieces: the whole message as one, for copies, if that is possible.
  std::optional<PieceRow> whole;

  // The last ranked leaf, if it has few runs.
  std::optional<Record> record;

  std::vector<std::byte> image;
  // Addresses of `rows` and `tiles` in the placed image, for the kernel for many messages.
  const PieceRow* placed_rows = nullptr;
  const uint32_t* placed_tiles[kWordSizes] = {};

  bool is_run() const;
  // The piece that is the whole message, dense in the stream; null: none.
  const PieceRow* whole_piece() const {
    return rows.size() == 1 ? rows.data() : whole ? &*whole : nullptr;
  }
};

// The number of a piece's loops, without those in front that have a count of 1.
int loops_of(const Piece& piece);

// O(nodes of the layout + entries of its lists). Pointers of the plan are offsets in the image
// until it is placed.
Result<DevicePlan> make_device_plan(const Type& type, int64_t count);
// Appends bytes to the image; returns their offset, a multiple of 16.
size_t append(std::vector<std::byte>& image, const void* bytes, size_t size);
// The size of the whole image. `place`, called once, completes it and turns the plan's offsets into
// pointers, for an image that will be at `base`.
size_t image_bytes(const DevicePlan& plan);
void place(DevicePlan& plan, std::byte* base);

// "2 pieces\nloop 1024 mem +8192 packed +8, run 8\n...".
std::string text_of(const DevicePlan& plan);

// Bytes of memory that hold data: in sectors of 32 bytes, in aligned pairs of sectors (what a
// device reads at a time), and in sectors that also hold other bytes. The plan must be placed on
// the host. Where there are many runs, estimated from the first.
struct Touched {
  double sectors = 0;
  double fetched = 0;
  double partly = 0;
};
Touched touched_by(const DevicePlan& plan);

// Kernel, words, pieces, blocks and touched sectors as JSON, for aligned memory. Needs no device.
Result<std::string> explain_json(const Type& type, int64_t count);

// ---- launches ----

struct Launch {
  enum class Way : uint8_t {
    kNothing,
    kRun,    // one copy of contiguous bytes
    kWords,  // move_of, words of 4 bytes and more
    kBytes,  // move_of, single bytes
    kTiles,  // tile_phase
    kMany,   // move_piece
  };
  Way way = Way::kNothing;
  int log = 0;  // words have 1 << log bytes
  // kWords, kBytes: the template arguments of Locator.
  int loops = 1;
  bool tables = false;
  bool ranked = false;
  bool is_record = false;  // ranked, one loop; the runs are in `record`
  int parts = 0;           // kTiles: 1, if an element is one word; kSquare; else 0
  uint64_t blocks = 0;
  uint32_t threads = kThreads;
  uint32_t shared_bytes = 0;
  WordsJob words;
  Record record;
  TilesJob tiles;
  Message message;
};

inline constexpr uint64_t kMostBlocks = (uint64_t{1} << 31) - 1;

// For tests: the widest words, and the least size (in words) to choose for.
struct Forced {
  int most_log = 4;
  uint64_t least_words = 0;
};

// The launch for bytes [begin, end) of the packed stream; byte `begin` is at `packed`.
Launch choose(const DevicePlan& plan, const void* mem, const void* packed, int64_t begin,
              int64_t end, bool is_pack, const Forced& forced = {});
// A message for a launch of many, with first_tile 0.
Message message_of(const DevicePlan& plan, const void* mem, const void* packed, int64_t begin,
                   int64_t end, int most_log = 4);
inline uint32_t tiles_of(const DevicePlan& plan, const Message& message) {
  return plan.tiles[message.log].empty() ? 0 : plan.tiles[message.log].back();
}
// Both plans must have a whole piece and the same size. *log: words have 1 << *log bytes.
CopyJob copy_job(const DevicePlan& from, const void* from_mem, const DevicePlan& to,
                 const void* to_mem, int* log, int most_log = 4);

// The number of blocks of a copy by words of 1 << log bytes.
inline uint64_t blocks_of_copy(const CopyJob& job, int log) {
  const uint64_t of_block = kThreads * (log == 0 ? kBytesOfThread : kUnroll);
  return (job.last + of_block - 1) / of_block;
}

// Calls f.template operator()<kLog>().
template <typename F>
void with_log(int log, F f) {
  switch (log) {
    case 0:
      return f.template operator()<0>();
    case 1:
      return f.template operator()<1>();
    case 2:
      return f.template operator()<2>();
    case 3:
      return f.template operator()<3>();
    default:
      return f.template operator()<4>();
  }
}

// Calls f.template operator()<kLog, kLoops, kTables, kRanked>() as the launch says, or
// f.template of_records<kLog, kTables>().
template <int kLog, typename F>
void with_words_of(const Launch& launch, F& f) {
  if (launch.is_record && launch.tables) return f.template of_records<kLog, true>();
  if (launch.is_record) return f.template of_records<kLog, false>();
  if (launch.ranked) {
    if (launch.loops == 1 && launch.tables) return f.template operator()<kLog, 1, true, true>();
    if (launch.loops == 1) return f.template operator()<kLog, 1, false, true>();
    return f.template operator()<kLog, kMostLoops, true, true>();
  }
  if (launch.tables) {
    if (launch.loops == 1) return f.template operator()<kLog, 1, true, false>();
    if (launch.loops == 2) return f.template operator()<kLog, 2, true, false>();
    return f.template operator()<kLog, kMostLoops, true, false>();
  }
  switch (launch.loops) {
    case 1:
      return f.template operator()<kLog, 1, false, false>();
    case 2:
      return f.template operator()<kLog, 2, false, false>();
    case 3:
      return f.template operator()<kLog, 3, false, false>();
    default:
      return f.template operator()<kLog, kMostLoops, false, false>();
  }
}

// with_words_of for the launch's words: 4 bytes and more, or single bytes.
template <typename F>
void with_words(const Launch& launch, F f) {
  switch (launch.log) {
    case 0:
      return with_words_of<0>(launch, f);
    case 2:
      return with_words_of<2>(launch, f);
    case 3:
      return with_words_of<3>(launch, f);
    default:
      return with_words_of<4>(launch, f);
  }
}

// Calls f.template operator()<kLog, kParts, kOuter>() as the launch says.
template <typename F>
void with_tiles(const Launch& launch, F f) {
  const bool is_flat = loops_of(launch.tiles.piece) == 0;
  with_log(launch.log, [&]<int kLog>() {
    if (launch.parts == kSquare) {
      if (is_flat) return f.template operator()<kLog, kSquare, 0>();
      return f.template operator()<kLog, kSquare, kMostLoops>();
    }
    if (launch.parts == 1) {
      if (is_flat) return f.template operator()<kLog, 1, 0>();
      return f.template operator()<kLog, 1, kMostLoops>();
    }
    if (is_flat) return f.template operator()<kLog, 0, 0>();
    return f.template operator()<kLog, 0, kMostLoops>();
  });
}

}  // namespace lacuna::gpu

#endif  // LACUNA_ENGINE_GPU_PLAN_HPP_
