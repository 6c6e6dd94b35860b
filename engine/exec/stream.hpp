// SPDX-License-Identifier: BSD-3-Clause
//
// Stream: one message, packed or unpacked from its begin to its end in pieces of any lengths. What
// a slice must do alone, a stream does once for its neighbours: where iterations of a loop share
// lines (the columns of a matrix), it moves all that share them at once, and keeps them until the
// pieces get there. After the resumable state of Gropp, Lusk & Swider 1999, section 4, which keeps
// the place; here a slice finds its place by itself, and what is kept are lines.
#ifndef LACUNA_ENGINE_EXEC_STREAM_HPP_
#define LACUNA_ENGINE_EXEC_STREAM_HPP_

#include <cstddef>
#include <cstdint>

#include "exec/buffers.hpp"
#include "plan/plan.hpp"

namespace lacuna {

// Bytes [begin, end) of the packed stream around a place: a group, which is read and written whole
// (`is_group`) and followed by others up to `last`; or what has none.
struct StreamPart {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t last = 0;
  bool is_group = false;
};

// The part around byte `at` of `count` elements; groups have at most `most_bytes`. O(depth *
// log(pieces)).
StreamPart stream_part(const Plan& plan, int64_t count, int64_t at, int64_t most_bytes) noexcept;

template <bool kPack>
class Stream {
 public:
  // `mem` as for pack. Its buffer counts towards `cap_bytes` (buffers.hpp); without one, pieces are
  // moved as slices.
  Stream(PlanPtr plan, std::byte* mem, int64_t count, int64_t cap_bytes) noexcept;
  // What of an unpacking stream is still held goes to memory.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int64_t left() const { return total_ - at_; }
  // The next `bytes` <= left() of the packed form, out of memory to `packed` or back.
  void next(std::byte* packed, int64_t bytes) noexcept;
  // Unpacking: what came so far is in memory afterwards. Packing: what is held is forgotten, and
  // read again by the next piece.
  void flush() noexcept;

 private:
  // Between memory and the buffer, or a piece.
  void move(int64_t begin, int64_t end, std::byte* packed) const;
  // Of at most `bytes` from here on; 0: a group is begun or will not be complete.
  int64_t whole_groups(int64_t bytes) const;
  bool has_buffer();
  void give_out(std::byte* packed, const std::byte* kept, int64_t bytes) const;
  // One piece of a group.
  void held(const StreamPart& group, std::byte* packed, int64_t bytes);

  PlanPtr plan_;
  std::byte* mem_;
  int64_t count_;
  int64_t total_;
  int64_t cap_bytes_;
  int64_t most_bytes_;      // of a group
  KernelFn copy_;           // of one run
  int64_t at_ = 0;          // where the next piece begins
  int64_t held_begin_ = 0;  // of the stream: what the buffer holds
  int64_t held_end_ = 0;
  StreamPart part_;  // around at_, or before it
  Buffer* buffer_ = nullptr;
  bool is_refused_ = false;  // no buffer to be had
};

extern template class Stream<true>;
extern template class Stream<false>;

}  // namespace lacuna

#endif  // LACUNA_ENGINE_EXEC_STREAM_HPP_
