// SPDX-License-Identifier: BSD-3-Clause
//
// Copies of few bytes whose number is known only at run time, without a call: two overlapping moves
// of the largest power of two that fits. Included inside a namespace of its own by the reference
// and by each SIMD target (no include guard; the bodies must be compiled with the target's flags).

// The two moves together cover [0, bytes) and nothing else; bytes in [sizeof(T), 2 * sizeof(T)].
template <typename T>
[[gnu::always_inline]] inline void copy_overlapping(std::byte* dst, const std::byte* src,
                                                    int64_t bytes) {
  T head;
  T tail;
  std::memcpy(&head, src, sizeof(T));
  std::memcpy(&tail, src + bytes - static_cast<int64_t>(sizeof(T)), sizeof(T));
  std::memcpy(dst, &head, sizeof(T));
  std::memcpy(dst + bytes - static_cast<int64_t>(sizeof(T)), &tail, sizeof(T));
}

// bytes in [1, 16].
[[gnu::always_inline]] inline void copy_upto16(std::byte* dst, const std::byte* src,
                                               int64_t bytes) {
  if (bytes >= 8) {
    copy_overlapping<uint64_t>(dst, src, bytes);
  } else if (bytes >= 4) {
    copy_overlapping<uint32_t>(dst, src, bytes);
  } else if (bytes >= 2) {
    copy_overlapping<uint16_t>(dst, src, bytes);
  } else {
    *dst = *src;
  }
}
