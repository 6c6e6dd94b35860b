// SPDX-License-Identifier: BSD-3-Clause
//
// The log: with LACUNA_LOG=1, one line on stderr for each type and each thing that can happen to
// calls on it. Every outcome is told here, so that the report counts it too (report.hpp).
#ifndef LACUNA_INTERPOSE_OBSERVE_LOG_HPP_
#define LACUNA_INTERPOSE_OBSERVE_LOG_HPP_

#include <string_view>

#include "interpose/library/gate.hpp"
#include "interpose/policy/outcome.hpp"
#include "interpose/report/observed_type.hpp"

namespace lacuna {

bool log_wanted() noexcept;

// Of a type: from here on its lists are cut (print_type).
inline constexpr size_t kLongestText = 300;

// "lacuna[rank]: <sentence>".
void log_line(std::string_view sentence) noexcept;

namespace detail {
void log_type(const ObservedType& record, Note note, int64_t bytes) noexcept;
void report_type_as(const ObservedType& record, Note note, int64_t bytes) noexcept;
void say_of_type(const ObservedType& record, Note note) noexcept;
}  // namespace detail

// What has become of a call (of one side of it) on this type, with so many bytes of data. The log
// has a line for it the first time, the report counts it every time.
inline void log_type(const ObservedType& record, Note note, int64_t bytes = 0) noexcept {
  if (is_watched(kLogged | kReported)) detail::log_type(record, note, bytes);
}

// For the report alone, which counts calls as they begin.
inline void count_type(const ObservedType& record, Note note, int64_t bytes) noexcept {
  if (is_watched(kReported)) detail::report_type_as(record, note, bytes);
}

// For the log alone, of a receive that may bring a token (direct/node/region.hpp): only when it has
// ended is it known whether it was lacuna's.
class Untold {
 public:
  Untold() = default;
  explicit Untold(const ObservedType& record) noexcept {
    if (!is_watched(kLogged)) return;
    record_ = &record;
    serial_ = record.serial.load(std::memory_order_relaxed);
  }
  // What to say if it was not.
  void otherwise(Note note) noexcept { otherwise_ = note; }
  void tell(bool is_direct) const noexcept {
    if (record_ == nullptr || (!is_direct && otherwise_ == Note::kTaken)) return;
    // The type may be gone, and its record another one's.
    if (record_->serial.load(std::memory_order_acquire) == serial_)
      detail::say_of_type(*record_, is_direct ? Note::kDirect : otherwise_);
  }

 private:
  const ObservedType* record_ = nullptr;
  uint64_t serial_ = 0;
  Note otherwise_ = Note::kTaken;  // nothing
};

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_OBSERVE_LOG_HPP_
