// SPDX-License-Identifier: BSD-3-Clause
//
// LAMMPS, molecular dynamics: the properties of the particles in an index list [Schneider2012,
// 2.2]. The position is three doubles, each other property one; atomic
// particles have three others (tag, type, mask), full ones also charge and molecule.
#include <array>

#include "bench/apps/applications/apps.hpp"
#include "bench/apps/applications/sites.hpp"

namespace lacuna::bench {
namespace {

// shape: particles that an array has room for. lists: the positions' and the properties', which are
// the same particles.
template <size_t kProperties, class Move>
inline __attribute__((always_inline)) void by_array(const Input& input, const Move& move) {
  const auto particles = size_t(input.shape[0]);
  const std::vector<int>& list = input.lists[1];
  const size_t n = list.size();
  for (size_t i = 0; i < n; ++i)
    for (size_t xyz = 0; xyz < 3; ++xyz) move(size_t(list[i]) * 3 + xyz, i * 3 + xyz);
  for (size_t property = 0; property < kProperties; ++property) {
    const size_t array = (3 + property) * particles;
    const size_t at = (3 + property) * n;
    for (size_t i = 0; i < n; ++i) move(array + size_t(list[i]), at + i);
  }
}

LACUNA_BY_HAND void pack_full(const Input& input, const std::byte* mem, std::byte* packed) {
  const auto* __restrict arrays = reinterpret_cast<const double*>(mem);
  auto* __restrict buffer = reinterpret_cast<double*>(packed);
  by_array<5>(input, [=](size_t from, size_t to) { buffer[to] = arrays[from]; });
}

LACUNA_BY_HAND void unpack_full(const Input& input, const std::byte* packed, std::byte* mem) {
  const auto* __restrict buffer = reinterpret_cast<const double*>(packed);
  auto* __restrict arrays = reinterpret_cast<double*>(mem);
  by_array<5>(input, [=](size_t to, size_t from) { arrays[to] = buffer[from]; });
}

LACUNA_BY_HAND void pack_atomic(const Input& input, const std::byte* mem, std::byte* packed) {
  const auto* __restrict arrays = reinterpret_cast<const double*>(mem);
  auto* __restrict buffer = reinterpret_cast<double*>(packed);
  by_array<3>(input, [=](size_t from, size_t to) { buffer[to] = arrays[from]; });
}

LACUNA_BY_HAND void unpack_atomic(const Input& input, const std::byte* packed, std::byte* mem) {
  const auto* __restrict buffer = reinterpret_cast<const double*>(packed);
  auto* __restrict arrays = reinterpret_cast<double*>(mem);
  by_array<3>(input, [=](size_t to, size_t from) { arrays[to] = buffer[from]; });
}

template <size_t kProperties>
MPI_Datatype make(const Input& input) {
  const std::vector<int>& list = input.lists[1];
  const auto n = static_cast<int>(list.size());
  std::vector<int> positions(list.size());
  for (size_t i = 0; i < list.size(); ++i) positions[i] = 3 * list[i];
  MPI_Datatype of_positions = MPI_DATATYPE_NULL;
  MPI_Datatype of_property = MPI_DATATYPE_NULL;
  MPI_Type_create_indexed_block(n, 3, positions.data(), MPI_DOUBLE, &of_positions);
  MPI_Type_create_indexed_block(n, 1, list.data(), MPI_DOUBLE, &of_property);
  const auto array_bytes = static_cast<MPI_Aint>(sizeof(double)) * input.shape[0];
  std::array<int, 1 + kProperties> ones;
  std::array<MPI_Aint, 1 + kProperties> displacements;
  std::array<MPI_Datatype, 1 + kProperties> types;
  ones.fill(1);
  types.fill(of_property);
  types[0] = of_positions;
  displacements[0] = 0;
  for (size_t i = 1; i < types.size(); ++i) displacements[i] = MPI_Aint(i + 2) * array_bytes;
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(1 + kProperties, ones.data(), displacements.data(), types.data(), &made);
  return outer(outer(made, of_positions), of_property);
}

}  // namespace

std::vector<App> LACUNA_APPS(lammps)() {
  return {{"LAMMPS_full", 1, 6, &kSites<make<5>>, pack_full, unpack_full},
          {"LAMMPS_atomic", 1, 4, &kSites<make<3>>, pack_atomic, unpack_atomic}};
}

}  // namespace lacuna::bench
