// SPDX-License-Identifier: BSD-3-Clause
//
// For tests: a library whose convertors have the layout of Open MPI's. Its own function moves one
// byte after the other.
#ifndef LACUNA_INTERPOSE_INSIDE_MADE_UP_LIBRARY_HPP_
#define LACUNA_INTERPOSE_INSIDE_MADE_UP_LIBRARY_HPP_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "interpose/inside/convertor.hpp"

namespace lacuna::inside {

inline constexpr uint32_t kSends = 0x00040000;
inline constexpr uint32_t kReceives = 0x00020000;
inline constexpr uint32_t kHomogeneous = 0x00080000;
inline constexpr uint32_t kContiguous = 0x00100000;
inline constexpr uint32_t kChecksum = 0x00200000;
inline constexpr uint32_t kCompleted = 0x08000000;

struct Object {
  void* super[2];
  uint32_t remote_arch;
  uint32_t flags;
  uint64_t local_size;
  uint64_t remote_size;
  uintptr_t desc;
  void* use_desc;
  uint64_t count;
  uint32_t stack_size;
  std::byte* base;
  void* stack;
  Advance advance;
  void* master;
  uint32_t stack_pos;
  uint64_t partial_length;
  uint64_t converted;
};

// The library's side: where each packed byte lies, of the type that is in use.
inline std::vector<int64_t> g_offsets;
inline bool g_is_wrong = false;       // it moves other bytes than the type says
inline bool g_keeps_lengths = false;  // of pieces, though it moves less than they have room for
inline int g_own_calls = 0;

template <bool kPack>
int32_t own_advance(void* at, iovec* pieces, uint32_t* count, size_t* bytes) {
  auto& object = *static_cast<Object*>(at);
  ++g_own_calls;
  size_t sum = 0;
  uint32_t used = 0;
  for (; used < *count && object.converted < object.local_size; ++used) {
    iovec& piece = pieces[used];
    const auto moved = std::min<size_t>(piece.iov_len, object.local_size - object.converted);
    if (!g_keeps_lengths) piece.iov_len = moved;
    for (size_t i = 0; i < moved; ++i) {
      const int64_t place = g_offsets[object.converted + i] + (g_is_wrong ? 1 : 0);
      std::byte& packed = static_cast<std::byte*>(piece.iov_base)[i];
      if (kPack)
        packed = object.base[place];
      else
        object.base[place] = packed;
    }
    object.converted += moved;
    sum += moved;
  }
  *count = used;
  *bytes = sum;
  if (object.converted < object.local_size) return 0;
  object.flags |= kCompleted;
  return 1;
}

inline int32_t own_position(void* at, size_t* position) {
  static_cast<Object*>(at)->converted = *position;
  return 0;
}

}  // namespace lacuna::inside

#endif  // LACUNA_INTERPOSE_INSIDE_MADE_UP_LIBRARY_HPP_
