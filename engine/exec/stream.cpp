// SPDX-License-Identifier: BSD-3-Clause
//
// Streams: which parts of a message are moved as groups, and the buffer between groups and pieces.
#include "exec/stream.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "exec/exec.hpp"
#include "exec/part.hpp"

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

}  // namespace

StreamPart stream_part(const Plan& plan, int64_t count, int64_t at, int64_t most_bytes) noexcept {
  const PlanNode* node = &plan.root(count);
  // The traversal of `node` that holds `at`.
  int64_t begin = 0;
  int64_t end = count * plan.size();
  for (;;) {
    switch (node->kind) {
      case Kind::kLoop: {
        const int64_t size = node->children[0]->size;
        const int64_t together = sharing(*node, plan.machine());
        if (together > 0 && together * size <= most_bytes) {
          const int64_t group = most_bytes / (together * size) * together * size;
          begin += (at - begin) / group * group;
          return {begin, std::min(begin + group, end), end, true};
        }
        begin += (at - begin) / size * size;
        end = begin + size;
        break;
      }
      case Kind::kSeq: {
        const std::vector<int64_t>& packed = node->layout->packed_offsets;
        const auto after = std::upper_bound(packed.begin(), packed.end(), at - begin);
        const size_t i =
            std::min(static_cast<size_t>(after - packed.begin()) - 1, node->children.size() - 1);
        begin += packed[i];
        node = node->children[i].get();
        end = begin + node->size;
        continue;
      }
      default:
        return {begin, end, end, false};
    }
    node = node->children[0].get();
  }
}

template <bool kPack>
Stream<kPack>::Stream(PlanPtr plan, std::byte* mem, int64_t count, int64_t cap_bytes) noexcept
    : plan_(std::move(plan)),
      mem_(mem),
      count_(count),
      total_(count * plan_->size()),
      cap_bytes_(cap_bytes),
      most_bytes_(most_group_bytes(plan_->machine())),
      copy_(find_kernel(plan_->kernels(), Shape::kStrided, most_bytes_ + 17).fn) {}

template <bool kPack>
Stream<kPack>::~Stream() {
  flush();
  if (buffer_ != nullptr) release_buffer(buffer_);
}

template <bool kPack>
void Stream<kPack>::move(int64_t begin, int64_t end, std::byte* packed) const {
  if constexpr (kPack) {
    pack_slice(*plan_, mem_, count_, begin, end, packed);
  } else {
    unpack_slice(*plan_, packed, count_, begin, end, mem_);
  }
}

// Out of the buffer, past the caches where all of the message would go past them.
template <bool kPack>
void Stream<kPack>::give_out(std::byte* packed, const std::byte* kept, int64_t bytes) const {
  Move m;
  m.src = kept;
  m.dst = packed;
  m.width = bytes;
  m.stream = total_ >= plan_->machine().stream_transpose_bytes;
  copy_(m);
}

template <bool kPack>
void Stream<kPack>::held(const StreamPart& group, std::byte* packed, int64_t bytes) {
  std::byte* const kept = buffer_->data + (at_ - group.begin);
  if constexpr (kPack) {
    if (at_ < held_begin_ || at_ >= held_end_) {
      move(at_, group.end, kept);
      held_begin_ = at_;
      held_end_ = group.end;
    }
    give_out(packed, kept, bytes);
  } else {
    if (held_begin_ == held_end_) held_begin_ = held_end_ = at_;
    std::memcpy(kept, packed, static_cast<size_t>(bytes));
    held_end_ += bytes;
    if (held_end_ == group.end) {
      // Whole lines of memory, written as those of the whole message would be.
      move_part<false>(*plan_, mem_, count_, held_begin_, held_end_,
                       buffer_->data + (held_begin_ - group.begin), total_);
      held_begin_ = held_end_;
    }
  }
}

template <bool kPack>
void Stream<kPack>::next(std::byte* packed, int64_t bytes) noexcept {
  // Looking for a group costs about as much as moving this.
  constexpr int64_t kLeastStep = 4096;
  while (bytes > 0) {
    if (at_ >= part_.end) part_ = stream_part(*plan_, count_, at_, most_bytes_);
    int64_t now = 0;
    if (!part_.is_group) {
      now = std::min(bytes, std::max(part_.end - at_, kLeastStep));
      move(at_, at_ + now, packed);
    } else if (const int64_t whole = whole_groups(bytes); whole > 0) {
      now = whole;
      move(at_, at_ + now, packed);
    } else {
      now = std::min(bytes, part_.end - at_);
      if (has_buffer()) {
        held(part_, packed, now);
      } else {
        move(at_, at_ + now, packed);
      }
    }
    at_ += now;
    packed += now;
    bytes -= now;
  }
}

template <bool kPack>
int64_t Stream<kPack>::whole_groups(int64_t bytes) const {
  if (at_ != part_.begin) return 0;
  const int64_t group = part_.end - part_.begin;
  return bytes >= part_.last - at_ ? part_.last - at_ : bytes / group * group;
}

template <bool kPack>
bool Stream<kPack>::has_buffer() {
  if (buffer_ == nullptr && !is_refused_) {
    buffer_ = acquire_buffer(most_bytes_, cap_bytes_);
    is_refused_ = buffer_ == nullptr;
  }
  return buffer_ != nullptr;
}

template <bool kPack>
void Stream<kPack>::flush() noexcept {
  if (!kPack && held_begin_ < held_end_) {
    move(held_begin_, held_end_, buffer_->data + (held_begin_ - part_.begin));
  }
  held_begin_ = held_end_ = 0;
}

template class Stream<true>;
template class Stream<false>;

}  // namespace lacuna
