// SPDX-License-Identifier: BSD-3-Clause
//
// The arenas of the direct path, found in /proc, so that tests can read what is in them.
#ifndef LACUNA_TESTS_INTERPOSE_HARNESS_ARENA_VIEW_HPP_
#define LACUNA_TESTS_INTERPOSE_HARNESS_ARENA_VIEW_HPP_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace test {

struct Mapping {
  const char* begin;
  const char* end;
  const char* end_of_used;  // memory behind it was never used and cannot be read
};

// Calls `line` with each line of a file of /proc.
template <typename Line>
void each_line(const char* path, const Line& line) {
  std::FILE* file = std::fopen(path, "r");
  if (file == nullptr) return;
  char text[1024];
  while (std::fgets(text, sizeof(text), file) != nullptr) line(std::string(text));
  std::fclose(file);
}

// This rank's arena and those of the others.
inline std::vector<Mapping> arenas() {
  std::vector<Mapping> found;
  each_line("/proc/self/maps", [&](const std::string& line) {
    unsigned long begin = 0, end = 0;
    if (line.find("memfd:lacuna-arena") == std::string::npos) return;
    if (std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) != 2) return;
    const auto* const last = reinterpret_cast<const char*>(end);
    // A read-only mapping is a page of this rank's arena, mapped twice.
    if (line.find(" rw-s ") != std::string::npos) {
      found.push_back({reinterpret_cast<const char*>(begin), last, last});
    } else if (line.find(" ---s ") != std::string::npos && !found.empty()) {
      found.back().end = last;
    }
  });
  return found;
}

// Whether these bytes lie at the beginning of a line in one of the arenas, as a payload does.
inline bool lies_in_arena(const void* bytes, size_t size) {
  for (const Mapping& arena : arenas()) {
    for (const char* at = arena.begin; at + size <= arena.end_of_used; at += 64) {
      if (std::memcmp(at, bytes, size) == 0) return true;
    }
  }
  return false;
}

}  // namespace test

#endif  // LACUNA_TESTS_INTERPOSE_HARNESS_ARENA_VIEW_HPP_
