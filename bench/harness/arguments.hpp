// SPDX-License-Identifier: BSD-3-Clause
// The command line of a benchmark's program: `--name value` pairs, each with a function for its
// value. `lacuna bench` writes it, so it is strict: no abbreviations, no other forms.
#ifndef LACUNA_BENCH_HARNESS_ARGUMENTS_HPP_
#define LACUNA_BENCH_HARNESS_ARGUMENTS_HPP_

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace lacuna::bench {

struct Argument {
  std::string name;  // "--out"
  std::function<void(const std::string& value)> take;
};

inline Argument text_argument(const std::string& name, std::string& into) {
  return {name, [&into](const std::string& value) { into = value; }};
}

inline Argument flag_argument(const std::string& name, bool& into) {
  return {name, [&into](const std::string& value) { into = std::atoi(value.c_str()) != 0; }};
}

// A number below `least` counts as `least`.
inline Argument count_argument(const std::string& name, int& into, int least = 0) {
  return {name, [&into, least](const std::string& value) {
            into = std::atoi(value.c_str());
            if (into < least) into = least;
          }};
}

inline Argument seconds_argument(const std::string& name, double& into) {
  return {name, [&into](const std::string& value) { into = std::atof(value.c_str()); }};
}

// `fail` gets the error and does not return.
inline void read_arguments(int argc, char** argv, const std::vector<Argument>& known,
                           const std::function<void(const std::string&)>& fail) {
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    std::string names;
    const Argument* argument = nullptr;
    for (const Argument& one : known) {
      names += (names.empty() ? "" : ", ") + one.name;
      if (one.name == name) argument = &one;
    }
    if (argument == nullptr) return fail("unknown option " + name + "; known: " + names);
    if (i + 1 == argc) return fail("no value for " + name);
    argument->take(argv[i + 1]);
  }
}

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_HARNESS_ARGUMENTS_HPP_
