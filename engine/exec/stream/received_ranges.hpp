// SPDX-License-Identifier: BSD-3-Clause
//
// ReceivedRanges: a set of bytes of the packed stream, as few ordered ranges that do not touch. For
// what has arrived of a message whose pieces come in any order.
#ifndef LACUNA_ENGINE_EXEC_STREAM_RECEIVED_RANGES_HPP_
#define LACUNA_ENGINE_EXEC_STREAM_RECEIVED_RANGES_HPP_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace lacuna {

struct ByteRange {
  int64_t begin;
  int64_t end;
};

class ReceivedRanges {
 public:
  static constexpr size_t kMost = 128;

  // Adds [begin, end), which is not empty; false, and nothing changes, where that would make more
  // than kMost ranges.
  bool add(int64_t begin, int64_t end) noexcept {
    ByteRange* const first = ranges_.data() + before(begin);
    ByteRange* const stop = ranges_.data() + count_;
    ByteRange* last = first;  // [first, last): the ranges that merge with it
    for (; last != stop && last->begin <= end; ++last) {
      begin = std::min(begin, last->begin);
      end = std::max(end, last->end);
    }
    if (first == last) {
      if (count_ == kMost) return false;
      std::move_backward(first, stop, stop + 1);
      ++count_;
    } else {
      std::move(last, stop, first + 1);
      count_ -= static_cast<size_t>(last - first) - 1;
    }
    *first = {begin, end};
    return true;
  }

  // Whether they are one range, and [begin, end) is in it.
  bool cover(int64_t begin, int64_t end) const noexcept {
    return count_ == 1 && ranges_[0].begin <= begin && ranges_[0].end >= end;
  }

  void clear() noexcept { count_ = 0; }
  const ByteRange* begin() const noexcept { return ranges_.data(); }
  const ByteRange* end() const noexcept { return ranges_.data() + count_; }

 private:
  // How many ranges end before `at`. The binary search has no branches: with pieces in random order
  // each would be mispredicted half of the time.
  size_t before(int64_t at) const noexcept {
    size_t low = 0;
    for (size_t left = count_; left > 0;) {
      const size_t half = (left + 1) / 2;
      low += ranges_[low + half - 1].end < at ? half : 0;
      left -= half;
    }
    return low;
  }

  std::array<ByteRange, kMost> ranges_;
  size_t count_ = 0;
};

}  // namespace lacuna

#endif  // LACUNA_ENGINE_EXEC_STREAM_RECEIVED_RANGES_HPP_
