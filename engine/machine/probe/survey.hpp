// SPDX-License-Identifier: BSD-3-Clause
//
// Survey: everything the probe finds, measured part by part. survey.cpp puts the parts together,
// latency.cpp and speed.cpp measure.
#ifndef LACUNA_ENGINE_MACHINE_PROBE_SURVEY_HPP_
#define LACUNA_ENGINE_MACHINE_PROBE_SURVEY_HPP_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "machine/probe/curve.hpp"
#include "machine/probe/memory.hpp"
#include "machine/probe/topology.hpp"
#include "machine/profile.hpp"

namespace lacuna::probe {

// How much time may be spent.
struct Effort {
  int rounds;        // over all points of a curve: a disturbance that lasts hits few of them
  int samples;       // of each point in each round
  int parts_octave;  // points between one size and its double
  int64_t most_bytes;
};
inline constexpr Effort kFull = {5, 5, 4, int64_t{1} << 30};
inline constexpr Effort kQuick = {2, 4, 2, int64_t{128} << 20};

// What is known of a number beside its value.
struct Evidence {
  std::string words;  // how it was found, or why it was not
  double told = 0;    // what the system says, where that was measured too; 0: nothing
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

// Rounds of points over x, the least time of each kept. `measure` gets x and the round.
std::vector<Point> rounds(const Effort& effort, const std::vector<double>& xs,
                          const std::function<double(double x, int round)>& measure);

// The size of a set that is well inside a level and well beyond the one below.
int64_t bytes_inside(const Machine& machine, Level level, int64_t most_bytes);

// The parts; each adds what it finds. Sizes come from the profile as it is by then.
void measure_cycle(const Effort& effort, Survey* survey);
void measure_tlb(const Effort& effort, Survey* survey);
void measure_caches(const Effort& effort, int64_t most_bytes, Survey* survey);
void measure_strides(const Effort& effort, int64_t most_bytes, int64_t stride, Survey* survey);
void measure_speeds(const Effort& effort, Level level, int64_t most_bytes, Survey* survey);
void measure_streaming(const Effort& effort, int64_t most_bytes, Survey* survey);

}  // namespace lacuna::probe

#endif  // LACUNA_ENGINE_MACHINE_PROBE_SURVEY_HPP_
