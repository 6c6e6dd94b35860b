// SPDX-License-Identifier: BSD-3-Clause
//
// The predefined datatypes of this MPI ABI and what they are as data. Used at the leaves of
// decode.cpp, to tell predefined handles from derived ones, and to find the handle of a basic type
// for messages of packed data.
#ifndef LACUNA_MPI_PREDEFINED_HPP_
#define LACUNA_MPI_PREDEFINED_HPP_

#include <span>
#include <vector>

#include "mpi/header.hpp"
#include "type/type.hpp"

namespace lacuna {

struct Predefined {
  MPI_Datatype handle;
  const Basic* basic;  // nullptr: MPI_LB and MPI_UB, the markers of MPI-1, which carry no data
};

class PredefinedTypes {
 public:
  // Asks no MPI function; in Open MPI's ABI it looks up symbols, so libmpi must be loaded. Throws
  // bad_alloc.
  PredefinedTypes();

  // The entry of a handle, or nullptr. O(log entries).
  const Predefined* find(MPI_Datatype handle) const;
  // The first handle of a basic, or MPI_DATATYPE_NULL where this MPI has none. O(entries).
  MPI_Datatype handle_of(const Basic* basic) const;

  std::span<const Predefined> all() const { return entries_; }
  MPI_Datatype null() const { return null_; }

 private:
  std::vector<Predefined> entries_;  // by handle_bits, each handle once
  MPI_Datatype null_;
};

}  // namespace lacuna

#endif  // LACUNA_MPI_PREDEFINED_HPP_
