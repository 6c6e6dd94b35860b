// SPDX-License-Identifier: BSD-3-Clause
//
// The typemap: what a type means. Slow and obviously right: it follows the definitions of MPI 5.0
// chapter 5 one by one, and tests compare all moving of bytes with it. Never used to move data.
#ifndef LACUNA_ENGINE_TYPE_TYPEMAP_HPP_
#define LACUNA_ENGINE_TYPE_TYPEMAP_HPP_

#include <cstdint>
#include <vector>

#include "type/type.hpp"

namespace lacuna {

// `size_bytes` bytes at `offset_bytes` from the buffer's address; the next entry's bytes follow in
// the packed stream.
struct TypemapEntry {
  int64_t offset_bytes;
  int64_t size_bytes;
  bool operator==(const TypemapEntry&) const = default;
};

// All entries of `count` elements in typemap order, one for each part of a basic, empty ones left
// out. Cost and memory: O(entries). LACUNA_UNSUPPORTED where there would be more than `limit`.
Result<std::vector<TypemapEntry>> typemap(const Type& type, int64_t count,
                                          int64_t limit = int64_t{1} << 26);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_TYPE_TYPEMAP_HPP_
