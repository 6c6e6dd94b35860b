// SPDX-License-Identifier: BSD-3-Clause
//
// Moves fragments of a message by lacuna's plan, and compares what the library has moved with what
// the plan would have. Knows no MPI library. Takes neither the heap nor a lock; needs at most 4 KiB
// of stack.
#ifndef LACUNA_INTERPOSE_INSIDE_FRAGMENT_HPP_
#define LACUNA_INTERPOSE_INSIDE_FRAGMENT_HPP_

#include <cstddef>
#include <cstdint>

#include "interpose/inside/moved_type.hpp"

namespace lacuna::inside {

// A message in the program's memory.
struct Message {
  const MovedType* type;
  void* mem;
  int64_t count;
  int64_t bytes;  // of all elements
};

// Messages of less are the library's, unless LACUNA_ALWAYS is set: to look their type up costs as
// much as it gains.
inline constexpr int64_t kLeastBytes = 2048;
// A fragment of less proves nothing.
inline constexpr int64_t kLeastCompared = 256;

// Moves bytes [begin, begin + bytes) of the packed stream.
template <Direction kWay>
void move(const Message& message, int64_t begin, int64_t bytes, void* packed) noexcept;

// Whether these bytes of the packed stream are where the plan says in the program's memory. Of a
// long fragment a sample is compared.
bool is_same(const Message& message, int64_t begin, int64_t bytes, const void* packed) noexcept;

// The library moved this fragment itself: records whether lacuna's plan would have done the same.
// False: it would not.
bool compare(MovedType* type, Direction way, const Message& message, int64_t begin, int64_t bytes,
             const void* packed) noexcept;

}  // namespace lacuna::inside

#endif  // LACUNA_INTERPOSE_INSIDE_FRAGMENT_HPP_
