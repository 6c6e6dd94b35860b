// SPDX-License-Identifier: BSD-3-Clause
//
// Device plans, the host's part: from a type and a count to pieces and their tables, and from a
// message to a launch. Knows no CUDA: the unit tests run the launches on the host.
#ifndef LACUNA_ENGINE_GPU_PLAN_HPP_
#define LACUNA_ENGINE_GPU_PLAN_HPP_

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "gpu/bytes.hpp"
#include "gpu/tiles.hpp"
#include "gpu/words.hpp"
#include "type/type.hpp"

namespace lacuna::gpu {

Divisor make_divisor(uint32_t count);

// A plan for `count` elements. Its tables are an image that is put somewhere as a whole (place).
struct DevicePlan {
  int64_t size = 0;
  int64_t count = 0;
  std::vector<PieceRow> rows;
  // By the words of a message: the first tile of each row, and the number of all at the end.
  std::vector<uint32_t> tiles[kWordSizes];
  uint32_t log = 4;  // the widest words that all rows allow
  // Where there are several pieces, the whole message as one, for copies; it may have none.
  std::optional<PieceRow> whole;

  // Of the last ranked row, where it has few runs.
  std::optional<Record> record;

  std::vector<std::byte> image;
  // Where the kernel for many messages reads them.
  const PieceRow* placed_rows = nullptr;
  const uint32_t* placed_tiles[kWordSizes] = {};

  bool is_run() const;
  // The piece that is the whole message, dense in the stream; null: none.
  const PieceRow* whole_piece() const {
    return rows.size() == 1 ? rows.data() : whole ? &*whole : nullptr;
  }
};

// Of a piece, those that count.
int loops_of(const Piece& piece);

// O(nodes of the layout + entries of its lists). Pointers of the plan are offsets in the image
// until it is placed.
Result<DevicePlan> make_device_plan(const Type& type, int64_t count);
// Puts bytes at the image's end; answers where, a multiple of 16.
size_t append(std::vector<std::byte>& image, const void* bytes, size_t size);
// Once: the image will be at `base`, in that many bytes.
size_t image_bytes(const DevicePlan& plan);
void place(DevicePlan& plan, std::byte* base);

// "2 pieces\nloop 1024 mem +8192 packed +8, run 8\n...".
std::string text_of(const DevicePlan& plan);

// Of memory that holds data: bytes of the sectors of 32 bytes, of the aligned pairs of them that a
// device reads at a time, and of those sectors that hold other bytes, too. The plan is placed on
// the host. Of many runs the first are looked at.
struct Touched {
  double sectors = 0;
  double fetched = 0;
  double partly = 0;
};
Touched touched_by(const DevicePlan& plan);

// Kernel, words, pieces, blocks and touched sectors as JSON, for memory that is aligned. Knows no
// device.
Result<std::string> explain_json(const Type& type, int64_t count);

// ---- launches ----

struct Launch {
  enum class Way : uint8_t {
    kNothing,
    kRun,    // one copy of contiguous bytes
    kWords,  // move_of
    kBytes,  // the same, of single bytes
    kTiles,  // tile_phase
    kMany,   // move_piece
  };
  Way way = Way::kNothing;
  int log = 0;
  // kWords, kBytes: which Locator. kTiles: parts of an element, 0: not 1.
  int loops = 1;
  bool tables = false;
  bool ranked = false;
  bool is_record = false;  // ranked, of one loop, by `record`
  int parts = 0;
  uint64_t blocks = 0;
  uint32_t threads = kThreads;
  uint32_t shared_bytes = 0;
  WordsJob words;
  Record record;
  TilesJob tiles;
  Message message;
};

inline constexpr uint64_t kMostBlocks = (uint64_t{1} << 31) - 1;

// For tests: narrower words, and what is chosen for messages of so many.
struct Forced {
  int most_log = 4;
  uint64_t least_words = 0;
};

// Bytes [begin, end) of the packed stream, the first of which is at `packed`.
Launch choose(const DevicePlan& plan, const void* mem, const void* packed, int64_t begin,
              int64_t end, bool is_pack, const Forced& forced = {});
// One message of many; first_tile is 0.
Message message_of(const DevicePlan& plan, const void* mem, const void* packed, int64_t begin,
                   int64_t end, int most_log = 4);
inline uint32_t tiles_of(const DevicePlan& plan, const Message& message) {
  return plan.tiles[message.log].empty() ? 0 : plan.tiles[message.log].back();
}
// Both plans have as many bytes and a whole piece. The logarithm of the words' size is in *log.
CopyJob copy_job(const DevicePlan& from, const void* from_mem, const DevicePlan& to,
                 const void* to_mem, int* log, int most_log = 4);

// The blocks of a copy by words, or single bytes, of 1 << log bytes.
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
// f.template of_records<kLog>().
template <int kLog, typename F>
void with_words_of(const Launch& launch, F& f) {
  if (launch.is_record) return f.template of_records<kLog>();
  if (launch.ranked) {
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

// Of words of 4 bytes and more, or of single bytes.
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

// The same of f.template operator()<kLog, kParts, kOuter>().
template <typename F>
void with_tiles(const Launch& launch, F f) {
  const bool is_flat = loops_of(launch.tiles.piece) == 0;
  with_log(launch.log, [&]<int kLog>() {
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
