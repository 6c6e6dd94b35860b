// SPDX-License-Identifier: BSD-3-Clause
//
// The log: with LACUNA_LOG=1, one line on stderr for each type and each thing that can happen to
// calls on it. Without it, nothing is ever printed.
#ifndef LACUNA_INTERPOSE_LOG_HPP_
#define LACUNA_INTERPOSE_LOG_HPP_

#include <string_view>

#include "interpose/types.hpp"

namespace lacuna {

bool log_wanted() noexcept;

// "lacuna[rank]: <sentence>".
void log_line(std::string_view sentence) noexcept;

// The line of a type and a note, the first time for this pair.
void log_type(const TypeRecord& record, Note note) noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_LOG_HPP_
