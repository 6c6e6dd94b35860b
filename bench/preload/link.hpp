// SPDX-License-Identifier: BSD-3-Clause
#ifndef LACUNA_BENCH_PRELOAD_LINK_HPP_
#define LACUNA_BENCH_PRELOAD_LINK_HPP_

#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace lacuna::bench {

// How many bytes this host has sent by a network interface; empty if it has none of that name.
inline std::optional<int64_t> sent_by(const std::string& link) {
  constexpr int kReceived = 8;  // columns before that of the bytes sent
  std::ifstream file("/proc/self/net/dev");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    const size_t begin = line.find_first_not_of(' ');
    if (colon == std::string::npos || line.substr(begin, colon - begin) != link) continue;
    std::istringstream columns(line.substr(colon + 1));
    int64_t value = 0;
    for (int i = 0; i <= kReceived; ++i) columns >> value;
    if (columns) return value;
  }
  return std::nullopt;
}

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_PRELOAD_LINK_HPP_
