// SPDX-License-Identifier: BSD-3-Clause
#ifndef LACUNA_INTERPOSE_TYPES_RECEIVED_TYPE_HPP_
#define LACUNA_INTERPOSE_TYPES_RECEIVED_TYPE_HPP_

#include <cstdint>

#include "mpi/header.hpp"

namespace lacuna {

class Type;

// The type of a receive whose data only the library can read and write. The program may free its
// handle before the receive is complete.
class ReceivedType {
 public:
  ReceivedType() = default;
  ReceivedType(ReceivedType&& other) noexcept;
  ReceivedType& operator=(ReceivedType&& other) noexcept;
  ~ReceivedType() { reset(); }
  // The program's handle, which is used until keep().
  void name(MPI_Datatype datatype) noexcept { handle_ = datatype; }
  // Replaces it by a type of lacuna's, one element of it, which lives as long as this object.
  // (MPI_Type_dup would call the copy callbacks of the program's attributes.)
  void keep() noexcept;
  MPI_Datatype handle() const noexcept { return handle_; }

 private:
  void reset() noexcept;

  MPI_Datatype handle_{};
  bool is_own_ = false;
};

// Whether a token that is received into a contiguous type of `size` bytes ends within a basic
// element, at which MPICH and Intel MPI raise an error. True in doubt.
bool ends_within_element(const Type& type, int64_t size);

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_TYPES_RECEIVED_TYPE_HPP_
