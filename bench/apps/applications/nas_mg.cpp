// SPDX-License-Identifier: BSD-3-Clause
//
// NAS MG, fluid dynamics: the inner points of a face of the 3-d array u(n1, n2, n3) of doubles, n1
// the fastest, in each direction [Schneider2012, 2.1 and figure 2(a)].
#include "bench/apps/applications/apps.hpp"
#include "bench/apps/applications/sites.hpp"

namespace lacuna::bench {
namespace {

// A face as two loops: `rows` of `columns` points. shape: n1 n2 n3.
struct Face {
  size_t rows, columns;
  size_t row_stride, column_stride;  // in elements
};

Face face_x(const Input& input) {
  const auto n1 = size_t(input.shape[0]), n2 = size_t(input.shape[1]), n3 = size_t(input.shape[2]);
  return {n3 - 2, n2 - 2, n1 * n2, n1};
}

Face face_y(const Input& input) {
  const auto n1 = size_t(input.shape[0]), n2 = size_t(input.shape[1]), n3 = size_t(input.shape[2]);
  return {n3 - 2, n1 - 2, n1 * n2, 1};
}

Face face_z(const Input& input) {
  const auto n1 = size_t(input.shape[0]), n2 = size_t(input.shape[1]);
  return {n2 - 2, n1 - 2, n1, 1};
}

template <class Move>
inline __attribute__((always_inline)) void points(const Face& f, const Move& move) {
  for (size_t row = 0; row < f.rows; ++row)
    for (size_t column = 0; column < f.columns; ++column)
      move(row * f.row_stride + column * f.column_stride, row * f.columns + column);
}

// If the columns are contiguous, the compiler can see it, as in the application's source.
template <class Move>
inline __attribute__((always_inline)) void rows(Face f, const Move& move) {
  f.column_stride = 1;
  points(f, move);
}

LACUNA_BY_HAND void pack_x(const Input& input, const std::byte* mem, std::byte* packed) {
  const auto* __restrict u = reinterpret_cast<const double*>(mem);
  auto* __restrict buffer = reinterpret_cast<double*>(packed);
  points(face_x(input), [=](size_t from, size_t to) { buffer[to] = u[from]; });
}

LACUNA_BY_HAND void unpack_x(const Input& input, const std::byte* packed, std::byte* mem) {
  const auto* __restrict buffer = reinterpret_cast<const double*>(packed);
  auto* __restrict u = reinterpret_cast<double*>(mem);
  points(face_x(input), [=](size_t to, size_t from) { u[to] = buffer[from]; });
}

template <Face (*kFace)(const Input&)>
inline __attribute__((always_inline)) void pack_rows(const Input& input, const std::byte* mem,
                                                     std::byte* packed) {
  const auto* __restrict u = reinterpret_cast<const double*>(mem);
  auto* __restrict buffer = reinterpret_cast<double*>(packed);
  rows(kFace(input), [=](size_t from, size_t to) { buffer[to] = u[from]; });
}

template <Face (*kFace)(const Input&)>
inline __attribute__((always_inline)) void unpack_rows(const Input& input, const std::byte* packed,
                                                       std::byte* mem) {
  const auto* __restrict buffer = reinterpret_cast<const double*>(packed);
  auto* __restrict u = reinterpret_cast<double*>(mem);
  rows(kFace(input), [=](size_t to, size_t from) { u[to] = buffer[from]; });
}

LACUNA_BY_HAND void pack_y(const Input& input, const std::byte* mem, std::byte* packed) {
  pack_rows<face_y>(input, mem, packed);
}
LACUNA_BY_HAND void unpack_y(const Input& input, const std::byte* packed, std::byte* mem) {
  unpack_rows<face_y>(input, packed, mem);
}
LACUNA_BY_HAND void pack_z(const Input& input, const std::byte* mem, std::byte* packed) {
  pack_rows<face_z>(input, mem, packed);
}
LACUNA_BY_HAND void unpack_z(const Input& input, const std::byte* packed, std::byte* mem) {
  unpack_rows<face_z>(input, packed, mem);
}

MPI_Datatype make_x(const Input& input) {
  const Face f = face_x(input);
  MPI_Datatype row = MPI_DATATYPE_NULL;
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_vector(int(f.columns), 1, int(f.column_stride), MPI_DOUBLE, &row);
  MPI_Type_create_hvector(int(f.rows), 1, MPI_Aint(f.row_stride * sizeof(double)), row, &made);
  return outer(made, row);
}

template <Face (*kFace)(const Input&)>
MPI_Datatype make_rows(const Input& input) {
  const Face f = kFace(input);
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_vector(int(f.rows), int(f.columns), int(f.row_stride), MPI_DOUBLE, &made);
  return made;
}

}  // namespace

std::vector<App> LACUNA_APPS(nas_mg)() {
  return {{"NAS_MG_x", 3, 0, &kSites<make_x>, pack_x, unpack_x},
          {"NAS_MG_y", 3, 0, &kSites<make_rows<face_y>>, pack_y, unpack_y},
          {"NAS_MG_z", 3, 0, &kSites<make_rows<face_z>>, pack_z, unpack_z}};
}

}  // namespace lacuna::bench
