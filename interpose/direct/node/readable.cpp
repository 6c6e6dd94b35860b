// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/node/readable.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace lacuna::direct {

// Asked of the system, which says no where a load would be a signal: it reads a mask of signals
// before it finds that it is told to do nothing with it. (By a pipe it took a descriptor, of which
// the program may have used the last.)
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

// An emulator of the system may look at what it is told to do first. No process may read this.
bool tells_readable() noexcept {
  constexpr uintptr_t kLastMask = ~uintptr_t{7};
  static const bool tells = !is_readable(reinterpret_cast<const void*>(kLastMask), 1);
  return tells;
}

}  // namespace lacuna::direct
