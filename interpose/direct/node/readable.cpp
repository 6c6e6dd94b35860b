// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/node/readable.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace lacuna::direct {

// Uses a system call, which returns EFAULT where a load would raise a signal: rt_sigprocmask copies
// the mask from memory before it rejects the unknown operation. (A pipe would take a descriptor,
// and the program may have used the last one.)
bool is_readable(const void* begin, int64_t bytes) noexcept {
  constexpr long kNothing = -1;
  constexpr uintptr_t kMask = 8;
  constexpr uintptr_t kPage = 4096;
  const auto first = reinterpret_cast<uintptr_t>(begin) / kMask * kMask;
  const auto end = reinterpret_cast<uintptr_t>(begin) + static_cast<uintptr_t>(bytes);
  for (uintptr_t at = first; at < end; at = (at / kPage + 1) * kPage) {
    if (syscall(SYS_rt_sigprocmask, kNothing, at, nullptr, kMask) != 0 && errno == EFAULT)
      return false;
  }
  return true;
}

// An emulator may check the operation first, and never read. So this tests an address that no
// process may read.
bool can_check_readable() noexcept {
  constexpr uintptr_t kLastMask = ~uintptr_t{7};
  static const bool tells = !is_readable(reinterpret_cast<const void*>(kLastMask), 1);
  return tells;
}

}  // namespace lacuna::direct
