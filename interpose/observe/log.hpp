// SPDX-License-Identifier: BSD-3-Clause
//
// The log: with LACUNA_LOG=1, one line on stderr for each type and each outcome of calls on it.
// Every outcome is recorded here, so that the report counts it, too (report/report.hpp).
#ifndef LACUNA_INTERPOSE_OBSERVE_LOG_HPP_
#define LACUNA_INTERPOSE_OBSERVE_LOG_HPP_

#include <string_view>

#include "interpose/library/gate.hpp"
#include "interpose/policy/outcome.hpp"
#include "interpose/report/observed_type.hpp"

namespace lacuna {

bool log_wanted() noexcept;

// Length of a type's text from which on its lists are shortened (print_type()).
inline constexpr size_t kLongestText = 300;

// "lacuna[rank]: <sentence>".
void log_line(std::string_view sentence) noexcept;

namespace detail {
void log_type(const ObservedType& record, Outcome outcome, int64_t bytes) noexcept;
void report_type_as(const ObservedType& record, Outcome outcome, int64_t bytes) noexcept;
void log_type_once(const ObservedType& record, Outcome outcome, int64_t bytes) noexcept;
}  // namespace detail

// Records the outcome of a call, or of one side of it, on this type, with so many bytes of data.
// The log has a line for it the first time; the report counts it every time.
inline void log_type(const ObservedType& record, Outcome outcome, int64_t bytes = 0) noexcept {
  if (is_watched(kLogged | kReported)) detail::log_type(record, outcome, bytes);
}

// For the report alone, which counts calls as they begin.
inline void count_type(const ObservedType& record, Outcome outcome, int64_t bytes) noexcept {
  if (is_watched(kReported)) detail::report_type_as(record, outcome, bytes);
}

// For the log alone, of a receive that may match a token (direct/arena/region.hpp): only when it is
// complete is it known whether lacuna handled it.
class DeferredLog {
 public:
  DeferredLog() = default;
  // `count`: of elements that the receive has room for.
  DeferredLog(const ObservedType& record, int64_t count) noexcept {
    if (!is_watched(kLogged)) return;
    if (__builtin_mul_overflow(count, record.size_bytes, &bytes_)) bytes_ = 0;
    record_ = &record;
    serial_ = record.serial.load(std::memory_order_relaxed);
  }
  // The outcome to log if lacuna did not.
  void otherwise(Outcome outcome) noexcept { otherwise_ = outcome; }
  // `by_token`: how the data of its token came. kHandled: there was none.
  void log(Outcome by_token) const noexcept {
    const Outcome outcome = by_token != Outcome::kHandled ? by_token : otherwise_;
    if (record_ == nullptr || outcome == Outcome::kHandled) return;
    // The type may have been freed, and its record used for another one.
    if (record_->serial.load(std::memory_order_acquire) == serial_)
      detail::log_type_once(*record_, outcome, bytes_);
  }

 private:
  const ObservedType* record_ = nullptr;
  uint64_t serial_ = 0;
  int64_t bytes_ = 0;
  Outcome otherwise_ = Outcome::kHandled;  // nothing
};

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_OBSERVE_LOG_HPP_
