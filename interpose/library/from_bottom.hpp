// SPDX-License-Identifier: BSD-3-Clause
//
// Arguments for MPI_Pack and MPI_Unpack that work for data at MPI_BOTTOM, too. MPICH refuses
// MPI_BOTTOM there: 4.0.2 always, 5.0.2 with several elements, and then its error handler may
// return without an error. So the same data are described from another address, by a type that is
// shifted back by as much.
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
  // If the library refuses the shifted type, it gets the program's arguments.
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
