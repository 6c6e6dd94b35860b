// SPDX-License-Identifier: BSD-3-Clause
#include "base/small_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

namespace lacuna {
namespace {

constexpr size_t kMostBytes = size_t{1} << 20;  // the probe writes about 20 KiB
constexpr size_t kShownBytes = 80;

Error unreadable(std::string what) { return {LACUNA_PARSE_ERROR, std::move(what)}; }

}  // namespace

// The JSON value of 50 KiB of text takes about 400 KiB.
void expect_memory_for_json(std::string_view text) {
  constexpr size_t kTimes = 32;
  ::operator delete(::operator new(kTimes * text.size()));
}

std::string shown(std::string_view text) {
  std::string line(text.substr(0, kShownBytes));
  for (char& c : line) {
    if (c < ' ' || c > '~') c = '?';
  }
  return line;
}

Result<std::string> read_small_file(const std::string& path) {
  // O_NONBLOCK: a rank must not wait for a pipe.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    if (errno == ENOENT || errno == ENOTDIR)
      return Error{LACUNA_UNSUPPORTED, "there is no such file"};
    return unreadable(std::string("it cannot be opened (") + std::strerror(errno) + ")");
  }
  struct stat about = {};
  const bool is_file = fstat(file, &about) == 0 && S_ISREG(about.st_mode);
  const bool is_small = is_file && static_cast<size_t>(about.st_size) <= kMostBytes;
  std::string text(is_small ? static_cast<size_t>(about.st_size) : 0, '\0');
  size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t got = read(file, text.data() + filled, text.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    filled += static_cast<size_t>(got);
  }
  close(file);
  if (!is_file) return unreadable("it is not a regular file");
  if (!is_small) {
    return unreadable("it has " + std::to_string(about.st_size) + " bytes; at most " +
                      std::to_string(kMostBytes) + " are read");
  }
  if (filled < text.size()) return unreadable("it cannot be read");
  return text;
}

}  // namespace lacuna
