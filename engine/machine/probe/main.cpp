// SPDX-License-Identifier: BSD-3-Clause
//
// lacuna-machine-probe: measures this machine and prints its profile (profile.hpp) on stdout. Each
// line on stderr is a JSON object with the progress, for the bar of `lacuna machine --measure`.
//
// Usage: lacuna-machine-probe [--quick]      measure
//        lacuna-machine-probe --place        print the path of this CPU's profile
#include <sys/utsname.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "lacuna/lacuna.h"
#include "machine/probe/survey.hpp"

namespace lacuna::probe {
namespace {

using Json = nlohmann::ordered_json;

// Short enough to be read, precise enough for anything.
double rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return std::strtod(text, nullptr);
}

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

bool is_virtual() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && !line.empty();) {
    if (line.starts_with("flags")) return line.find(" hypervisor") != std::string::npos;
  }
  return false;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  char text[32] = "";
  if (gmtime_r(&now, &parts) != nullptr)
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

Json provenance_of(const Survey& survey, bool is_quick) {
  utsname system = {};
  uname(&system);
  return {{"date", today()},
          {"lacuna", lacuna_version()},
          {"kernel", system.release},
          {"cpus", survey.topology.cpus},
          {"virtual", is_virtual()},
          {"hwloc", survey.topology.hwloc},
          {"isa", survey.isa},
          {"transparent_hugepages", first_line("/sys/kernel/mm/transparent_hugepage/enabled")},
          {"effort", is_quick ? "quick" : "full"},
          {"seconds", rounded(survey.seconds)}};
}

Json numbers_of(const Survey& survey) {
  Json numbers = Json::object();
  const std::vector<Number>& all = machine_numbers();
  for (size_t i = 0; i < all.size(); ++i) {
    const double value = all[i].get(survey.profile.machine);
    Json& entry = numbers[all[i].name];
    entry["value"] = all[i].is_whole() ? Json(static_cast<int64_t>(value)) : Json(rounded(value));
    entry["unit"] = all[i].unit;
    entry["source"] = source_name(survey.profile.sources[i]);
    const auto known = survey.evidence.find(all[i].name);
    if (known == survey.evidence.end()) continue;
    if (known->second.told > 0) entry["told"] = static_cast<int64_t>(known->second.told);
    entry["evidence"] = known->second.words;
  }
  return numbers;
}

Json curves_of(const Survey& survey) {
  Json curves = Json::array();
  for (const NamedCurve& curve : survey.curves) {
    Json points = Json::array();
    for (const Point& point : curve.points)
      points.push_back(Json::array({static_cast<int64_t>(point.x), rounded(point.ns)}));
    curves.push_back({{"name", curve.name},
                      {"pages", curve.pages},
                      {"stride_bytes", curve.stride_bytes},
                      {"points", points}});
  }
  return curves;
}

void print_progress(const std::string& what, int done, int of) {
  std::fprintf(stderr, "%s\n", Json({{"what", what}, {"done", done}, {"of", of}}).dump().c_str());
}

int run(bool is_quick) {
  const Survey found = survey(is_quick ? kQuick : kFull, print_progress);
  Json file;
  file["lacuna_machine"] = kProfileFormat;
  file["cpu"] = found.profile.cpu;
  file["provenance"] = provenance_of(found, is_quick);
  file["numbers"] = numbers_of(found);
  file["curves"] = curves_of(found);
  const std::string text = file.dump(1) + "\n";
  const bool whole = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  return whole && std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace lacuna::probe

int main(int argc, char** argv) {
  const bool is_quick = argc == 2 && std::strcmp(argv[1], "--quick") == 0;
  if (argc == 2 && std::strcmp(argv[1], "--place") == 0) {
    std::printf("%s\n", lacuna::profile_place().c_str());
    return 0;
  }
  if (argc != 1 && !is_quick) {
    std::fprintf(stderr, "usage: lacuna-machine-probe [--quick | --place]\n");
    return 2;
  }
  return lacuna::probe::run(is_quick);
}
