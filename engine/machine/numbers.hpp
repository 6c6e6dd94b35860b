// SPDX-License-Identifier: BSD-3-Clause
//
// Number: one row of the table of all numbers in Machine, with its name in files, unit, meaning and
// limits. Reading, writing, checking and showing a machine are loops over this table, and a new
// number is a new row.
#ifndef LACUNA_ENGINE_MACHINE_NUMBERS_HPP_
#define LACUNA_ENGINE_MACHINE_NUMBERS_HPP_

#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.hpp"

namespace lacuna {

// Where a number comes from.
enum class Source : uint8_t { kDefault, kTold, kMeasured };
std::string_view source_name(Source source);

struct Number {
  std::string name;  // "l2_read_bytes_per_ns"
  std::string unit;  // "bytes/ns"
  std::string meaning;
  double least = 0;  // values outside [least, most] are rejected
  double most = 0;
  // Exactly one of the four is set.
  int64_t Machine::* whole = nullptr;
  double Machine::* real = nullptr;
  bool Machine::* flag = nullptr;  // 0 or 1
  double LevelSpeed::* speed = nullptr;
  Level level = Level::kL1;  // of `speed`

  bool is_whole() const { return whole != nullptr || flag != nullptr; }
  double get(const Machine& machine) const;
  void set(Machine& machine, double value) const;
};

// All numbers, in the order in which people read them. Never destroyed.
const std::vector<Number>& machine_numbers();

// The index of a name in machine_numbers(), or -1.
int find_number(std::string_view name);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_MACHINE_NUMBERS_HPP_
