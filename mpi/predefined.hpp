// SPDX-License-Identifier: BSD-3-Clause
//
// The predefined datatypes of this MPI ABI, and the basic type of each. Used at the leaves of
// decode.cpp, to tell predefined handles from derived ones, and to find the handle of a basic type
// for messages of packed data.
#ifndef LACUNA_MPI_PREDEFINED_HPP_
#define LACUNA_MPI_PREDEFINED_HPP_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/hash.hpp"
#include "mpi/header.hpp"
#include "type/type.hpp"

namespace lacuna {

struct Predefined {
  MPI_Datatype handle;
  const Basic* basic;  // nullptr: MPI_LB and MPI_UB, the markers of MPI-1, which carry no data
};

class PredefinedTypes {
 public:
  // Calls no MPI function. In Open MPI's ABI it looks up symbols, so libmpi must be loaded. Throws
  // bad_alloc.
  PredefinedTypes();

  // The entry of a handle, or nullptr.
  const Predefined* find(MPI_Datatype handle) const;
  // The first handle of a basic, or MPI_DATATYPE_NULL where this MPI has none.
  MPI_Datatype handle_of(const Basic* basic) const;

  // Whether size and extents of the type were found equal to the library's, which is checked once.
  bool is_verified(const Predefined& entry) const {
    return verified_[static_cast<size_t>(&entry - entries_.data())].load(std::memory_order_relaxed);
  }
  void set_verified(const Predefined& entry) const {
    verified_[static_cast<size_t>(&entry - entries_.data())].store(true, std::memory_order_relaxed);
  }

  std::span<const Predefined> all() const { return entries_; }
  MPI_Datatype null() const { return null_; }

 private:
  std::vector<Predefined> entries_;  // by handle_bits, each handle once
  static constexpr unsigned kSlotBits = 9;
  static size_t first_slot(MPI_Datatype handle) {
    return hash_slot(handle_bits(handle), kSlotBits);
  }

  // Hashed, the next free slot on a collision: 1 + the index of an entry, 0 for none.
  std::array<uint8_t, size_t{1} << kSlotBits> slots_ = {};
  std::vector<MPI_Datatype> handles_;              // by basic, in the order of all_basics()
  std::unique_ptr<std::atomic<bool>[]> verified_;  // by entry
  MPI_Datatype null_;
};

}  // namespace lacuna

#endif  // LACUNA_MPI_PREDEFINED_HPP_
