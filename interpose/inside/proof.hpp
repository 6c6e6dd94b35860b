// SPDX-License-Identifier: BSD-3-Clause
//
// Proof: whether a convertor of the running library has its members where a layout says. The
// library packs or unpacks a few bytes with a type of lacuna's. Each member is compared after the
// library has prepared the convertor, after it has moved a fragment that ends within a run, after
// it has been set to another position, and after the rest.
#ifndef LACUNA_INTERPOSE_INSIDE_PROOF_HPP_
#define LACUNA_INTERPOSE_INSIDE_PROOF_HPP_

#include <cstddef>
#include <cstdint>

#include "interpose/inside/convertor.hpp"

namespace lacuna::inside {

class Proof {
 public:
  static constexpr int kCount = 3;  // elements

  // `datatype`: 8 bytes of every 16, once for each element, or three times (`has_inner`: it then
  // has gaps within its elements, and its extent is 40 bytes, else 16).
  Proof(const ConvertorLayout& layout, SetPosition own_position, Direction way, uintptr_t datatype,
        bool has_inner) noexcept;

  // What to pack from or unpack into, and the packed bytes.
  void* mem() noexcept { return mem_; }
  void* packed() noexcept { return packed_; }
  int bytes() const noexcept { return has_inner_ ? kCount * 24 : kCount * 8; }

  // The library has prepared a convertor, with these arguments.
  void prepared(void* convertor, Direction way, const void* datatype, size_t count,
                const void* mem) noexcept;
  // After the library has moved the data: what is not as it should be; null: nothing.
  const char* failure() const noexcept;
  // The library's function that moved them.
  Advance own_advance() const noexcept { return own_; }

 private:
  static constexpr int kMemoryBytes = 128;
  static int32_t advance(void* convertor, iovec* pieces, uint32_t* count, size_t* bytes) noexcept;
  int32_t move(void* convertor, iovec* pieces, uint32_t* count, size_t* bytes) noexcept;
  const char* after_preparing(const Convertor& convertor) const noexcept;
  bool moves_part(void* convertor, size_t begin, size_t end) noexcept;
  // Where byte `i` of the packed stream is in memory.
  int place(int i) const noexcept;
  void fail(const char* why) noexcept {
    if (failure_ == nullptr) failure_ = why;
  }

  const ConvertorLayout& layout_;
  SetPosition own_position_;
  Direction way_;
  uintptr_t datatype_;
  bool has_inner_;
  Advance own_ = nullptr;
  bool was_moved_ = false;
  const char* failure_ = nullptr;
  unsigned char mem_[kMemoryBytes];
  unsigned char packed_[kMemoryBytes];
};

}  // namespace lacuna::inside

#endif  // LACUNA_INTERPOSE_INSIDE_PROOF_HPP_
