// SPDX-License-Identifier: BSD-3-Clause
//
// The tests whose application is in Fortran, with its loops and constructors in Fortran; for those
// in C++ there is applications/apps.cpp. The loops are compiled once for each level of
// instruction set; the best for this processor is used.
#include <array>

#include "bench/apps/applications/app.hpp"

namespace lacuna::bench {
namespace {

// Types of the Fortran procedures: first members of an Input, then two addresses or a type.
using Grid = void(const int* bounds, const void* from, void* to);
using Points = void(const int* points, const int* list, const void* from, void* to);
using TwoLayers = void(const int* bounds, const int* mantle_points, const int* mantle_list,
                       const int* core_points, const int* core_list, const void* from, void* to);
using MakeGrid = void(const int* bounds, MPI_Fint* made);
using MakePoints = void(const int* points, const int* list, MPI_Fint* made);
using MakeTwoLayers = void(const int* bounds, const int* mantle_points, const int* mantle_list,
                           const int* core_points, const int* core_list, MPI_Fint* made);

template <class... More>
void call(void (*procedure)(const int*, More...), const Input& input, More... more) {
  procedure(input.shape.data(), more...);
}

template <class... More>
void call(void (*procedure)(const int*, const int*, More...), const Input& input, More... more) {
  const auto points = static_cast<int>(input.lists[0].size());
  procedure(&points, input.lists[0].data(), more...);
}

template <class... More>
void call(void (*procedure)(const int*, const int*, const int*, const int*, const int*, More...),
          const Input& input, More... more) {
  const auto mantle = static_cast<int>(input.lists[0].size());
  const auto core = static_cast<int>(input.lists[1].size());
  procedure(input.shape.data(), &mantle, input.lists[0].data(), &core, input.lists[1].data(),
            more...);
}

#if defined(__x86_64__)
#define LACUNA_LEVELS(name, procedure)                                                    \
  extern "C" procedure lacuna_baseline_##name, lacuna_avx2_##name, lacuna_avx512_##name;  \
  constexpr std::array<procedure*, 3> name = {lacuna_baseline_##name, lacuna_avx2_##name, \
                                              lacuna_avx512_##name}
#else
#define LACUNA_LEVELS(name, procedure)         \
  extern "C" procedure lacuna_baseline_##name; \
  constexpr std::array<procedure*, 1> name = {lacuna_baseline_##name}
#endif
#define LACUNA_LOOPS(name, procedure)    \
  LACUNA_LEVELS(pack_##name, procedure); \
  LACUNA_LEVELS(unpack_##name, procedure)

LACUNA_LOOPS(wrf, Grid);
LACUNA_LOOPS(nas_mg_x, Grid);
LACUNA_LOOPS(nas_mg_y, Grid);
LACUNA_LOOPS(nas_mg_z, Grid);
LACUNA_LOOPS(nas_lu_x, Grid);
LACUNA_LOOPS(nas_lu_y, Grid);
LACUNA_LOOPS(specfem3d_oc, Points);
LACUNA_LOOPS(specfem3d_cm, TwoLayers);
LACUNA_LOOPS(specfem3d_mt, Grid);

extern "C" {
MakeGrid lacuna_fortran_make_wrf_vectors, lacuna_fortran_make_wrf_subarrays;
MakeGrid lacuna_fortran_make_nas_mg_x, lacuna_fortran_make_nas_mg_y, lacuna_fortran_make_nas_mg_z;
MakeGrid lacuna_fortran_make_nas_lu_x, lacuna_fortran_make_nas_lu_y;
MakePoints lacuna_fortran_make_specfem3d_oc;
MakeTwoLayers lacuna_fortran_make_specfem3d_cm;
MakeGrid lacuna_fortran_make_specfem3d_mt;
}

size_t best_level() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return 2;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2")) {
    return 1;
  }
#endif
  return 0;
}

template <const auto& kLevels>
void move(const Input& input, const std::byte* from, std::byte* to) {
  static const size_t level = best_level();
  call<const void*, void*>(kLevels[level], input, from, to);
}

template <auto kMake>
MPI_Datatype make(const Input& input) {
  MPI_Fint made = 0;
  call<MPI_Fint*>(kMake, input, &made);
  return MPI_Type_f2c(made);
}

template <MPI_Datatype (*kMake)(const Input&)>
constexpr Sites kSites = {kMake};

}  // namespace

const App* find_app(const std::string& test) {
  constexpr auto wrf_vectors = make<lacuna_fortran_make_wrf_vectors>;
  constexpr auto wrf_subarrays = make<lacuna_fortran_make_wrf_subarrays>;
  constexpr auto pack_faces = move<pack_wrf>;
  constexpr auto unpack_faces = move<unpack_wrf>;
  static const std::array<App, 12> all = {{
      {"WRF_x_vec", 12, 0, &kSites<wrf_vectors>, pack_faces, unpack_faces},
      {"WRF_y_vec", 12, 0, &kSites<wrf_vectors>, pack_faces, unpack_faces},
      {"WRF_x_sa", 12, 0, &kSites<wrf_subarrays>, pack_faces, unpack_faces},
      {"WRF_y_sa", 12, 0, &kSites<wrf_subarrays>, pack_faces, unpack_faces},
      {"NAS_MG_x", 3, 0, &kSites<make<lacuna_fortran_make_nas_mg_x>>, move<pack_nas_mg_x>,
       move<unpack_nas_mg_x>},
      {"NAS_MG_y", 3, 0, &kSites<make<lacuna_fortran_make_nas_mg_y>>, move<pack_nas_mg_y>,
       move<unpack_nas_mg_y>},
      {"NAS_MG_z", 3, 0, &kSites<make<lacuna_fortran_make_nas_mg_z>>, move<pack_nas_mg_z>,
       move<unpack_nas_mg_z>},
      {"NAS_LU_x", 2, 0, &kSites<make<lacuna_fortran_make_nas_lu_x>>, move<pack_nas_lu_x>,
       move<unpack_nas_lu_x>},
      {"NAS_LU_y", 2, 0, &kSites<make<lacuna_fortran_make_nas_lu_y>>, move<pack_nas_lu_y>,
       move<unpack_nas_lu_y>},
      {"SPECFEM3D_oc", 1, 1, &kSites<make<lacuna_fortran_make_specfem3d_oc>>,
       move<pack_specfem3d_oc>, move<unpack_specfem3d_oc>},
      {"SPECFEM3D_cm", 2, 2, &kSites<make<lacuna_fortran_make_specfem3d_cm>>,
       move<pack_specfem3d_cm>, move<unpack_specfem3d_cm>},
      {"SPECFEM3D_mt", 3, 0, &kSites<make<lacuna_fortran_make_specfem3d_mt>>,
       move<pack_specfem3d_mt>, move<unpack_specfem3d_mt>, true, MPI_REAL},
  }};
  for (const App& app : all) {
    if (test == app.test) return &app;
  }
  return nullptr;
}

// Fortran is not compiled by lacuna-c++.
const App* find_specialised_app(const std::string&) { return nullptr; }

}  // namespace lacuna::bench
