// SPDX-License-Identifier: BSD-3-Clause
#include "bench/apps/applications/apps.hpp"

namespace lacuna::bench {

#ifdef LACUNA_BENCH_SPECIALISED
const App* find_specialised_app(const std::string& test) {
#else
const App* find_app(const std::string& test) {
#endif
  static const std::vector<App> all = [] {
    std::vector<App> apps;
    for (const auto& of :
         {LACUNA_APPS(wrf)(), LACUNA_APPS(milc)(), LACUNA_APPS(nas_lu)(), LACUNA_APPS(nas_mg)(),
          LACUNA_APPS(lammps)(), LACUNA_APPS(specfem3d)(), LACUNA_APPS(strided)()}) {
      apps.insert(apps.end(), of.begin(), of.end());
    }
    return apps;
  }();
  for (const App& app : all) {
    if (test == app.test) return &app;
  }
  return nullptr;
}

}  // namespace lacuna::bench
