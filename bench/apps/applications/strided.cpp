// SPDX-License-Identifier: BSD-3-Clause
//
// The patterns of [Gropp1999] and [Byna2003]: two loops over doubles with a stride each, for a
// strided vector, a face of a cube or the transpose of a matrix; the same loops in blocks, as Byna
// et al. pack by hand in their figure 1; and the index list of a graph or mesh.
#include <algorithm>

#include "bench/apps/applications/apps.hpp"
#include "bench/apps/applications/sites.hpp"

namespace lacuna::bench {
namespace {

// shape: rows columns row_stride column_stride, strides in doubles; in blocks also their order.
struct Loops {
  size_t rows, columns, row_stride, column_stride;
};

Loops loops_of(const Input& input) {
  const std::vector<int>& s = input.shape;
  return {size_t(s[0]), size_t(s[1]), size_t(s[2]), size_t(s[3])};
}

LACUNA_BY_HAND void pack(const Input& input, const std::byte* mem, std::byte* packed) {
  const Loops l = loops_of(input);
  const auto* __restrict array = reinterpret_cast<const double*>(mem);
  auto* __restrict buffer = reinterpret_cast<double*>(packed);
  for (size_t row = 0; row < l.rows; ++row)
    for (size_t column = 0; column < l.columns; ++column)
      buffer[row * l.columns + column] = array[row * l.row_stride + column * l.column_stride];
}

LACUNA_BY_HAND void unpack(const Input& input, const std::byte* packed, std::byte* mem) {
  const Loops l = loops_of(input);
  const auto* __restrict buffer = reinterpret_cast<const double*>(packed);
  auto* __restrict array = reinterpret_cast<double*>(mem);
  for (size_t row = 0; row < l.rows; ++row)
    for (size_t column = 0; column < l.columns; ++column)
      array[row * l.row_stride + column * l.column_stride] = buffer[row * l.columns + column];
}

// `move(begin row, end row, begin column, end column)` of each block.
template <class Move>
inline __attribute__((always_inline)) void blocks(const Input& input, const Move& move) {
  const Loops l = loops_of(input);
  const auto order = size_t(input.shape[4]);
  for (size_t row = 0; row < l.rows; row += order)
    for (size_t column = 0; column < l.columns; column += order)
      move(row, std::min(row + order, l.rows), column, std::min(column + order, l.columns));
}

LACUNA_BY_HAND void pack_blocks(const Input& input, const std::byte* mem, std::byte* packed) {
  const Loops l = loops_of(input);
  const auto* __restrict array = reinterpret_cast<const double*>(mem);
  auto* __restrict buffer = reinterpret_cast<double*>(packed);
  blocks(input, [=](size_t row, size_t row_end, size_t column, size_t column_end) {
    for (size_t r = row; r < row_end; ++r)
      for (size_t c = column; c < column_end; ++c)
        buffer[r * l.columns + c] = array[r * l.row_stride + c * l.column_stride];
  });
}

LACUNA_BY_HAND void unpack_blocks(const Input& input, const std::byte* packed, std::byte* mem) {
  const Loops l = loops_of(input);
  const auto* __restrict buffer = reinterpret_cast<const double*>(packed);
  auto* __restrict array = reinterpret_cast<double*>(mem);
  blocks(input, [=](size_t row, size_t row_end, size_t column, size_t column_end) {
    for (size_t r = row; r < row_end; ++r)
      for (size_t c = column; c < column_end; ++c)
        array[r * l.row_stride + c * l.column_stride] = buffer[r * l.columns + c];
  });
}

MPI_Datatype make(const Input& input) {
  const Loops l = loops_of(input);
  MPI_Datatype row = MPI_DATATYPE_NULL;
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_vector(int(l.columns), 1, int(l.column_stride), MPI_DOUBLE, &row);
  MPI_Type_create_hvector(int(l.rows), 1, MPI_Aint(l.row_stride * sizeof(double)), row, &made);
  return outer(made, row);
}

// Doubles by an index list, as graphs and unstructured meshes have them.
LACUNA_BY_HAND void gather(const Input& input, const std::byte* mem, std::byte* packed) {
  const auto* __restrict array = reinterpret_cast<const double*>(mem);
  auto* __restrict buffer = reinterpret_cast<double*>(packed);
  const int* list = input.lists[0].data();
  const size_t n = input.lists[0].size();
  for (size_t i = 0; i < n; ++i) buffer[i] = array[list[i]];
}

LACUNA_BY_HAND void scatter(const Input& input, const std::byte* packed, std::byte* mem) {
  const auto* __restrict buffer = reinterpret_cast<const double*>(packed);
  auto* __restrict array = reinterpret_cast<double*>(mem);
  const int* list = input.lists[0].data();
  const size_t n = input.lists[0].size();
  for (size_t i = 0; i < n; ++i) array[list[i]] = buffer[i];
}

MPI_Datatype make_gather(const Input& input) {
  const std::vector<int>& list = input.lists[0];
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_indexed_block(int(list.size()), 1, list.data(), MPI_DOUBLE, &made);
  return made;
}

}  // namespace

std::vector<App> LACUNA_APPS(strided)() {
  return {{"strided", 4, 0, &kSites<make>, pack, unpack},
          {"strided_blocks", 5, 0, &kSites<make>, pack_blocks, unpack_blocks},
          {"gather", 0, 1, &kSites<make_gather>, gather, scatter}};
}

}  // namespace lacuna::bench
