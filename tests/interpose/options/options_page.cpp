// SPDX-License-Identifier: BSD-3-Clause
//
// Prints the table of docs/user/options.md from the one table of options. `options_page FILE`
// rewrites it between its two marks, `options_page --check FILE` fails if that would change
// anything.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "base/options.hpp"

namespace {

constexpr char kBegin[] = "<!-- options: begin -->\n";
constexpr char kEnd[] = "<!-- options: end -->";

std::string table() {
  std::string text = "| variable | default | meaning |\n|---|---|---|\n";
  for (const lacuna::Option& option : lacuna::option_table()) {
    const std::string fallback(option.fallback.empty() ? "unset" : option.fallback);
    text += "| `" + std::string(option.name) + "` | " + fallback + " | " +
            std::string(option.meaning) + " |\n";
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const bool check = argc == 3 && std::strcmp(argv[1], "--check") == 0;
  if (argc != 2 && !check) {
    std::fprintf(stderr, "usage: options_page [--check] FILE\n");
    return 2;
  }
  const char* path = argv[argc - 1];
  std::ostringstream read;
  read << std::ifstream(path).rdbuf();
  const std::string page = read.str();
  const size_t begin = page.find(kBegin), end = page.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    std::fprintf(stderr, "%s: the marks of the table of options are not there\n", path);
    return 1;
  }
  const std::string wanted =
      page.substr(0, begin + std::strlen(kBegin)) + table() + page.substr(end);
  if (wanted == page) return 0;
  if (check) {
    std::fprintf(stderr, "%s differs from engine/base/options.cpp; remedy: options_page %s\n", path,
                 path);
    return 1;
  }
  std::ofstream(path) << wanted;
  return 0;
}
