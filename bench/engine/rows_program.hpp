// SPDX-License-Identifier: BSD-3-Clause
//
// A program that needs no MPI, reads a file of rows and writes a file of lines:
// python/lacuna/launch/rows_program.py starts it.
#ifndef LACUNA_BENCH_ENGINE_ROWS_PROGRAM_HPP_
#define LACUNA_BENCH_ENGINE_ROWS_PROGRAM_HPP_

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "bench/engine/problem.hpp"
#include "bench/harness/arguments.hpp"
#include "bench/harness/json_lines.hpp"

namespace lacuna::bench {

[[noreturn]] inline void fail_program(const char* program, const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", program, what.c_str());
  std::exit(1);
}

// Reads the command line, which has --rows FILE and --out FILE beside `more`; calls `visit` for
// each row; returns the exit code of main().
inline int run_rows_program(const char* program, int argc, char** argv, std::vector<Argument> more,
                            const std::function<void(const Problem&, JsonLines&)>& visit) {
  const auto fail = [program](const std::string& what) { fail_program(program, what); };
  std::string rows_path;
  std::string out_path;
  more.push_back(text_argument("--rows", rows_path));
  more.push_back(text_argument("--out", out_path));
  read_arguments(argc, argv, more, fail);
  if (rows_path.empty() || out_path.empty()) fail("--rows FILE and --out FILE are needed");
  const auto rows = read_rows(rows_path);
  if (!rows) fail(rows.error().message);
  JsonLines out;
  if (!out.open(out_path)) fail("cannot write " + out_path + ": " + std::strerror(errno));
  for (const Row& row : *rows) {
    const auto problem = Problem::make(row);
    if (!problem) fail(problem.error().message);
    visit(**problem, out);
  }
  out.write("{\"kind\": \"end\"}");
  return 0;
}

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_ENGINE_ROWS_PROGRAM_HPP_
