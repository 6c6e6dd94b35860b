// SPDX-License-Identifier: BSD-3-Clause
#include "bench/apps/apps.hpp"

namespace lacuna::bench {

const App* find_app(const std::string& test) {
  static const std::vector<App> all = [] {
    std::vector<App> apps;
    for (const auto& of : {wrf_apps(), milc_apps(), nas_lu_apps(), nas_mg_apps(), lammps_apps(),
                           specfem3d_apps(), strided_apps()}) {
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
