// SPDX-License-Identifier: BSD-3-Clause
//
// Survey: all that the probe finds. survey.cpp puts the parts together, latency.cpp and speed.cpp
// measure them.
#ifndef LACUNA_ENGINE_MACHINE_PROBE_SURVEY_HPP_
#define LACUNA_ENGINE_MACHINE_PROBE_SURVEY_HPP_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "machine/probe/curve.hpp"
#include "machine/probe/loops/memory.hpp"
#include "machine/probe/topology.hpp"
#include "machine/profile.hpp"

namespace lacuna::probe {

// How long to measure.
struct Effort {
  int rounds;        // over all points of a curve: a long disturbance spoils one round only
  int samples;       // of each point in each round
  int parts_octave;  // points between one size and its double
  int64_t most_bytes;
};
inline constexpr Effort kFull = {5, 5, 4, int64_t{1} << 30};
inline constexpr Effort kQuick = {2, 4, 2, int64_t{128} << 20};

// How a number was found.
struct Evidence {
  std::string words;  // how it was found, or why it was not
  double told = 0;    // what the system says of a number that was measured; 0: nothing
};

// A measured curve, as it is kept in the profile for the plot.
struct NamedCurve {
  std::string name;   // what is varied: "latency" over bytes, "tlb" over lines
  std::string pages;  // "small" or "huge"
  int64_t stride_bytes;
  std::vector<Point> points;
};

struct Survey {
  Profile profile;
  std::map<std::string, Evidence, std::less<>> evidence;  // by the number's name
  std::vector<NamedCurve> curves;
  Topology topology;
  std::string isa;
  double seconds = 0;

  void measured(const std::string& name, double value, const std::string& words, double told = 0);
};

// Called before each part with its name, and how many of how many are done.
using Progress = std::function<void(const std::string& what, int done, int of)>;

Survey survey(const Effort& effort, const Progress& progress);

// The least time of all rounds at each x. `measure` gets x and the round.
std::vector<Point> rounds(const Effort& effort, const std::vector<double>& xs,
                          const std::function<double(double x, int round)>& measure);

// The size of a working set that fits a level well, and exceeds the one below.
int64_t bytes_inside(const Machine& machine, Level level, int64_t most_bytes);

// The parts. Each adds what it finds, and uses the sizes that earlier parts have found.
void measure_cycle(const Effort& effort, Survey* survey);
void measure_tlb(const Effort& effort, Survey* survey);
void measure_caches(const Effort& effort, int64_t most_bytes, Survey* survey);
void measure_strides(const Effort& effort, int64_t most_bytes, int64_t stride, Survey* survey);
void measure_speeds(const Effort& effort, Level level, int64_t most_bytes, Survey* survey);
void measure_streaming(const Effort& effort, int64_t most_bytes, Survey* survey);

}  // namespace lacuna::probe

#endif  // LACUNA_ENGINE_MACHINE_PROBE_SURVEY_HPP_
