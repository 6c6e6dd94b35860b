// SPDX-License-Identifier: BSD-3-Clause
//
// Copies by non-temporal stores, for data that another core reads next.
#ifndef LACUNA_INTERPOSE_DIRECT_ARENA_NONTEMPORAL_COPY_HPP_
#define LACUNA_INTERPOSE_DIRECT_ARENA_NONTEMPORAL_COPY_HPP_

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "interpose/direct/arena/region.hpp"

namespace lacuna::direct {

// Like memcpy, with non-temporal stores for whole lines: these do not fetch the lines that they
// overwrite. Ordered before all later stores (sfence). memcpy on CPUs other than x86.
inline void stream_copy(std::byte* to, const std::byte* from, int64_t bytes) noexcept {
#if defined(__SSE2__)
  const int64_t off = -static_cast<int64_t>(reinterpret_cast<uintptr_t>(to)) & (kLine - 1);
  const int64_t head = std::min(off, bytes);
  std::memcpy(to, from, static_cast<size_t>(head));
  int64_t done = head;
  for (; done + kLine <= bytes; done += kLine) {
    for (int64_t at = done; at < done + kLine; at += 16) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + at),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
    }
  }
  std::memcpy(to + done, from + done, static_cast<size_t>(bytes - done));
  _mm_sfence();
#else
  std::memcpy(to, from, static_cast<size_t>(bytes));
#endif
}

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_ARENA_NONTEMPORAL_COPY_HPP_
