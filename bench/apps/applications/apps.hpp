// SPDX-License-Identifier: BSD-3-Clause
//
// The tests of each application, one file each.
#ifndef LACUNA_BENCH_APPS_APPLICATIONS_APPS_HPP_
#define LACUNA_BENCH_APPS_APPLICATIONS_APPS_HPP_

#include <vector>

#include "bench/apps/applications/app.hpp"

// A file is compiled twice, plainly and by lacuna-c++, under different names.
#ifdef LACUNA_BENCH_SPECIALISED
#define LACUNA_APPS(name) name##_apps_specialised
#else
#define LACUNA_APPS(name) name##_apps
#endif

namespace lacuna::bench {

std::vector<App> LACUNA_APPS(wrf)();
std::vector<App> LACUNA_APPS(milc)();
std::vector<App> LACUNA_APPS(nas_lu)();
std::vector<App> LACUNA_APPS(nas_mg)();
std::vector<App> LACUNA_APPS(lammps)();
std::vector<App> LACUNA_APPS(specfem3d)();
std::vector<App> LACUNA_APPS(strided)();

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_APPS_APPLICATIONS_APPS_HPP_
