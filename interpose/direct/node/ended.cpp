// SPDX-License-Identifier: BSD-3-Clause
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "interpose/direct/node/peers.hpp"

namespace lacuna::direct {

bool has_ended(int32_t pid) noexcept {
#if defined(SYS_pidfd_open)
  const long found = syscall(SYS_pidfd_open, pid, 0);
  if (found >= 0) {
    pollfd process{static_cast<int>(found), POLLIN, 0};
    const bool ended = poll(&process, 1, 0) == 1;
    close(process.fd);
    return ended;
  }
#endif
  return kill(pid, 0) != 0 && errno == ESRCH;
}

}  // namespace lacuna::direct
