// SPDX-License-Identifier: BSD-3-Clause
#ifndef LACUNA_INTERPOSE_TYPES_RECEIVED_TYPE_HPP_
#define LACUNA_INTERPOSE_TYPES_RECEIVED_TYPE_HPP_

#include "mpi/header.hpp"

namespace lacuna {

// The type of a receive that only the library can read and write. The program may free its own
// before the receive is complete.
class ReceivedType {
 public:
  ReceivedType() = default;
  ReceivedType(ReceivedType&& other) noexcept;
  ReceivedType& operator=(ReceivedType&& other) noexcept;
  ~ReceivedType() { reset(); }
  // Until keep() it is the program's.
  void name(MPI_Datatype datatype) noexcept { handle_ = datatype; }
  // For as long as this object: one element of it, as a type of lacuna's. (A duplicate would call
  // what the program has attached to its own.)
  void keep() noexcept;
  MPI_Datatype handle() const noexcept { return handle_; }

 private:
  void reset() noexcept;

  MPI_Datatype handle_{};
  bool is_own_ = false;
};

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_TYPES_RECEIVED_TYPE_HPP_
