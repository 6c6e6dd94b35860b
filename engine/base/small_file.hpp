// SPDX-License-Identifier: BSD-3-Clause
//
// Reading the small files that lacuna keeps its numbers in. They may be anything: the answer is
// their text, or one sentence about what is wrong.
#ifndef LACUNA_ENGINE_BASE_SMALL_FILE_HPP_
#define LACUNA_ENGINE_BASE_SMALL_FILE_HPP_

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace lacuna {

// The whole text, of up to 1 MiB. LACUNA_UNSUPPORTED if there is no such file, LACUNA_PARSE_ERROR
// if it is not one that can be read whole.
Result<std::string> read_small_file(const std::string& path);

// Throws std::bad_alloc where there is not plenty of memory for the JSON value of a text: to
// destroy one takes memory, too, and where that is refused the program ends.
void expect_memory_for_json(std::string_view text);

// A piece of a foreign text that may be shown: one short line without control characters.
std::string shown(std::string_view text);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_BASE_SMALL_FILE_HPP_
