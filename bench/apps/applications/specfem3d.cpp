// SPDX-License-Identifier: BSD-3-Clause
//
// SPECFEM3D_GLOBE, seismic waves: the acceleration of the grid points that two processes share, one
// float each in the outer core (oc), three in crust, mantle and inner core (cm) [Schneider2012,
// 2.2]; and the transpose of a distributed 3-d array (mt), which is contiguous on one side [2.3].
#include "bench/apps/applications/apps.hpp"
#include "bench/apps/applications/sites.hpp"

namespace lacuna::bench {
namespace {

// One array of `kPerPoint` floats a point: those in the list. shape (oc): points.
template <size_t kPerPoint, class Move>
inline __attribute__((always_inline)) void points(const std::vector<int>& list, const Move& move) {
  for (size_t i = 0; i < list.size(); ++i)
    for (size_t c = 0; c < kPerPoint; ++c) move(size_t(list[i]) * kPerPoint + c, i * kPerPoint + c);
}

LACUNA_BY_HAND void pack_oc(const Input& input, const std::byte* mem, std::byte* packed) {
  const auto* __restrict accel = reinterpret_cast<const float*>(mem);
  auto* __restrict buffer = reinterpret_cast<float*>(packed);
  points<1>(input.lists[0], [=](size_t from, size_t to) { buffer[to] = accel[from]; });
}

LACUNA_BY_HAND void unpack_oc(const Input& input, const std::byte* packed, std::byte* mem) {
  const auto* __restrict buffer = reinterpret_cast<const float*>(packed);
  auto* __restrict accel = reinterpret_cast<float*>(mem);
  points<1>(input.lists[0], [=](size_t to, size_t from) { accel[to] = buffer[from]; });
}

MPI_Datatype make_oc(const Input& input) {
  const std::vector<int>& list = input.lists[0];
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_indexed_block(int(list.size()), 1, list.data(), MPI_FLOAT, &made);
  return made;
}

// shape: points of crust and mantle, points of the inner core. lists: of each.
LACUNA_BY_HAND void pack_cm(const Input& input, const std::byte* mem, std::byte* packed) {
  const auto* __restrict mantle = reinterpret_cast<const float*>(mem);
  const auto* __restrict core = mantle + size_t(input.shape[0]) * 3;
  auto* __restrict buffer = reinterpret_cast<float*>(packed);
  points<3>(input.lists[0], [=](size_t from, size_t to) { buffer[to] = mantle[from]; });
  auto* __restrict rest = buffer + input.lists[0].size() * 3;
  points<3>(input.lists[1], [=](size_t from, size_t to) { rest[to] = core[from]; });
}

LACUNA_BY_HAND void unpack_cm(const Input& input, const std::byte* packed, std::byte* mem) {
  auto* __restrict mantle = reinterpret_cast<float*>(mem);
  auto* __restrict core = mantle + size_t(input.shape[0]) * 3;
  const auto* __restrict buffer = reinterpret_cast<const float*>(packed);
  points<3>(input.lists[0], [=](size_t to, size_t from) { mantle[to] = buffer[from]; });
  const auto* __restrict rest = buffer + input.lists[0].size() * 3;
  points<3>(input.lists[1], [=](size_t to, size_t from) { core[to] = rest[from]; });
}

MPI_Datatype make_cm(const Input& input) {
  MPI_Datatype types[2];
  for (size_t layer = 0; layer < 2; ++layer) {
    std::vector<int> floats(input.lists[layer]);
    for (int& first : floats) first *= 3;
    MPI_Type_create_indexed_block(int(floats.size()), 3, floats.data(), MPI_FLOAT, &types[layer]);
  }
  const int ones[2] = {1, 1};
  const MPI_Aint displacements[2] = {0, MPI_Aint(input.shape[0]) * 3 * MPI_Aint(sizeof(float))};
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(2, ones, displacements, types, &made);
  return outer(outer(made, types[0]), types[1]);
}

// shape: n1 n2 n3 of the array (n1, n2, n3), n1 the fastest; all of n3 at one index of n2.
template <class Move>
inline __attribute__((always_inline)) void pencil(const Input& input, const Move& move) {
  const auto n1 = size_t(input.shape[0]), n2 = size_t(input.shape[1]), n3 = size_t(input.shape[2]);
  for (size_t k = 0; k < n3; ++k)
    for (size_t i = 0; i < n1; ++i) move(k * n1 * n2 + i, k * n1 + i);
}

LACUNA_BY_HAND void pack_mt(const Input& input, const std::byte* mem, std::byte* packed) {
  const auto* __restrict array = reinterpret_cast<const float*>(mem);
  auto* __restrict buffer = reinterpret_cast<float*>(packed);
  pencil(input, [=](size_t from, size_t to) { buffer[to] = array[from]; });
}

LACUNA_BY_HAND void unpack_mt(const Input& input, const std::byte* packed, std::byte* mem) {
  const auto* __restrict buffer = reinterpret_cast<const float*>(packed);
  auto* __restrict array = reinterpret_cast<float*>(mem);
  pencil(input, [=](size_t to, size_t from) { array[to] = buffer[from]; });
}

MPI_Datatype make_mt(const Input& input) {
  MPI_Datatype point = MPI_DATATYPE_NULL;
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(input.shape[0], MPI_FLOAT, &point);
  MPI_Type_vector(input.shape[2], 1, input.shape[1], point, &made);
  return outer(made, point);
}

}  // namespace

std::vector<App> LACUNA_APPS(specfem3d)() {
  return {{"SPECFEM3D_oc", 1, 1, &kSites<make_oc>, pack_oc, unpack_oc},
          {"SPECFEM3D_cm", 2, 2, &kSites<make_cm>, pack_cm, unpack_cm},
          {"SPECFEM3D_mt", 3, 0, &kSites<make_mt>, pack_mt, unpack_mt, true}};
}

}  // namespace lacuna::bench
