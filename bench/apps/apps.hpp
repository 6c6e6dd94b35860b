// SPDX-License-Identifier: BSD-3-Clause
//
// The tests of each application, one file each.
#ifndef LACUNA_BENCH_APPS_APPS_HPP_
#define LACUNA_BENCH_APPS_APPS_HPP_

#include <vector>

#include "bench/apps/app.hpp"

namespace lacuna::bench {

std::vector<App> wrf_apps();
std::vector<App> milc_apps();
std::vector<App> nas_lu_apps();
std::vector<App> nas_mg_apps();
std::vector<App> lammps_apps();
std::vector<App> specfem3d_apps();
std::vector<App> strided_apps();

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_APPS_APPS_HPP_
