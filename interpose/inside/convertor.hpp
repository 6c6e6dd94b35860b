// SPDX-License-Identifier: BSD-3-Clause
//
// Open MPI's convertor: the object by which it packs or unpacks one message, in fragments. It has a
// pointer to the function that moves the next fragment. lacuna puts functions of its own there.
// What they need of the object is its position in the packed stream, so that it may be positioned,
// copied and used by any thread, as before.
//
// The object's layout is no public interface. Here is what it was in known versions;
// open_mpi.cpp checks it in MPI_Init against what the running library writes.
#ifndef LACUNA_INTERPOSE_INSIDE_CONVERTOR_HPP_
#define LACUNA_INTERPOSE_INSIDE_CONVERTOR_HPP_

#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/address.hpp"
#include "interpose/inside/fragment.hpp"

namespace lacuna::inside {

// Fills or empties `pieces`; sets their number, their lengths and the sum of these. 1: the message
// is complete; 0: it is not; less: an error.
using Advance = int32_t (*)(void* convertor, iovec* pieces, uint32_t* count, size_t* bytes);
using SetPosition = int32_t (*)(void* convertor, size_t* position);

// Offsets in bytes, and bits of `flags`.
struct ConvertorLayout {
  int32_t flags;
  int32_t local_size;  // of the whole message
  int32_t desc;        // the datatype; in Open MPI its address is the MPI handle
  int32_t count;
  int32_t base;  // the program's buffer
  int32_t advance;
  int32_t converted;  // the position in the packed stream
  uint32_t is_sending;
  uint32_t is_receiving;
  uint32_t is_homogeneous;
  uint32_t is_completed;
  // Contiguous data, conversions, checksums and memory of devices.
  uint32_t is_left_to_library;
};

// Of Open MPI 4.1 and 5.0, from the text of MPI_Get_library_version; null: of an unknown version.
const ConvertorLayout* layout_of(std::string_view library_version) noexcept;

// What is known of the running library's convertors.
struct Convertors {
  std::atomic<const ConvertorLayout*> layout{nullptr};  // set last; null: none is taken
  // The library's functions for homogeneous data with gaps: of types whose elements have gaps, and
  // of those that only have gaps between their elements.
  Advance own_advance[2][2] = {};  // by Direction
  uint64_t least_bytes = kLeastBytes;
};
extern constinit Convertors g_convertors;

class Convertor {
 public:
  Convertor(void* at, const ConvertorLayout& layout) noexcept : at_(at), layout_(layout) {}

  uint32_t flags() const noexcept { return get<uint32_t>(layout_.flags); }
  uint64_t local_size() const noexcept { return get<uint64_t>(layout_.local_size); }
  uintptr_t desc() const noexcept { return get<uintptr_t>(layout_.desc); }
  uint64_t count() const noexcept { return get<uint64_t>(layout_.count); }
  void* base() const noexcept { return get<void*>(layout_.base); }
  Advance function() const noexcept { return get<Advance>(layout_.advance); }
  uint64_t converted() const noexcept { return get<uint64_t>(layout_.converted); }

  void set_function(Advance to) const noexcept { put(layout_.advance, to); }
  void set_converted(uint64_t bytes) const noexcept { put(layout_.converted, bytes); }
  void complete() const noexcept { put(layout_.flags, flags() | layout_.is_completed); }

 private:
  template <typename Value>
  Value get(int32_t offset) const noexcept {
    Value value;
    std::memcpy(&value, address(at_, offset), sizeof(value));
    return value;
  }
  template <typename Value>
  void put(int32_t offset, Value value) const noexcept {
    std::memcpy(address(at_, offset), &value, sizeof(value));
  }

  void* at_;
  const ConvertorLayout& layout_;
};

// Whether it is for contiguous data, or otherwise none of lacuna's. Once the layout is known.
inline bool is_left_to_library(void* convertor) noexcept {
  const ConvertorLayout& layout = *g_convertors.layout.load(std::memory_order_acquire);
  return (Convertor(convertor, layout).flags() & layout.is_left_to_library) != 0;
}

// Called when the library has prepared a convertor. lacuna moves its data if it knows the type and
// is sure of everything else; else nothing changes.
void take(void* convertor, Direction way) noexcept;

// In place of opal_convertor_set_position_nocheck. The library's function follows the type to find
// the place; a plan finds it by itself.
int32_t set_position(void* convertor, size_t* position, SetPosition own) noexcept;

// Fragments that lacuna has moved in this process.
int64_t fragments(Direction way) noexcept;

// Called once for each type whose first fragment differs; set by the log.
using Complaint = void (*)(Direction way, uintptr_t handle);
extern constinit std::atomic<Complaint> g_complaint;

}  // namespace lacuna::inside

#endif  // LACUNA_INTERPOSE_INSIDE_CONVERTOR_HPP_
