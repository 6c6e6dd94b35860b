// SPDX-License-Identifier: BSD-3-Clause
//
// NAS LU, fluid dynamics: five doubles at each point of a face of the grid u(5, nx + 2, ny)
// [Schneider2012, 2.1 and figure 2(b)]: contiguous in direction x, strided in direction y.
#include "bench/apps/applications/apps.hpp"
#include "bench/apps/applications/sites.hpp"

namespace lacuna::bench {
namespace {

constexpr int kPerPoint = 5;
constexpr int kHalo = 2;

// shape: nx ny.
int nx(const Input& input) { return input.shape[0]; }
int ny(const Input& input) { return input.shape[1]; }

LACUNA_BY_HAND void pack_x(const Input& input, const std::byte* mem, std::byte* packed) {
  const auto* __restrict u = reinterpret_cast<const double*>(mem);
  auto* __restrict buffer = reinterpret_cast<double*>(packed);
  for (size_t i = 0; i < size_t(nx(input)); ++i)
    for (size_t m = 0; m < kPerPoint; ++m) buffer[i * kPerPoint + m] = u[i * kPerPoint + m];
}

LACUNA_BY_HAND void unpack_x(const Input& input, const std::byte* packed, std::byte* mem) {
  pack_x(input, packed, mem);
}

MPI_Datatype make_x(const Input& input) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(kPerPoint * nx(input), MPI_DOUBLE, &made);
  return made;
}

LACUNA_BY_HAND void pack_y(const Input& input, const std::byte* mem, std::byte* packed) {
  const auto* __restrict u = reinterpret_cast<const double*>(mem);
  auto* __restrict buffer = reinterpret_cast<double*>(packed);
  const size_t stride = size_t(nx(input) + kHalo) * kPerPoint;
  for (size_t j = 0; j < size_t(ny(input)); ++j)
    for (size_t m = 0; m < kPerPoint; ++m) buffer[j * kPerPoint + m] = u[j * stride + m];
}

LACUNA_BY_HAND void unpack_y(const Input& input, const std::byte* packed, std::byte* mem) {
  const auto* __restrict buffer = reinterpret_cast<const double*>(packed);
  auto* __restrict u = reinterpret_cast<double*>(mem);
  const size_t stride = size_t(nx(input) + kHalo) * kPerPoint;
  for (size_t j = 0; j < size_t(ny(input)); ++j)
    for (size_t m = 0; m < kPerPoint; ++m) u[j * stride + m] = buffer[j * kPerPoint + m];
}

MPI_Datatype make_y(const Input& input) {
  MPI_Datatype point = MPI_DATATYPE_NULL;
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(kPerPoint, MPI_DOUBLE, &point);
  MPI_Type_vector(ny(input), 1, nx(input) + kHalo, point, &made);
  return outer(made, point);
}

}  // namespace

std::vector<App> LACUNA_APPS(nas_lu)() {
  return {{"NAS_LU_x", 2, 0, &kSites<make_x>, pack_x, unpack_x},
          {"NAS_LU_y", 2, 0, &kSites<make_y>, pack_y, unpack_y}};
}

}  // namespace lacuna::bench
