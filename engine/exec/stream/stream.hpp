// SPDX-License-Identifier: BSD-3-Clause
//
// Stream: one message, packed or unpacked in pieces of any lengths, in order or in any order;
// copied to and from buffers of the caller, or lent. Where iterations of a loop share lines (the
// columns of a matrix), a slice alone would read those lines for few bytes; a stream moves all
// iterations that share lines at once, a *group*, and keeps it in a buffer for later pieces. After
// the resumable state of Gropp, Lusk & Swider 1999, section 4, which keeps the position; here a
// slice finds its position by itself, and the stream keeps data.
#ifndef LACUNA_ENGINE_EXEC_STREAM_STREAM_HPP_
#define LACUNA_ENGINE_EXEC_STREAM_STREAM_HPP_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exec/buffers/slot_pool.hpp"
#include "exec/executor.hpp"
#include "exec/stream/lend_buffer.hpp"
#include "exec/stream/received_ranges.hpp"
#include "exec/stream/stream_part.hpp"
#include "plan/plan.hpp"

namespace lacuna {

template <bool kPack>
class Stream {
 public:
  // `mem` as for pack. The stream's buffers count towards `cap_bytes` (buffers.hpp); without memory
  // for them pieces are moved as slices. In order it holds one group; after the first seek, groups
  // of up to `keep_bytes`.
  Stream(PlanPtr plan, std::byte* mem, int64_t count, int64_t cap_bytes,
         int64_t keep_bytes) noexcept;
  // Unpacking: what the stream still holds is unpacked.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int64_t total() const { return total_; }
  int64_t left() const { return total_ - at_; }
  // Packs the next `bytes` <= left() into `packed`, or unpacks them from there.
  void next(std::byte* packed, int64_t bytes) noexcept;
  // The same without a copy: the address of the next bytes (packing), or where the caller may write
  // them (unpacking; filled() takes them). Valid until the next call. It lies in the user's memory
  // if they are one run there, else in a buffer of the stream. Null, and nothing changes: no
  // memory.
  std::byte* lend(int64_t bytes) noexcept {
    std::byte* place = nullptr;
    if (!lend_buffer_.holds(at_, bytes) && !lend_anew(bytes, &place)) return nullptr;
    is_apart_ = place == nullptr;
    if (is_apart_) place = lend_buffer_.place(at_);
    if (!kPack) {
      lent_ = bytes;
    } else if (is_apart_) {
      at_ += bytes;
    } else {
      move_on(bytes);
    }
    return place;
  }
  // Unpacking: the caller has written the first `bytes` <= lent() of the place.
  void filled(int64_t bytes) noexcept {
    lent_ = kNone;
    if (!is_apart_) return move_on(bytes);
    at_ += bytes;
    if (at_ == lend_buffer_.end()) close_apart();
  }
  // Unpacking: bytes of a place for which filled() has not been called; kNone: there is none.
  int64_t lent() const { return lent_; }
  static constexpr int64_t kNone = -1;
  // The next piece begins at byte `at`, 0 <= at <= total().
  void seek(int64_t at) noexcept;
  // Unpacking: all bytes so far are in memory afterwards. Packing: drops what is held; the next
  // piece reads memory again.
  void flush() noexcept;

 private:
  // A group in a buffer.
  struct Slot {
    StreamPart group;
    std::byte* place = nullptr;
    int64_t given = 0;    // packing: bytes that pieces have taken
    ReceivedRanges held;  // unpacking: ranges that have arrived
  };

  // Packing: the next group in a buffer of its own; its first `rows` rows are packed.
  struct Ahead {
    StreamPart group;
    std::byte* place = nullptr;
    int64_t rows = 0;
  };

  int64_t first_group_bytes() const;
  // Bytes [begin, end) as a slice.
  void move(int64_t begin, int64_t end, std::byte* packed) const;
  // Sets part_ to the part that holds at_.
  void find_part();
  // Whether this piece and those before lie in one buffer as they do in the message.
  bool is_assembled(const std::byte* packed, int64_t bytes);
  // Copies a piece from a group by non-temporal stores, and packs a share of the next group
  // meanwhile.
  void through_past_caches(const Slot& slot, std::byte* packed, int64_t bytes);
  void begin_ahead(const StreamPart& group);
  // Packs the rows of the next group up to `end`.
  void move_rows_ahead(int64_t end);
  Executor<kPack> group_executor() const;
  void drop_ahead();
  // The address of the next `bytes` if they are contiguous in memory or in a group's buffer (the
  // group is moved if need be); else null.
  std::byte* together(int64_t bytes);
  // Sets *place to such an address, or opens lend_buffer_ for the next `bytes`. False: no memory.
  bool lend_anew(int64_t bytes, std::byte** place);
  // Opens lend_buffer_ for the next `bytes`, which are not contiguous, and for more pieces like
  // them.
  bool open_apart(int64_t bytes);
  // Unpacking: unpacks what arrived in lend_buffer_. Packing: drops it.
  void close_apart();
  // The length of the whole groups within the next `bytes`; 0: the position is inside a group, or
  // there is no whole one.
  int64_t whole_groups(int64_t bytes) const;
  // The bytes at the address of together() were taken, or have arrived.
  void move_on(int64_t bytes);
  // The slot of part_, made if there is room; null if not.
  Slot* slot();
  Slot* new_slot(std::byte* place);
  // Copies the next `bytes` between the group's buffer and `packed` by copy(to, from, bytes).
  template <typename Copy>
  void through(const Slot& slot, std::byte* packed, int64_t bytes, Copy copy) const;
  // Those bytes were taken, or have arrived.
  void passed(Slot& slot, int64_t bytes);
  // Moves iterations of the group between memory and the buffer.
  void move_iterations(const Slot& slot, int64_t first, int64_t last) const;
  void write_back(const Slot& slot) const;
  void drop(size_t index);
  // Changes from one small group to as many large ones as may be kept.
  void prepare_to_seek();
  // Drops the groups in this range.
  void forget(int64_t begin, int64_t end);

  PlanPtr plan_;
  std::byte* mem_;
  int64_t count_;
  int64_t total_;
  int64_t cap_bytes_;
  int64_t keep_bytes_;
  int64_t most_bytes_;  // of a group
  SlotPool pool_;
  size_t most_slots_ = 1;
  int64_t at_ = 0;           // where the next piece begins
  bool in_order_ = true;     // the next piece continues the one before
  bool is_sought_ = false;   // seek was called
  StreamPart part_;          // the last one that find_part found
  std::vector<Slot> slots_;  // the oldest first
  // Where their groups begin, side by side for the search: each piece looks for its slot.
  std::vector<int64_t> begins_;
  Ahead ahead_;
  uintptr_t origin_ = 0;   // where the message would begin, by the address of the last piece
  int64_t assembled_ = 0;  // bytes of earlier pieces with that origin
  LendBuffer lend_buffer_;
  // What was lent last.
  bool is_apart_ = false;
  Slot* lent_slot_ = nullptr;  // null: in the user's memory, or in lend_buffer_
  int64_t lent_ = kNone;
};

extern template class Stream<true>;
extern template class Stream<false>;

}  // namespace lacuna

#endif  // LACUNA_ENGINE_EXEC_STREAM_STREAM_HPP_
