// SPDX-License-Identifier: BSD-3-Clause
//
// The output of the bench and the probe: lines for people on stdout, JSON lines in a file.
#ifndef LACUNA_BENCH_GPU_REPORT_HPP_
#define LACUNA_BENCH_GPU_REPORT_HPP_

#include <string>
#include <utility>
#include <vector>

#include "bench/gpu/cases.hpp"

namespace lacuna::bench {

// Of a JSON object, by member; strings are quoted already.
using Members = std::vector<std::pair<std::string, std::string>>;
std::string quoted(const std::string& text);
std::string number(double value);
std::string object(const Members& members);
// The device's name and properties.
Members facts(const cudaDeviceProp& properties);

class Report {
 public:
  // Null: no file.
  explicit Report(const char* path);
  ~Report();
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  void header(const cudaDeviceProp& properties, size_t rows);
  void copy(size_t bytes, double us);
  // The times of lacuna and its rivals, in microseconds.
  void row(const Case& c, bool is_pack, double own,
           const std::vector<std::pair<std::string, double>>& rivals);
  void left_out(const std::string& name, const std::string& why);
  void small(const std::string& what, double value, const char* unit);
  void end(int wrong);

 private:
  void line(const Members& members);
  FILE* file_ = nullptr;
};

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_GPU_REPORT_HPP_
