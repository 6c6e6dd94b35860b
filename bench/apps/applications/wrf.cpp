// SPDX-License-Identifier: BSD-3-Clause
//
// WRF, weather: the halo of four 2-d, three 3-d and two 4-d arrays of reals in one message
// [Schneider2012, 2.1]. Fortran arrays (i, k, j, m), i the fastest; the first element of the fourth
// dimension is not used. As nested vectors, and as subarrays.
#include <array>
#include <numeric>

#include "bench/apps/applications/apps.hpp"
#include "bench/apps/applications/sites.hpp"

namespace lacuna::bench {
namespace {

constexpr int k2d = 4;
constexpr int k3d = 3;
constexpr int k4d = 2;
constexpr int kArrays = k2d + k3d + k4d;
constexpr int kScalars = 2;      // extent of the fourth dimension
constexpr int kFirstScalar = 1;  // from 0

// shape: ims ime jms jme kms kme, the memory of a process; is ie js je ks ke, what is sent. All
// bounds as in Fortran, inclusive.
struct Grid {
  int ni, nj, nk;
  int i0, i1, j0, j1, k0, k1;  // half open, from 0
  size_t plane, box;           // elements of a 2-d and a 3-d array
};

Grid grid_of(const Input& input) {
  const std::vector<int>& s = input.shape;
  Grid g;
  g.ni = s[1] - s[0] + 1;
  g.nj = s[3] - s[2] + 1;
  g.nk = s[5] - s[4] + 1;
  g.i0 = s[6] - s[0];
  g.i1 = s[7] - s[0] + 1;
  g.j0 = s[8] - s[2];
  g.j1 = s[9] - s[2] + 1;
  g.k0 = s[10] - s[4];
  g.k1 = s[11] - s[4] + 1;
  g.plane = size_t(g.ni) * size_t(g.nj);
  g.box = g.plane * size_t(g.nk);
  return g;
}

// Calls move(element of the allocation, element of the message) for every element of the faces, in
// the order of the typemap.
template <class Move>
inline __attribute__((always_inline)) void faces(const Grid& g, const Move& move) {
  size_t at = 0;
  size_t array = 0;
  for (int n = 0; n < k2d; ++n, array += g.plane)
    for (int j = g.j0; j < g.j1; ++j)
      for (int i = g.i0; i < g.i1; ++i) move(array + size_t(j) * size_t(g.ni) + size_t(i), at++);
  for (int n = 0; n < k3d; ++n, array += g.box)
    for (int j = g.j0; j < g.j1; ++j)
      for (int k = g.k0; k < g.k1; ++k)
        for (int i = g.i0; i < g.i1; ++i)
          move(array + (size_t(j) * size_t(g.nk) + size_t(k)) * size_t(g.ni) + size_t(i), at++);
  for (int n = 0; n < k4d; ++n, array += kScalars * g.box)
    for (int m = kFirstScalar; m < kScalars; ++m)
      for (int j = g.j0; j < g.j1; ++j)
        for (int k = g.k0; k < g.k1; ++k)
          for (int i = g.i0; i < g.i1; ++i)
            move(array + size_t(m) * g.box + (size_t(j) * size_t(g.nk) + size_t(k)) * size_t(g.ni) +
                     size_t(i),
                 at++);
}

LACUNA_BY_HAND void pack(const Input& input, const std::byte* mem, std::byte* packed) {
  const auto* __restrict grid = reinterpret_cast<const float*>(mem);
  auto* __restrict buffer = reinterpret_cast<float*>(packed);
  faces(grid_of(input), [=](size_t from, size_t to) { buffer[to] = grid[from]; });
}

LACUNA_BY_HAND void unpack(const Input& input, const std::byte* packed, std::byte* mem) {
  const auto* __restrict buffer = reinterpret_cast<const float*>(packed);
  auto* __restrict grid = reinterpret_cast<float*>(mem);
  faces(grid_of(input), [=](size_t to, size_t from) { grid[to] = buffer[from]; });
}

// A struct of the arrays' types: `of_2d`, `of_3d` and `of_4d`, the first `offset_*` elements into
// each array.
struct Parts {
  MPI_Datatype of_2d, of_3d, of_4d;
  size_t offset_2d, offset_3d, offset_4d;
};

MPI_Datatype all_arrays(const Grid& g, const Parts& parts) {
  std::array<int, kArrays> ones;
  ones.fill(1);
  std::array<MPI_Datatype, kArrays> types;
  std::array<MPI_Aint, kArrays> displacements;
  size_t array = 0;
  size_t n = 0;
  const auto add = [&](int count, MPI_Datatype type, size_t offset, size_t elements) {
    for (int i = 0; i < count; ++i, array += elements, ++n) {
      types[n] = type;
      displacements[n] = static_cast<MPI_Aint>((array + offset) * sizeof(float));
    }
  };
  add(k2d, parts.of_2d, parts.offset_2d, g.plane);
  add(k3d, parts.of_3d, parts.offset_3d, g.box);
  add(k4d, parts.of_4d, parts.offset_4d, kScalars * g.box);
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(kArrays, ones.data(), displacements.data(), types.data(), &made);
  made = outer(made, parts.of_2d);
  made = outer(made, parts.of_3d);
  return outer(made, parts.of_4d);
}

MPI_Datatype make_vectors(const Input& input) {
  const Grid g = grid_of(input);
  Parts parts = {};
  MPI_Type_vector(g.j1 - g.j0, g.i1 - g.i0, g.ni, MPI_FLOAT, &parts.of_2d);
  MPI_Datatype slab = MPI_DATATYPE_NULL;
  MPI_Type_vector(g.k1 - g.k0, g.i1 - g.i0, g.ni, MPI_FLOAT, &slab);
  const auto row_bytes = static_cast<MPI_Aint>(size_t(g.ni) * size_t(g.nk) * sizeof(float));
  MPI_Type_create_hvector(g.j1 - g.j0, 1, row_bytes, slab, &parts.of_3d);
  MPI_Type_create_hvector(kScalars - kFirstScalar, 1, static_cast<MPI_Aint>(g.box * sizeof(float)),
                          parts.of_3d, &parts.of_4d);
  MPI_Type_free(&slab);
  parts.offset_2d = size_t(g.j0) * size_t(g.ni) + size_t(g.i0);
  parts.offset_3d = (size_t(g.j0) * size_t(g.nk) + size_t(g.k0)) * size_t(g.ni) + size_t(g.i0);
  parts.offset_4d = kFirstScalar * g.box + parts.offset_3d;
  return all_arrays(g, parts);
}

MPI_Datatype make_subarrays(const Input& input) {
  const Grid g = grid_of(input);
  Parts parts = {};
  const std::array<int, 4> sizes = {g.ni, g.nk, g.nj, kScalars};
  const std::array<int, 4> sent = {g.i1 - g.i0, g.k1 - g.k0, g.j1 - g.j0, kScalars - kFirstScalar};
  const std::array<int, 4> starts = {g.i0, g.k0, g.j0, kFirstScalar};
  const std::array<int, 2> sizes_2d = {g.ni, g.nj};
  const std::array<int, 2> sent_2d = {sent[0], sent[2]};
  const std::array<int, 2> starts_2d = {g.i0, g.j0};
  MPI_Type_create_subarray(2, sizes_2d.data(), sent_2d.data(), starts_2d.data(), MPI_ORDER_FORTRAN,
                           MPI_FLOAT, &parts.of_2d);
  MPI_Type_create_subarray(3, sizes.data(), sent.data(), starts.data(), MPI_ORDER_FORTRAN,
                           MPI_FLOAT, &parts.of_3d);
  MPI_Type_create_subarray(4, sizes.data(), sent.data(), starts.data(), MPI_ORDER_FORTRAN,
                           MPI_FLOAT, &parts.of_4d);
  return all_arrays(g, parts);
}

}  // namespace

std::vector<App> LACUNA_APPS(wrf)() {
  return {{"WRF_x_vec", 12, 0, &kSites<make_vectors>, pack, unpack},
          {"WRF_y_vec", 12, 0, &kSites<make_vectors>, pack, unpack},
          {"WRF_x_sa", 12, 0, &kSites<make_subarrays>, pack, unpack},
          {"WRF_y_sa", 12, 0, &kSites<make_subarrays>, pack, unpack}};
}

}  // namespace lacuna::bench
