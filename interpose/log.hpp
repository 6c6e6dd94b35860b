// SPDX-License-Identifier: BSD-3-Clause
//
// The log: with LACUNA_LOG=1, one line on stderr for each type and each thing that can happen to
// calls on it. Every outcome is told here, so that the report counts it too (report.hpp).
#ifndef LACUNA_INTERPOSE_LOG_HPP_
#define LACUNA_INTERPOSE_LOG_HPP_

#include <string_view>

#include "interpose/gate.hpp"
#include "interpose/types.hpp"

namespace lacuna {

bool log_wanted() noexcept;

// "lacuna[rank]: <sentence>".
void log_line(std::string_view sentence) noexcept;

namespace detail {
void log_type(const TypeRecord& record, Note note, int64_t bytes) noexcept;
}  // namespace detail

// What has become of a call (of one side of it) on this type, with so many bytes of data. The log
// has a line for it the first time, the report counts it every time.
inline void log_type(const TypeRecord& record, Note note, int64_t bytes = 0) noexcept {
  if (is_watched(kLogged | kReported)) detail::log_type(record, note, bytes);
}

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_LOG_HPP_
