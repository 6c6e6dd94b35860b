// SPDX-License-Identifier: BSD-3-Clause
//
// What MPI_Pack and MPI_Unpack are given for data at some address. MPICH refuses MPI_BOTTOM there:
// 4.0.2 always, 5.0.2 with several elements, and then its error handler may return without an
// error. So the same data are named from another address, by a type that is so much before it.
#ifndef LACUNA_INTERPOSE_LIBRARY_FROM_BOTTOM_HPP_
#define LACUNA_INTERPOSE_LIBRARY_FROM_BOTTOM_HPP_

#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"

namespace lacuna {

class PackedFrom {
 public:
  PackedFrom(void* mem, MPI_Datatype datatype) noexcept : mem_(mem), type_(datatype) {
    if (mem == nullptr) shift();
  }
  ~PackedFrom() {
    if (is_own_) next_functions().MPI_Type_free(&type_);
  }
  PackedFrom(const PackedFrom&) = delete;
  PackedFrom& operator=(const PackedFrom&) = delete;

  void* mem() const noexcept { return mem_; }
  MPI_Datatype type() const noexcept { return type_; }

 private:
  // Where the library refuses that, too, it gets what the program has said.
  void shift() noexcept {
    constexpr MPI_Aint kShift = 64;
    const Next& next = next_functions();
    const int one = 1;
    const MPI_Aint back = -kShift;
    MPI_Datatype made = runtime().datatype_null;
    if (next.MPI_Type_create_hindexed(1, &one, &back, type_, &made) != MPI_SUCCESS) return;
    if (next.MPI_Type_commit(&made) != MPI_SUCCESS) {
      next.MPI_Type_free(&made);
      return;
    }
    type_ = made;
    mem_ = reinterpret_cast<void*>(kShift);
    is_own_ = true;
  }

  void* mem_;
  MPI_Datatype type_;
  bool is_own_ = false;
};

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_LIBRARY_FROM_BOTTOM_HPP_
