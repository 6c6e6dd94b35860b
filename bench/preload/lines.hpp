// SPDX-License-Identifier: BSD-3-Clause
//
// Lines that the programs of `lacuna bench preload` have in common (json_lines.hpp).
#ifndef LACUNA_BENCH_PRELOAD_LINES_HPP_
#define LACUNA_BENCH_PRELOAD_LINES_HPP_

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/harness/job.hpp"
#include "bench/harness/json_lines.hpp"

namespace lacuna::bench {

// A symbol of the preload library; nullptr without it.
template <typename Symbol>
Symbol preloaded(const char* name) {
  return reinterpret_cast<Symbol>(dlsym(RTLD_DEFAULT, name));
}

// How many calls of a function lacuna has handled in this rank.
inline int64_t taken(const char* function) {
  static const auto calls = preloaded<int64_t (*)(const char*, int)>("lacuna_interposed_calls");
  return calls != nullptr ? calls(function, 1) : 0;
}

inline std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", value);
  return text;
}

inline std::string truth(bool value) { return value ? "true" : "false"; }

// The first line; `more` are fields of the program's own.
inline std::string header_line(size_t rows, const std::string& more) {
  const auto said = [](const char* name) {
    const auto say = preloaded<const char* (*)()>(name);
    return json_string(say != nullptr ? say() : "");
  };
  return "{\"kind\": \"header\", \"mpi_library\": " + json_string(mpi_library()) +
         ", \"lacuna_loaded\": " + truth(lacuna_loaded()) +
         ", \"mpi_name\": " + said("lacuna_interposed_library") +
         ", \"table\": " + said("lacuna_interposed_table") +
         ", \"table_place\": " + said("lacuna_interposed_table_place") +
         ", \"compiler\": " + json_string(__VERSION__) + more +
         ", \"rows\": " + std::to_string(rows) + "}";
}

// A field of the first line: the nodes of both ranks (job.hpp).
inline std::string nodes_field(int rank) {
  std::string names;
  for (const std::string& name : nodes_of_pair(rank))
    names += (names.empty() ? "" : ", ") + json_string(name);
  return ", \"nodes\": [" + names + "]";
}

// The times of a way, one for each round; `about` are fields of the program's own.
inline std::string times_line(const std::string& id, const std::string& way,
                              const std::string& about, int iterations,
                              const std::vector<double>& seconds) {
  std::string samples;
  for (const double value : seconds) samples += (samples.empty() ? "" : ", ") + number(value);
  return "{\"kind\": \"times\", \"id\": " + json_string(id) + ", \"way\": " + json_string(way) +
         about + ", \"iterations\": " + std::to_string(iterations) + ", \"seconds\": [" + samples +
         "]}";
}

inline const char kEndLine[] = "{\"kind\": \"end\"}";

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_PRELOAD_LINES_HPP_
