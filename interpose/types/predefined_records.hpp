// SPDX-License-Identifier: BSD-3-Clause
#ifndef LACUNA_INTERPOSE_TYPES_PREDEFINED_RECORDS_HPP_
#define LACUNA_INTERPOSE_TYPES_PREDEFINED_RECORDS_HPP_

#include <cstddef>

#include "interpose/types/record.hpp"
#include "mpi/decode.hpp"

namespace lacuna {

// Records of the predefined types, so that those which plainly_predefined() does not recognise are
// declined from the cache, too.
class PredefinedRecords {
 public:
  // False: out of memory.
  bool fill(const PredefinedTypes& types) noexcept;
  // Calls on them must be examined from now on.
  void watch() noexcept;
  // Null: not predefined.
  TypeRecord* find(const PredefinedTypes& types, MPI_Datatype datatype) const noexcept;

 private:
  TypeRecord* records_ = nullptr;  // as long as the process
  size_t count_ = 0;
};

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_TYPES_PREDEFINED_RECORDS_HPP_
