// SPDX-License-Identifier: BSD-3-Clause
//
// Streams: which parts of a message are moved as groups, and the buffers between groups and pieces.
#include "exec/stream.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "base/address.hpp"
#include "exec/exec.hpp"
#include "exec/mover.hpp"

namespace lacuna {
namespace {

using Kind = LayoutNode::Kind;

// The group's lines and its packed form, both in the second level with room to spare. Of 1024^2
// doubles, pieces of 8 KiB, times the whole, packed and unpacked (Granite Rapids, 2 MiB of second
// level): groups of 128 KiB 1.9 and 8, 256 KiB 2.6 and 2.0, 512 KiB 1.9 and 1.5, 1 MiB 2.1 and 1.8.
int64_t most_group_bytes(const Machine& machine) {
  return std::min<int64_t>(machine.l2_bytes / 4, 1 << 20);
}

// Iterations of `node` that share lines with each other, where one of them visits more lines than
// stay in the first level until the next comes; 0: there are none such.
int64_t sharing(const PlanNode& node, const Machine& machine) {
  if (node.kind != Kind::kLoop || node.children[0]->kind != Kind::kLoop) return 0;
  const int64_t line = machine.line_bytes;
  const int64_t stride = std::abs(node.loop.mem_stride);
  const Loop& inner = node.children[0]->loop;
  if (stride == 0 || stride >= line || std::abs(inner.mem_stride) < line) return 0;
  if (inner.count <= machine.l1_bytes / line / 8) return 0;
  return (line + stride - 1) / stride;
}

// How many of `each` packed bytes are a group of at most `most_bytes`; 0: they have none.
int64_t group_iterations(const PlanNode& node, int64_t each, const Machine& machine,
                         int64_t most_bytes) {
  const int64_t together = sharing(node, machine);
  return together == 0 ? 0 : most_bytes / (together * each) * together;
}

// Where iterations of `each` bytes lie in a buffer: columns a power of two apart would all lie in
// the same few places of the first level, which cost 3 to 4 times the whole transpose (1024^2
// doubles in groups of 256 KiB, Zen 5: 686 us, and 205 at an odd number of lines).
int64_t pitch_of(const PlanNode& loop, int64_t each, int64_t line) {
  constexpr int64_t kLeastPadded = 1024;
  if (each < kLeastPadded || !Mover<true>::moves_apart(loop)) return each;
  return ((each + line - 1) / line | 1) * line;
}

// Of groups of `most_bytes`, the padding of which is at most this share.
int64_t buffer_bytes(int64_t most_bytes) { return most_bytes + most_bytes / 8; }

// How many iterations from the loop's first on begin in its line.
int64_t before_line(const std::byte* mem, int64_t stride, int64_t line) {
  if (stride <= 0) return 0;
  const int64_t over = static_cast<int64_t>(reinterpret_cast<uintptr_t>(mem)) & (line - 1);
  return over == 0 ? 0 : (line - over + stride - 1) / stride;
}

}  // namespace

StreamPart stream_part(const Plan& plan, std::byte* mem, int64_t count, int64_t at,
                       int64_t most_bytes) noexcept {
  const PlanNode* node = &plan.root(count);
  const int64_t line = plan.machine().line_bytes;
  mem = address(mem, plan.offset());
  // The traversal of `node` that holds `at`.
  int64_t begin = 0;
  int64_t end = count * plan.size();
  for (;;) {
    switch (node->kind) {
      case Kind::kLoop: {
        const int64_t size = node->children[0]->size;
        const int64_t i = (at - begin) / size;
        const int64_t its = group_iterations(*node, size, plan.machine(), most_bytes);
        if (its > 0) {
          const int64_t head = before_line(mem, node->loop.mem_stride, line);
          const int64_t first = i < head ? 0 : head + (i - head) / its * its;
          const int64_t last = i < head ? head : first + its;
          return {begin + first * size,
                  std::min(begin + last * size, end),
                  end,
                  node,
                  mem,
                  first,
                  size};
        }
        begin += i * size;
        end = begin + size;
        mem = address(mem, i * node->loop.mem_stride);
        node = node->children[0].get();
        break;
      }
      case Kind::kSeq: {
        const std::vector<int64_t>& packed = node->layout->packed_offsets;
        const auto after = std::upper_bound(packed.begin(), packed.end(), at - begin);
        const size_t i =
            std::min(static_cast<size_t>(after - packed.begin()) - 1, node->children.size() - 1);
        begin += packed[i];
        mem = address(mem, node->layout->mem_offsets[i]);
        node = node->children[i].get();
        end = begin + node->size;
        break;
      }
      default:
        return {begin, end, end, nullptr, nullptr, 0, 0};
    }
  }
}

template <bool kPack>
Stream<kPack>::Stream(PlanPtr plan, std::byte* mem, int64_t count, int64_t cap_bytes,
                      int64_t keep_bytes) noexcept
    : plan_(std::move(plan)),
      mem_(mem),
      count_(count),
      total_(count * plan_->size()),
      cap_bytes_(cap_bytes),
      keep_bytes_(keep_bytes),
      most_bytes_(most_group_bytes(plan_->machine())) {}

template <bool kPack>
Stream<kPack>::~Stream() {
  flush();
  if (spare_ != nullptr) release_buffer(spare_);
}

template <bool kPack>
void Stream<kPack>::move(int64_t begin, int64_t end, std::byte* packed) const {
  if constexpr (kPack) {
    pack_slice(*plan_, mem_, count_, begin, end, packed);
  } else {
    unpack_slice(*plan_, packed, count_, begin, end, mem_);
  }
}

// Memory is written as it would be by the whole message; the buffer stays in the caches.
template <bool kPack>
void Stream<kPack>::move_iterations(const Slot& slot, int64_t first, int64_t last) const {
  const StreamPart& group = slot.group;
  const Mover<kPack> mover(plan_->machine(), total_, kPack ? group.end - group.begin : total_);
  mover.iterations_apart(*group.loop, group.first + first, group.first + last, group.mem,
                         slot.buffer->data + first * slot.pitch, slot.pitch);
}

template <bool kPack>
void Stream<kPack>::write_back(const Slot& slot) const {
  const StreamPart& group = slot.group;
  // Part of an iteration.
  const auto cut = [&](int64_t begin, int64_t end) {
    const int64_t at = begin - group.begin;
    move(begin, end, slot.buffer->data + at / group.each * slot.pitch + at % group.each);
  };
  for (const Span& span : slot.held) {
    const int64_t first = (span.begin - group.begin + group.each - 1) / group.each;
    const int64_t last = (span.end - group.begin) / group.each;
    if (first > last) {
      cut(span.begin, span.end);
      continue;
    }
    const int64_t whole_begin = group.begin + first * group.each;
    const int64_t whole_end = group.begin + last * group.each;
    if (span.begin < whole_begin) cut(span.begin, whole_begin);
    if (first < last) move_iterations(slot, first, last);
    if (whole_end < span.end) cut(whole_end, span.end);
  }
}

template <bool kPack>
bool Stream<kPack>::through(Slot& slot, std::byte* packed, int64_t bytes) {
  const StreamPart& group = slot.group;
  const int64_t at = at_ - group.begin;
  if constexpr (!kPack) {
    if (!slot.held.add(at_, at_ + bytes)) {
      write_back(slot);
      slot.held.clear();
      slot.held.add(at_, at_ + bytes);
    }
  }
  const bool is_dense = slot.pitch == group.each;
  int64_t i = is_dense ? 0 : at / group.each;
  int64_t within = is_dense ? at : at % group.each;
  for (int64_t left = bytes; left > 0; ++i, within = 0) {
    std::byte* const kept = slot.buffer->data + i * slot.pitch + within;
    const int64_t now = is_dense ? left : std::min(left, group.each - within);
    // Through the caches: a piece is on its way to somewhere. (Past them, with a fence for each 8
    // KiB, all of it took 1.3 to 1.6 times as long on Zen 5.)
    std::memcpy(kPack ? packed : kept, kPack ? kept : packed, static_cast<size_t>(now));
    packed += now;
    left -= now;
  }
  if constexpr (kPack) {
    slot.given += bytes;
    return slot.given >= group.end - group.begin;
  }
  if (!slot.held.covers(group.begin, group.end)) return false;
  write_back(slot);
  return true;
}

template <bool kPack>
void Stream<kPack>::next(std::byte* packed, int64_t bytes) noexcept {
  // Looking for a group costs about as much as moving this.
  constexpr int64_t kLeastStep = 4096;
  while (bytes > 0) {
    if (at_ < part_.begin || at_ >= part_.end)
      part_ = stream_part(*plan_, mem_, count_, at_, most_bytes_);
    int64_t now = 0;
    if (part_.loop == nullptr) {
      now = std::min(bytes, std::max(part_.end - at_, kLeastStep));
      move(at_, at_ + now, packed);
    } else if (const int64_t whole = whole_groups(bytes); whole > 0) {
      now = whole;
      move(at_, at_ + now, packed);
      forget(at_, at_ + now);
    } else {
      now = std::min(bytes, part_.end - at_);
      if (Slot* const held = slot()) {
        if (through(*held, packed, now)) drop(static_cast<size_t>(held - slots_.data()));
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
int64_t Stream<kPack>::whole_groups(int64_t bytes) const {
  const int64_t here = part_.end - part_.begin;
  if (at_ != part_.begin || bytes < here) return 0;
  if (bytes >= part_.last - at_) return part_.last - at_;
  const int64_t group =
      part_.each * group_iterations(*part_.loop, part_.each, plan_->machine(), most_bytes_);
  return here + (bytes - here) / group * group;
}

template <bool kPack>
typename Stream<kPack>::Slot* Stream<kPack>::slot() {
  for (Slot& one : slots_) {
    if (one.group.begin == part_.begin) return &one;
  }
  Slot* const made = new_slot();
  if (kPack && made != nullptr) move_iterations(*made, 0, (part_.end - part_.begin) / part_.each);
  return made;
}

// Who goes on in order gets the room of the oldest. Not who jumps: in a message of which only a
// share can be held, groups would leave before their second piece comes.
template <bool kPack>
typename Stream<kPack>::Slot* Stream<kPack>::new_slot() {
  if (slots_.size() >= most_slots_) {
    if (!in_order_ || slots_.empty()) return nullptr;
    if (!kPack) write_back(slots_.front());
    drop(0);
  }
  Buffer* const buffer = spare_ != nullptr ? std::exchange(spare_, nullptr)
                                           : acquire_buffer(buffer_bytes(most_bytes_), cap_bytes_);
  if (buffer == nullptr) {
    most_slots_ = slots_.size();  // it is not asked for with every piece
    return nullptr;
  }
  try {
    slots_.push_back(
        {part_, pitch_of(*part_.loop, part_.each, plan_->machine().line_bytes), buffer, 0, {}});
  } catch (const std::bad_alloc&) {
    release_buffer(buffer);
    return nullptr;
  }
  return &slots_.back();
}

template <bool kPack>
void Stream<kPack>::drop(size_t index) {
  Buffer* const buffer = slots_[index].buffer;
  slots_.erase(slots_.begin() + static_cast<ptrdiff_t>(index));
  if (spare_ == nullptr) {
    spare_ = buffer;
  } else {
    release_buffer(buffer);
  }
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
  at_ = at;
  in_order_ = false;
  if (most_slots_ == 1)
    most_slots_ =
        static_cast<size_t>(std::max<int64_t>(1, keep_bytes_ / buffer_bytes(most_bytes_)));
}

template <bool kPack>
void Stream<kPack>::flush() noexcept {
  for (; !slots_.empty(); drop(slots_.size() - 1)) {
    if (!kPack) write_back(slots_.back());
  }
}

template class Stream<true>;
template class Stream<false>;

}  // namespace lacuna
