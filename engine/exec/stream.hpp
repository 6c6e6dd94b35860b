// SPDX-License-Identifier: BSD-3-Clause
//
// Stream: one message, packed or unpacked in pieces of any lengths, from its begin to its end or in
// any order. What a slice must do alone, a stream does once for its neighbours: where iterations of
// a loop share lines (the columns of a matrix), it moves all that share them at once, a *group*,
// and keeps them until the pieces get there. After the resumable state of Gropp, Lusk & Swider
// 1999, section 4, which keeps the place; here a slice finds its place by itself, and what is kept
// are lines.
#ifndef LACUNA_ENGINE_EXEC_STREAM_HPP_
#define LACUNA_ENGINE_EXEC_STREAM_HPP_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exec/buffers.hpp"
#include "exec/spans.hpp"
#include "plan/plan.hpp"

namespace lacuna {

// Bytes [begin, end) of the packed stream around a place: a group, which is read and written whole
// and followed by others up to `last`; or, where `loop` is null, what has none.
struct StreamPart {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t last = 0;
  // A group is iterations [first, first + (end - begin) / each) of this loop.
  const PlanNode* loop = nullptr;
  std::byte* mem = nullptr;  // the loop's origin
  int64_t first = 0;
  int64_t each = 0;  // packed bytes of an iteration
};

// The part around byte `at` of `count` elements at `mem`; groups have at most `most_bytes`, and
// begin at lines of memory where iterations do. O(depth * log(pieces)).
StreamPart stream_part(const Plan& plan, std::byte* mem, int64_t count, int64_t at,
                       int64_t most_bytes) noexcept;

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
  // The next piece begins at byte `at`, 0 <= at <= total().
  void seek(int64_t at) noexcept;
  // Unpacking: what came so far is in memory afterwards. Packing: what is held is forgotten, and
  // read again by the next piece.
  void flush() noexcept;

 private:
  // A group in a buffer.
  struct Slot {
    StreamPart group;
    int64_t pitch;  // iteration i is at i * pitch
    Buffer* buffer;
    int64_t given = 0;  // packing: bytes that pieces took
    Spans held;         // unpacking: what came, until all of it did
  };

  // Bytes [begin, end) as a slice.
  void move(int64_t begin, int64_t end, std::byte* packed) const;
  // Of at most `bytes` from here on, whole groups; 0: one is begun or will not be complete.
  int64_t whole_groups(int64_t bytes) const;
  // That of part_, made where there is room; null where there is none.
  Slot* slot();
  Slot* new_slot();
  // One piece of its group; true when it was the last.
  bool through(Slot& slot, std::byte* packed, int64_t bytes);
  // Iterations of the group between memory and the buffer.
  void move_iterations(const Slot& slot, int64_t first, int64_t last) const;
  void write_back(const Slot& slot) const;
  void drop(size_t index);
  // What is held of these groups is not wanted any more.
  void forget(int64_t begin, int64_t end);

  PlanPtr plan_;
  std::byte* mem_;
  int64_t count_;
  int64_t total_;
  int64_t cap_bytes_;
  int64_t keep_bytes_;
  int64_t most_bytes_;  // of a group
  size_t most_slots_ = 1;
  int64_t at_ = 0;           // where the next piece begins
  bool in_order_ = true;     // it continues the one before
  StreamPart part_;          // the last that was asked for
  std::vector<Slot> slots_;  // the oldest first
  Buffer* spare_ = nullptr;
};

extern template class Stream<true>;
extern template class Stream<false>;

}  // namespace lacuna

#endif  // LACUNA_ENGINE_EXEC_STREAM_HPP_
