// SPDX-License-Identifier: BSD-3-Clause
//
// How far apart two names are, for "did you mean".
#ifndef LACUNA_ENGINE_BASE_SPELLING_HPP_
#define LACUNA_ENGINE_BASE_SPELLING_HPP_

#include <cstddef>
#include <string_view>

namespace lacuna {

// Edits (insert, delete, replace, swap neighbours) between two names.
size_t edits_between(std::string_view a, std::string_view b);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_BASE_SPELLING_HPP_
