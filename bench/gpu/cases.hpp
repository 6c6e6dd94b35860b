// SPDX-License-Identifier: BSD-3-Clause
//
// Rows of the bench: a type, the memory it touches, and its rivals.
#ifndef LACUNA_BENCH_GPU_CASES_HPP_
#define LACUNA_BENCH_GPU_CASES_HPP_

#include <functional>
#include <string>
#include <vector>

#include "bench/gpu/device.hpp"

namespace lacuna::bench {

// Packs (true) or unpacks, given the address of offset 0 and of the packed stream. False: it
// cannot.
using Move = std::function<bool(bool, std::byte*, std::byte*)>;

struct Competitor {
  std::string name;
  Move move;
  double share = 1;    // the time for the whole over the time for the part that it moves
  int64_t moved = -1;  // bytes from the stream's begin on that it moves; -1: all
};

struct Case {
  std::string name;  // family/row
  int64_t payload = 0;
  int64_t low = 0;     // offset of the first byte of memory, a multiple of 256, at most 0
  int64_t span = 0;    // bytes of memory from there
  double touched = 0;  // bytes of sectors that hold data
  double partly = 0;   // bytes of the touched sectors that also hold gaps
  lacuna_type* type = nullptr;
  int64_t count = 1;
  std::string left_out;  // what is not measured, and why
  Move reference;        // all others are compared with it; none: the row is left out
  std::vector<Competitor> rivals;
};

// A row is made just before it is run, as all rows share the device's memory for their tables.
struct CaseMaker {
  std::string name;
  bool with_rivals = true;
  std::function<Case()> make;
};

// `count` elements of a type, with its lists as bench/engine/lists.hpp describes them; rivals are
// made of the loops that an application would write.
Case case_of(const std::string& name, int64_t count, const std::string& text);
// The engine's own families: runs at a stride, at listed places, records, two arrays' parts, runs
// of odd lengths, transposes; at payloads from 1 to 256 MiB.
std::vector<CaseMaker> family_rows(bool is_quick);
// The rows of a file, one a line: name, count, flags, type text, separated by tabs (lists as
// bench/engine/lists.hpp describes them).
std::vector<CaseMaker> rows_of_file(const char* path);

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_GPU_CASES_HPP_
