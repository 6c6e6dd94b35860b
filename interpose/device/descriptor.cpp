// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/device/descriptor.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "interpose/direct/arena/arena.hpp"

namespace lacuna::device {
namespace {

// Below 0: the system does not allow it.
int get(int32_t pid, int number) noexcept {
#if defined(SYS_pidfd_open) && defined(SYS_pidfd_getfd)
  const long process = syscall(SYS_pidfd_open, pid, 0);
  if (process < 0) return -1;
  const long found = syscall(SYS_pidfd_getfd, static_cast<int>(process), number, 0);
  const int error = errno;
  close(static_cast<int>(process));
  errno = error;
  return static_cast<int>(found);
#else
  (void)pid, (void)number;
  errno = ENOSYS;
  return -1;
#endif
}

}  // namespace

void Descriptor::take(int number) noexcept {
  drop();
  number_ = direct::above_standard_streams(number);
  struct stat status{};
  if (number_ < 0 || fstat(number_, &status) != 0) return;
  fcntl(number_, F_SETFD, FD_CLOEXEC);
  device_ = status.st_dev;
  file_ = status.st_ino;
}

void Descriptor::take_from(int32_t pid, int number) noexcept { take(get(pid, number)); }

bool Descriptor::is_the_same() const noexcept {
  struct stat status{};
  return fstat(number_, &status) == 0 && status.st_dev == device_ && status.st_ino == file_;
}

void Descriptor::drop() noexcept {
  if (number_ >= 0 && is_the_same()) close(number_);
  number_ = -1;
}

// Tried with a number that no process has.
bool may_take_from(int32_t pid) noexcept {
  constexpr int kNone = 0x7FFFFFFF;
  return get(pid, kNone) >= 0 || errno == EBADF;
}

}  // namespace lacuna::device
