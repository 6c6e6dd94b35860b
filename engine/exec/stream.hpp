// SPDX-License-Identifier: BSD-3-Clause
//
// Stream: one message, packed or unpacked in pieces of any lengths, from its begin to its end or in
// any order; copied to and from places of the caller, or lent. What a slice must do alone, a stream
// does once for its neighbours: where iterations of a loop share lines (the columns of a matrix),
// it moves all that share them at once, a *group*, and keeps them until the pieces get there. After
// the resumable state of Gropp, Lusk & Swider 1999, section 4, which keeps the place; here a slice
// finds its place by itself, and what is kept are lines.
#ifndef LACUNA_ENGINE_EXEC_STREAM_HPP_
#define LACUNA_ENGINE_EXEC_STREAM_HPP_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exec/apart.hpp"
#include "exec/mover.hpp"
#include "exec/places.hpp"
#include "exec/spans.hpp"
#include "exec/stream_part.hpp"
#include "plan/plan.hpp"

namespace lacuna {

template <bool kPack>
class Stream {
 public:
  // `mem` as for pack. Its buffers count towards `cap_bytes` (buffers.hpp); pieces for which there
  // is none are moved as slices. It has one, until it is sought in: then at most `keep_bytes`.
  Stream(PlanPtr plan, std::byte* mem, int64_t count, int64_t cap_bytes,
         int64_t keep_bytes) noexcept;
  // What of an unpacking stream is still held goes to memory.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int64_t total() const { return total_; }
  int64_t left() const { return total_ - at_; }
  // The next `bytes` <= left() of the packed form, out of memory to `packed` or back.
  void next(std::byte* packed, int64_t bytes) noexcept;
  // The same without a copy: where they are (packing), or where they may be put (unpacking;
  // filled() takes them). The place is the caller's until the next call. In the user's memory where
  // they are one run there, else in a buffer of the stream. Null, and nothing changes: there is
  // none.
  std::byte* lend(int64_t bytes) noexcept {
    std::byte* place = nullptr;
    if (!apart_.holds(at_, bytes) && !lend_anew(bytes, &place)) return nullptr;
    is_apart_ = place == nullptr;
    if (is_apart_) place = apart_.place(at_);
    if (!kPack) {
      lent_ = bytes;
    } else if (is_apart_) {
      at_ += bytes;
    } else {
      move_on(bytes);
    }
    return place;
  }
  // Unpacking: the first `bytes` <= lent() of the place have come.
  void filled(int64_t bytes) noexcept {
    lent_ = kNone;
    if (!is_apart_) return move_on(bytes);
    at_ += bytes;
    if (at_ == apart_.end()) close_apart();
  }
  // Unpacking: of a place that was not taken back; kNone: there is none.
  int64_t lent() const { return lent_; }
  static constexpr int64_t kNone = -1;
  // The next piece begins at byte `at`, 0 <= at <= total().
  void seek(int64_t at) noexcept;
  // Unpacking: what came so far is in memory afterwards. Packing: what is held is forgotten, and
  // read again by the next piece.
  void flush() noexcept;

 private:
  // A group in a buffer.
  struct Slot {
    StreamPart group;
    std::byte* place = nullptr;
    int64_t given = 0;  // packing: bytes that pieces took
    Spans held;         // unpacking: what came, until all of it did
  };

  // Packing: the next group, in a buffer of its own, of which the first rows are there.
  struct Ahead {
    StreamPart group;
    std::byte* place = nullptr;
    int64_t rows = 0;
  };

  int64_t first_group_bytes() const;
  // Bytes [begin, end) as a slice.
  void move(int64_t begin, int64_t end, std::byte* packed) const;
  // part_ becomes the one that holds at_.
  void find_part();
  // Whether the pieces before, and this one, lie in one buffer of the message as they do in it.
  bool is_assembled(const std::byte* packed, int64_t bytes);
  // A piece out of a group past the caches, and meanwhile a share of the next group.
  void through_past_caches(const Slot& slot, std::byte* packed, int64_t bytes);
  void begin_ahead(const StreamPart& group);
  // The rows of the group ahead up to `end`.
  void move_rows_ahead(int64_t end);
  Mover<kPack> group_mover() const;
  void drop_ahead();
  // Where the next `bytes` are together already, made so where that takes a group; else null.
  std::byte* together(int64_t bytes);
  // The next `bytes` are together at *place, or else in the buffer apart; false: there is no
  // memory.
  bool lend_anew(int64_t bytes, std::byte** place);
  // The buffer apart for the next `bytes`, which are not together, and more pieces like them.
  bool open_apart(int64_t bytes);
  // Unpacking: what came into it goes to memory. Packing: it is forgotten.
  void close_apart();
  // Of at most `bytes` from here on, whole groups; 0: one is begun or will not be complete.
  int64_t whole_groups(int64_t bytes) const;
  // What together() gave was taken, or has come.
  void move_on(int64_t bytes);
  // That of part_, made where there is room; null where there is none.
  Slot* slot();
  Slot* new_slot(std::byte* place);
  // The next `bytes` of its group between buffer and `packed`, by copy(to, from, bytes).
  template <typename Copy>
  void through(const Slot& slot, std::byte* packed, int64_t bytes, Copy copy) const;
  // They were taken, or have come.
  void passed(Slot& slot, int64_t bytes);
  // Iterations of the group between memory and the buffer.
  void move_iterations(const Slot& slot, int64_t first, int64_t last) const;
  void write_back(const Slot& slot) const;
  void drop(size_t index);
  // From one small group to as many large ones as may be kept.
  void prepare_to_seek();
  // What is held of these groups is not wanted any more.
  void forget(int64_t begin, int64_t end);

  PlanPtr plan_;
  std::byte* mem_;
  int64_t count_;
  int64_t total_;
  int64_t cap_bytes_;
  int64_t keep_bytes_;
  int64_t most_bytes_;  // of a group
  Places places_;
  size_t most_slots_ = 1;
  int64_t at_ = 0;           // where the next piece begins
  bool in_order_ = true;     // it continues the one before
  bool is_sought_ = false;   // at any time
  StreamPart part_;          // the last that was asked for
  std::vector<Slot> slots_;  // the oldest first
  // Where their groups begin: many slots are looked through for each piece.
  std::vector<int64_t> begins_;
  Ahead ahead_;
  uintptr_t origin_ = 0;   // where the message begins, as the last piece lay
  int64_t assembled_ = 0;  // bytes before this piece that lay there
  Apart apart_;
  // The place that was lent last.
  bool is_apart_ = false;
  Slot* lent_slot_ = nullptr;  // null: in the user's memory, unless it is apart
  int64_t lent_ = kNone;
};

extern template class Stream<true>;
extern template class Stream<false>;

}  // namespace lacuna

#endif  // LACUNA_ENGINE_EXEC_STREAM_HPP_
