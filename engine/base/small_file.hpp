// SPDX-License-Identifier: BSD-3-Clause
//
// Reads the small files in which lacuna keeps numbers. They may contain anything: the result is
// their text, or one sentence about what is wrong.
#ifndef LACUNA_ENGINE_BASE_SMALL_FILE_HPP_
#define LACUNA_ENGINE_BASE_SMALL_FILE_HPP_

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace lacuna {

// The whole text, up to 1 MiB. LACUNA_UNSUPPORTED if there is no such file, LACUNA_PARSE_ERROR if
// it is not a regular file, too large, or unreadable.
Result<std::string> read_small_file(const std::string& path);

// Throws std::bad_alloc unless there is plenty of memory for the JSON value of a text: destroying
// such a value allocates, and a failure there would end the program.
void expect_memory_for_json(std::string_view text);

// The beginning of a foreign text, safe to print: one short line without control characters.
std::string shown(std::string_view text);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_BASE_SMALL_FILE_HPP_
