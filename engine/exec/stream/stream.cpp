// SPDX-License-Identifier: BSD-3-Clause
//
// Streams: which parts of a message are moved as groups, and the buffers between groups and pieces.
#include "exec/stream/stream.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "base/address.hpp"
#include "exec/exec.hpp"
#include "exec/executor.hpp"

namespace lacuna {

template <bool kPack>
Stream<kPack>::Stream(PlanPtr plan, std::byte* mem, int64_t count, int64_t cap_bytes,
                      int64_t keep_bytes) noexcept
    : plan_(std::move(plan)),
      mem_(mem),
      count_(count),
      total_(count * plan_->size()),
      cap_bytes_(cap_bytes),
      keep_bytes_(keep_bytes),
      most_bytes_(first_group_bytes()),
      pool_(group_buffer_bytes(most_bytes_), cap_bytes) {}

// Large groups for messages in DRAM, where four lines of a row are too few to prefetch; and if the
// columns of one line exceed a small group.
template <bool kPack>
int64_t Stream<kPack>::first_group_bytes() const {
  const Machine& machine = plan_->machine();
  const int64_t small = most_group_bytes(machine);
  const int64_t large = most_sought_group_bytes(machine, INT64_MAX);
  if (total_ > machine.l3_bytes / 2) return large;
  const auto has_groups = [&](int64_t bytes) {
    return stream_part(*plan_, mem_, count_, 0, bytes).loop != nullptr;
  };
  return total_ > large && !has_groups(small) && has_groups(large) ? large : small;
}

template <bool kPack>
Stream<kPack>::~Stream() {
  flush();
}

template <bool kPack>
void Stream<kPack>::move(int64_t begin, int64_t end, std::byte* packed) const {
  if constexpr (kPack) {
    pack_slice(*plan_, mem_, count_, begin, end, packed);
  } else {
    unpack_slice(*plan_, packed, count_, begin, end, mem_, in_order_);
  }
}

template <bool kPack>
Executor<kPack> Stream<kPack>::group_executor() const {
  const Machine& machine = plan_->machine();
  return Executor<kPack>(total_, kPack ? most_group_bytes(machine) : total_);
}

// Memory is written as the whole message would be. The buffer is written by cached stores, as the
// caller reads it next: non-temporal ones are faster alone and slower with a consumer
// (docs/experiments/2026-11-26-kernel-choices.md).
template <bool kPack>
void Stream<kPack>::move_iterations(const Slot& slot, int64_t first, int64_t last) const {
  const StreamPart& group = slot.group;
  group_executor().iterations_apart(*group.loop, group.first + first, group.first + last, group.mem,
                                    slot.place + first * group.pitch, group.pitch);
}

template <bool kPack>
void Stream<kPack>::write_back(const Slot& slot) const {
  const StreamPart& group = slot.group;
  // Part of an iteration.
  const auto cut = [&](int64_t begin, int64_t end) {
    const int64_t at = begin - group.begin;
    move(begin, end, slot.place + at / group.each * slot.group.pitch + at % group.each);
  };
  for (const ByteRange& range : slot.held) {
    const int64_t first = (range.begin - group.begin + group.each - 1) / group.each;
    const int64_t last = (range.end - group.begin) / group.each;
    if (first > last) {
      cut(range.begin, range.end);
      continue;
    }
    const int64_t whole_begin = group.begin + first * group.each;
    const int64_t whole_end = group.begin + last * group.each;
    if (range.begin < whole_begin) cut(range.begin, whole_begin);
    if (first < last) move_iterations(slot, first, last);
    if (whole_end < range.end) cut(whole_end, range.end);
  }
}

template <bool kPack>
template <typename Copy>
void Stream<kPack>::through(const Slot& slot, std::byte* packed, int64_t bytes, Copy copy) const {
  const StreamPart& group = slot.group;
  const int64_t at = at_ - group.begin;
  const bool is_dense = group.pitch == group.each;
  int64_t i = is_dense ? 0 : at / group.each;
  int64_t within = is_dense ? at : at % group.each;
  for (int64_t left = bytes; left > 0; ++i, within = 0) {
    std::byte* const kept = slot.place + i * group.pitch + within;
    const int64_t now = is_dense ? left : std::min(left, group.each - within);
    copy(kPack ? packed : kept, kPack ? kept : packed, now);
    packed += now;
    left -= now;
  }
}

// A message that is assembled in one buffer may be written by non-temporal stores, as it would be
// as a whole. If the caller reads each piece before the next, the pieces come to other addresses.
template <bool kPack>
bool Stream<kPack>::is_assembled(const std::byte* packed, int64_t bytes) {
  constexpr int64_t kLeastBytes = 1 << 16;
  const Machine& machine = plan_->machine();
  const bool may_be = kPack && !is_sought_ &&
                      total_ >= std::max(machine.stream_transpose_bytes, machine.l3_bytes / 8) &&
                      most_bytes_ <= most_group_bytes(machine) && machine.cheap_fences &&
                      plan_->kernels().copy_past != nullptr;
  if (!may_be) return false;
  const auto origin = reinterpret_cast<uintptr_t>(packed) - static_cast<uintptr_t>(at_);
  assembled_ = origin == origin_ ? assembled_ : 0;
  origin_ = origin;
  const bool is_long = assembled_ >= kLeastBytes;
  assembled_ += bytes;
  return is_long;
}

// Each piece needs a fence, which waits for its stores. By itself that takes 1.3 to 1.6 times as
// long as memcpy (Zen 5). With a share of the next group packed before the fence it takes 0.6 to
// 0.75 of the time (Zen 4; docs/experiments/2026-11-26-slices-and-streams.md), except for messages
// below an eighth of the L3.
template <bool kPack>
void Stream<kPack>::through_past_caches(const Slot& slot, std::byte* packed, int64_t bytes) {
  const StreamPart& group = slot.group;
  through(slot, packed, bytes, plan_->kernels().copy_past);
  if (ahead_.place == nullptr) begin_ahead(group);
  if (ahead_.place != nullptr) {
    const Step& step = ahead_.group.loop->step;
    const int64_t line = plan_->machine().line_bytes;
    const int64_t rows = line % step.width == 0 ? line / step.width : line;  // whole lines
    const int64_t all = step.inner.count;
    const double share = static_cast<double>(at_ + bytes - group.begin) /
                         static_cast<double>(group.end - group.begin);
    const auto due = static_cast<int64_t>(share * static_cast<double>(all)) / rows * rows;
    move_rows_ahead(std::min(due, all));
  }
  plan_->kernels().fence_past();
}

template <bool kPack>
void Stream<kPack>::begin_ahead(const StreamPart& group) {
  if (group.end >= group.last) return;
  const StreamPart next = stream_part(*plan_, mem_, count_, group.end, most_bytes_);
  if (next.loop == nullptr || !Executor<kPack>::moves_rows(*next.loop)) return;
  ahead_ = {next, pool_.take(1), 0};
}

template <bool kPack>
void Stream<kPack>::move_rows_ahead(int64_t end) {
  if (end <= ahead_.rows) return;
  const StreamPart& group = ahead_.group;
  const int64_t last = group.first + (group.end - group.begin) / group.each;
  group_executor().rows_apart(*group.loop, group.first, last, ahead_.rows, end, group.mem,
                              ahead_.place, group.pitch);
  ahead_.rows = end;
}

template <bool kPack>
void Stream<kPack>::drop_ahead() {
  if (ahead_.place != nullptr) pool_.give(ahead_.place);
  ahead_ = {};
}

template <bool kPack>
void Stream<kPack>::passed(Slot& slot, int64_t bytes) {
  const StreamPart& group = slot.group;
  if constexpr (kPack) {
    slot.given += bytes;
    if (slot.given < group.end - group.begin) return;
  } else {
    if (!slot.held.add(at_, at_ + bytes)) {
      write_back(slot);
      slot.held.clear();
      slot.held.add(at_, at_ + bytes);
    }
    if (!slot.held.cover(group.begin, group.end)) return;
    write_back(slot);
  }
  drop(static_cast<size_t>(&slot - slots_.data()));
}

template <bool kPack>
void Stream<kPack>::find_part() {
  if (at_ < part_.begin || at_ >= part_.end)
    part_ = stream_part(*plan_, mem_, count_, at_, most_bytes_);
}

template <bool kPack>
void Stream<kPack>::next(std::byte* packed, int64_t bytes) noexcept {
  if (!kPack) close_apart();
  const bool is_past_caches = is_assembled(packed, bytes);
  while (bytes > 0) {
    find_part();
    int64_t now = 0;
    if (part_.loop == nullptr) {
      const int64_t end = at_ + std::min(bytes, kLeastPartBytes);
      now = std::min(bytes, parts_end(*plan_, mem_, count_, part_.end, end, most_bytes_) - at_);
      move(at_, at_ + now, packed);
    } else if (const int64_t whole = whole_groups(bytes); whole > 0) {
      now = whole;
      move(at_, at_ + now, packed);
      forget(at_, at_ + now);
    } else {
      now = std::min(bytes, part_.end - at_);
      if (Slot* const held = slot()) {
        if (is_past_caches) {
          through_past_caches(*held, packed, now);
        } else {
          // Cached stores: the piece will be read soon.
          through(*held, packed, now, [](std::byte* to, const std::byte* from, int64_t n) {
            std::memcpy(to, from, static_cast<size_t>(n));
          });
        }
        passed(*held, now);
      } else {
        move(at_, at_ + now, packed);
      }
    }
    at_ += now;
    packed += now;
    bytes -= now;
    in_order_ = true;
  }
}

template <bool kPack>
bool Stream<kPack>::lend_anew(int64_t bytes, std::byte** place) {
  close_apart();
  if (bytes > 0) *place = together(bytes);
  return *place != nullptr || open_apart(bytes);
}

template <bool kPack>
void Stream<kPack>::move_on(int64_t bytes) {
  if (bytes == 0) return;
  if (lent_slot_ != nullptr) passed(*lent_slot_, bytes);
  at_ += bytes;
  in_order_ = true;
}

template <bool kPack>
std::byte* Stream<kPack>::together(int64_t bytes) {
  lent_slot_ = nullptr;
  find_part();
  if (at_ + bytes > part_.end) return nullptr;
  if (part_.loop == nullptr)
    return part_.mem == nullptr ? nullptr : part_.mem + (at_ - part_.begin);
  const int64_t at = at_ - part_.begin;
  if (part_.pitch != part_.each && at % part_.each + bytes > part_.each) return nullptr;
  lent_slot_ = slot();
  if (lent_slot_ == nullptr) return nullptr;
  return lent_slot_->place + at / part_.each * part_.pitch + at % part_.each;
}

// In order, several pieces without groups are moved at once, since each piece alone would pay for
// the way to a kernel (docs/experiments/2026-11-26-slices-and-streams.md): as many as stay in the
// L1 until they are taken (packing), or together with the memory that they go to.
template <bool kPack>
bool Stream<kPack>::open_apart(int64_t bytes) {
  int64_t length = bytes;
  if (bytes > 0 && part_.loop == nullptr && !is_sought_) {
    const int64_t l1_bytes = plan_->machine().l1_bytes;
    const int64_t pieces = (kPack ? l1_bytes / 4 : l1_bytes / 3 * 2) / bytes;
    length = std::max(bytes, std::min(pieces * bytes, part_.end - at_));
  }
  if (!lend_buffer_.reserve(length, cap_bytes_)) {
    length = bytes;
    if (!lend_buffer_.reserve(length, cap_bytes_)) return false;
  }
  const int64_t begin = at_;
  if (kPack) next(lend_buffer_.data(), length);
  at_ = begin;
  lend_buffer_.open(begin, begin + length);
  return true;
}

template <bool kPack>
void Stream<kPack>::close_apart() {
  const int64_t bytes = std::min(at_, lend_buffer_.end()) - lend_buffer_.begin();
  lend_buffer_.close();
  if (kPack || bytes <= 0) return;
  at_ = lend_buffer_.begin();
  next(lend_buffer_.data(), bytes);
}

template <bool kPack>
int64_t Stream<kPack>::whole_groups(int64_t bytes) const {
  const int64_t here = part_.end - part_.begin;
  if (at_ != part_.begin || bytes < here) return 0;
  if (bytes >= part_.last - at_) return part_.last - at_;
  return here + (bytes - here) / part_.step * part_.step;
}

template <bool kPack>
typename Stream<kPack>::Slot* Stream<kPack>::slot() {
  const auto found = std::find(begins_.begin(), begins_.end(), part_.begin);
  if (found != begins_.end()) return &slots_[static_cast<size_t>(found - begins_.begin())];
  if (ahead_.place != nullptr && ahead_.group.begin == part_.begin) {
    move_rows_ahead(part_.loop->step.inner.count);
    return new_slot(std::exchange(ahead_, {}).place);
  }
  drop_ahead();
  Slot* const made = new_slot(nullptr);
  if (kPack && made != nullptr) move_iterations(*made, 0, (part_.end - part_.begin) / part_.each);
  return made;
}

// A stream that continues in order replaces its oldest group. One that jumps does not: if only a
// share of the message can be held, groups would be evicted before their second piece comes.
template <bool kPack>
typename Stream<kPack>::Slot* Stream<kPack>::new_slot(std::byte* place) {
  if (slots_.size() >= most_slots_) {
    if (!in_order_ || slots_.empty()) {
      if (place != nullptr) pool_.give(place);
      return nullptr;
    }
    if (!kPack) write_back(slots_.front());
    drop(0);
  }
  const int64_t left = (total_ + most_bytes_ - 1) / most_bytes_;
  const auto more = static_cast<int64_t>(most_slots_ - slots_.size());
  if (place == nullptr) place = pool_.take(std::min(left, more));
  if (place == nullptr) {
    most_slots_ = slots_.size();  // so that not every piece tries again
    return nullptr;
  }
  try {
    begins_.push_back(part_.begin);
    Slot& made = slots_.emplace_back();  // built in place: a Slot is large for the stack
    made.group = part_;
    made.place = place;
  } catch (const std::bad_alloc&) {
    begins_.resize(slots_.size());
    pool_.give(place);
    return nullptr;
  }
  return &slots_.back();
}

template <bool kPack>
void Stream<kPack>::drop(size_t index) {
  pool_.give(slots_[index].place);
  slots_.erase(slots_.begin() + static_cast<ptrdiff_t>(index));
  begins_.erase(begins_.begin() + static_cast<ptrdiff_t>(index));
}

template <bool kPack>
void Stream<kPack>::forget(int64_t begin, int64_t end) {
  for (size_t i = slots_.size(); i-- > 0;) {
    if (slots_[i].group.begin >= begin && slots_[i].group.begin < end) drop(i);
  }
}

template <bool kPack>
void Stream<kPack>::seek(int64_t at) noexcept {
  if (at == at_) return;
  close_apart();
  if (!is_sought_) prepare_to_seek();
  at_ = at;
  in_order_ = false;
}

template <bool kPack>
void Stream<kPack>::prepare_to_seek() {
  is_sought_ = true;
  flush();
  part_ = {};
  most_bytes_ = most_sought_group_bytes(plan_->machine(), keep_bytes_);
  pool_.resize(group_buffer_bytes(most_bytes_));
  most_slots_ = static_cast<size_t>(std::max<int64_t>(1, keep_bytes_ / pool_.each_bytes()));
}

template <bool kPack>
void Stream<kPack>::flush() noexcept {
  close_apart();
  drop_ahead();
  for (; !slots_.empty(); drop(slots_.size() - 1)) {
    if (!kPack) write_back(slots_.back());
  }
}

template class Stream<true>;
template class Stream<false>;

}  // namespace lacuna
