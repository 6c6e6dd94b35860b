// SPDX-License-Identifier: BSD-3-Clause
//
// Trials: which habits of a CPU are fitted, in which order, by which types.
#ifndef LACUNA_BENCH_ENGINE_FIT_TRIALS_HPP_
#define LACUNA_BENCH_ENGINE_FIT_TRIALS_HPP_

#include <string>
#include <utility>
#include <vector>

namespace lacuna::bench {

// Values of some of the machine's numbers, by their names in engine/machine/numbers.cpp.
using Setting = std::vector<std::pair<std::string, double>>;

struct Trial {
  std::string question;           // for people
  std::vector<Setting> settings;  // one of these is kept, or none
  std::vector<std::string>
      types;  // as in the corpus: with lists that bench/engine/lists.hpp describes
};

// In the order in which they are decided: what others depend on comes first.
std::vector<Trial> trials();

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_ENGINE_FIT_TRIALS_HPP_
