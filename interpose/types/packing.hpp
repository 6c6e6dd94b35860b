// SPDX-License-Identifier: BSD-3-Clause
//
// The one place where data of the program are packed and unpacked: by the CPU, or on the device
// that has them. With LACUNA_REPORT timed; with LACUNA_VERIFY the CPU's results are compared with
// the library's.
#ifndef LACUNA_INTERPOSE_TYPES_PACKING_HPP_
#define LACUNA_INTERPOSE_TYPES_PACKING_HPP_

#include <cstddef>
#include <cstdint>

#include "exec/exec.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/report/report.hpp"

namespace lacuna {

// Adds the time until it goes out of scope to the account.
class Stopwatch {
 public:
  Stopwatch(const Account& account, Way way) noexcept
      : account_(account),
        way_(way),
        begin_(is_watched(kReported) && is_timed(account) ? now_ns() : 0) {}
  ~Stopwatch() {
    if (begin_ != 0) report_time(account_, way_, now_ns() - begin_);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  const Account& account_;
  const Way way_;
  const int64_t begin_;  // 0: not timed
};

namespace detail {
bool watched_pack(const Account& account, const Plan& plan, const void* mem, int64_t count,
                  std::byte* packed) noexcept;
bool watched_unpack(const Account& account, const Plan& plan, const std::byte* packed,
                    int64_t bytes, int64_t count, void* mem) noexcept;
}  // namespace detail

// packed <- `count` elements at `mem`. False: a device has failed, and the call must raise an error
// (device::take_failure()).
inline bool pack_for(const Account& account, const Plan& plan, const void* mem, int64_t count,
                     std::byte* packed) noexcept {
  if (is_watched(kReported | kVerified | kDevices))
    return detail::watched_pack(account, plan, mem, count, packed);
  pack(plan, mem, count, packed);
  return true;
}

// mem <- the first `bytes` of the packed form of `count` elements. False: as above.
inline bool unpack_for(const Account& account, const Plan& plan, const std::byte* packed,
                       int64_t bytes, int64_t count, void* mem) noexcept {
  if (is_watched(kReported | kVerified | kDevices)) {
    return detail::watched_unpack(account, plan, packed, bytes, count, mem);
  }
  if (bytes >= count * plan.size()) {
    unpack(plan, packed, count, mem);
  } else {
    unpack_slice(plan, packed, count, 0, bytes, mem);
  }
  return true;
}

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_TYPES_PACKING_HPP_
