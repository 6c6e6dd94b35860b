// SPDX-License-Identifier: BSD-3-Clause
// The raw data of a benchmark: a file of JSON objects, one a line, flushed line by line so that
// whoever started the program can follow it. (Not stdout: launchers mix the output of ranks, and
// prefix or drop it.) The first line is the header, then there is one line for each sample, and a
// last line that shows that the run has finished.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace lacuna::bench {

// Text as a JSON string, quotes included.
inline std::string json_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      quoted += escape;
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

// One rank writes; on the others the object has no file and does nothing.
class JsonLines {
 public:
  JsonLines() = default;
  ~JsonLines() {
    if (file_ != nullptr) std::fclose(file_);
  }
  JsonLines(const JsonLines&) = delete;
  JsonLines& operator=(const JsonLines&) = delete;

  // False if the file cannot be made (errno says why).
  [[nodiscard]] bool open(const std::string& path) {
    file_ = std::fopen(path.c_str(), "w");
    return file_ != nullptr;
  }

  void write(const std::string& object) {
    if (file_ == nullptr) return;
    std::fputs(object.c_str(), file_);
    std::fputc('\n', file_);
    std::fflush(file_);
  }

 private:
  std::FILE* file_ = nullptr;
};

}  // namespace lacuna::bench
