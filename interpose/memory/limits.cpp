// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/memory/limits.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace lacuna {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
constexpr int64_t kShare = 16;  // lacuna uses one part in so many

// A line of page counts. Two of its numbers, by index: the whole address space, and data with
// stack.
constexpr char kPages[] = "/proc/self/statm";
constexpr int kAll = 0;
constexpr int kData = 5;

// That number in bytes; below 0 if it cannot be read.
int64_t used(int number) noexcept {
  char text[256] = "";
  const int file = open(kPages, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  const ssize_t got = read(file, text, sizeof(text) - 1);
  close(file);
  char* at = text;
  int64_t pages = -1;
  for (int i = 0; got > 0 && i <= number; ++i) {
    char* end = nullptr;
    pages = std::strtoll(at, &end, 10);
    if (end == at) return -1;
    at = end;
  }
  return pages < 0 ? -1 : pages * sysconf(_SC_PAGESIZE);
}

int64_t share_of(__rlimit_resource resource, int number) noexcept {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur >= rlim_t{kNoLimit}) return kNoLimit;
  const int64_t there = used(number);
  return there < 0 ? 0
                   : std::max<int64_t>(static_cast<int64_t>(limit.rlim_cur) - there, 0) / kShare;
}

}  // namespace

int64_t most_own_bytes() noexcept {
  static const int64_t most = std::min(share_of(RLIMIT_AS, kAll), share_of(RLIMIT_DATA, kData));
  return most;
}

int64_t most_shared_bytes() noexcept {
  static const int64_t most = share_of(RLIMIT_AS, kAll);
  return most;
}

}  // namespace lacuna
