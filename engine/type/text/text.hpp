// SPDX-License-Identifier: BSD-3-Clause
//
// The text form of a type: constructors under MPI's names, arguments in MPI's order, e.g.
//   struct([1, 3], [0, 8], [int, double])
//   subarray([128, 128, 128], [1, 128, 128], [0, 0, 0], c, double)
//   darray(4, 1, [100, 100], [block, cyclic], [default, 4], [2, 2], fortran, float)
// docs/user/types.md has the grammar. parse(print(t)) is equal to t.
#ifndef LACUNA_ENGINE_TYPE_TEXT_TEXT_HPP_
#define LACUNA_ENGINE_TYPE_TEXT_TEXT_HPP_

#include <string>
#include <string_view>

#include "type/type.hpp"

namespace lacuna {

// Names are case-insensitive and may have MPI's prefix ("MPI_DOUBLE", "double"; "struct",
// "MPI_Type_create_struct"), and integers may have digit separators (1_000_000). An error message
// has three lines: what is wrong and what would be right; the text, or a part of it where it is
// long; a caret under the place. Its status is LACUNA_PARSE_ERROR, or, if a constructor rejects its
// arguments, the constructor's status, with the caret under its name.
Result<TypePtr> parse_type(std::string_view text);

// Once the text has about `most_bytes` bytes, lists are abbreviated: "[0, 3, ... 1000000 entries]".
// Such a text is for people and cannot be parsed.
std::string print_type(const Type& type, size_t most_bytes = std::string::npos);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_TYPE_TEXT_TEXT_HPP_
