// SPDX-License-Identifier: BSD-3-Clause
//
// The types of the tests: one of each constructor, and unusual ones.
#include <algorithm>
#include <iterator>

#include "tests/interpose/harness/harness.hpp"

namespace test {
namespace {

class Zoo {
 public:
  void add(const char* name, MPI_Datatype type, bool taken = true) {
    MPI_Type_commit(&type);
    shapes_.push_back({name, type, taken});
  }
  std::vector<Shape> take() { return std::move(shapes_); }

 private:
  std::vector<Shape> shapes_;
};

MPI_Datatype vector(int count, int blocklength, int stride, MPI_Datatype old) {
  MPI_Datatype type;
  MPI_Type_vector(count, blocklength, stride, old, &type);
  return type;
}

MPI_Datatype resized(MPI_Aint lb, MPI_Aint extent, MPI_Datatype old) {
  MPI_Datatype type;
  MPI_Type_create_resized(old, lb, extent, &type);
  return type;
}

void add_regular(Zoo* zoo) {
  zoo->add("vector", vector(5, 1, 3, MPI_DOUBLE));
  zoo->add("vector of blocks", vector(4, 3, 5, MPI_INT));
  zoo->add("vector with gaps behind", resized(0, 160, vector(4, 2, 5, MPI_DOUBLE)));
  zoo->add("negative stride", vector(4, 1, -2, MPI_DOUBLE));
  MPI_Datatype type;
  MPI_Type_create_hvector(6, 1, 7, MPI_CHAR, &type);
  zoo->add("hvector of odd stride", type);
  MPI_Datatype inner = vector(3, 1, 2, MPI_FLOAT);
  MPI_Type_create_hvector(4, 1, 64, inner, &type);
  zoo->add("vector of vectors", type);
  MPI_Type_contiguous(3, inner, &type);
  zoo->add("contiguous of a vector", resized(0, 64, type));
  MPI_Type_free(&inner);
  MPI_Type_contiguous(8, MPI_INT, &type);
  zoo->add("contiguous", type, false);
  zoo->add("one int in 16 bytes", resized(0, 16, MPI_INT));
  zoo->add("lower bound below zero", resized(-24, 48, MPI_DOUBLE));
  zoo->add("negative extent", resized(0, -16, MPI_DOUBLE));
  MPI_Datatype first = vector(3, 1, 2, MPI_SHORT);
  MPI_Type_dup(first, &type);
  zoo->add("dup", type);
  MPI_Type_free(&first);
}

void add_listed(Zoo* zoo) {
  MPI_Datatype type;
  const int lengths[] = {1, 3, 0, 2};
  const int places[] = {9, 0, 7, 4};
  MPI_Type_indexed(4, lengths, places, MPI_INT, &type);
  zoo->add("indexed", type);
  const MPI_Aint bytes[] = {61, 0, 30, 17};
  MPI_Type_create_hindexed(4, lengths, bytes, MPI_SHORT, &type);
  zoo->add("hindexed", type);
  const int equal_places[] = {8, 1, 5};
  MPI_Type_create_indexed_block(3, 2, equal_places, MPI_FLOAT, &type);
  zoo->add("indexed block", type);
  const MPI_Aint equal_bytes[] = {40, 3, 19};
  MPI_Type_create_hindexed_block(3, 2, equal_bytes, MPI_INT, &type);
  zoo->add("hindexed block", type);
  const int struct_lengths[] = {1, 2, 3};
  const MPI_Aint struct_bytes[] = {0, 8, 32};
  const MPI_Datatype members[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT};
  MPI_Type_create_struct(3, struct_lengths, struct_bytes, members, &type);
  zoo->add("struct", type);
  MPI_Datatype column_type = vector(3, 1, 4, MPI_INT);
  const MPI_Datatype nested[] = {column_type, MPI_DOUBLE};
  const MPI_Aint nested_bytes[] = {8, 48};
  const int ones[] = {1, 1};
  MPI_Type_create_struct(2, ones, nested_bytes, nested, &type);
  zoo->add("struct with a vector", type);
  MPI_Type_free(&column_type);
}

void add_arrays(Zoo* zoo) {
  MPI_Datatype type;
  const int sizes[] = {4, 5, 6};
  const int subsizes[] = {2, 3, 2};
  const int starts[] = {1, 0, 3};
  MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &type);
  zoo->add("subarray in C order", type);
  MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_DOUBLE, &type);
  zoo->add("subarray in Fortran order", type);
  const int gsizes[] = {7, 9};
  const int psizes[] = {2, 2};
  const int cyclic[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC};
  const int two[] = {2, MPI_DISTRIBUTE_DFLT_DARG};
  MPI_Type_create_darray(4, 1, 2, gsizes, cyclic, two, psizes, MPI_ORDER_C, MPI_FLOAT, &type);
  zoo->add("cyclic darray", type);
  const int block[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK};
  const int defaults[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
  MPI_Type_create_darray(4, 2, 2, gsizes, block, defaults, psizes, MPI_ORDER_FORTRAN, MPI_DOUBLE,
                         &type);
  zoo->add("block darray", type);
}

void add_odd(Zoo* zoo) {
  MPI_Datatype type;
  MPI_Type_vector(0, 1, 2, MPI_INT, &type);
  zoo->add("empty", type, false);
  MPI_Type_vector(3, 1, 2, MPI_DOUBLE_INT, &type);
  zoo->add("vector of pairs", type);
  MPI_Type_contiguous(2, MPI_DOUBLE_INT, &type);
  zoo->add("contiguous pairs", type);
  // Not among them: long double, whose six bytes of padding MPICH does not copy faithfully.
}

}  // namespace

std::vector<Shape> all_shapes() {
  Zoo zoo;
  add_regular(&zoo);
  add_listed(&zoo);
  add_arrays(&zoo);
  add_odd(&zoo);
  return zoo.take();
}

void free_shapes(std::vector<Shape>* shapes) {
  for (Shape& shape : *shapes) MPI_Type_free(&shape.type);
  shapes->clear();
}

MPI_Datatype column(int n) { return column(n, n); }

MPI_Datatype column(int count, int stride) {
  MPI_Datatype type;
  MPI_Type_vector(count, 1, stride, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  return type;
}

Buffer::Buffer(MPI_Datatype type, int count) {
  MPI_Aint lb = 0, extent = 0, true_lb = 0, true_extent = 0;
  MPI_Type_get_extent(type, &lb, &extent);
  MPI_Type_get_true_extent(type, &true_lb, &true_extent);
  const MPI_Aint last = count > 0 ? (count - 1) * extent : 0;
  const MPI_Aint low = std::min<MPI_Aint>({0, true_lb, last + true_lb});
  const MPI_Aint high =
      std::max<MPI_Aint>({0, true_lb + true_extent, last + true_lb + true_extent});
  constexpr MPI_Aint kMargin = 64;
  bytes_.resize(static_cast<size_t>(high - low + 2 * kMargin));
  offset_ = static_cast<size_t>(kMargin - low);
}

void Buffer::fill(unsigned seed) {
  unsigned state = seed * 2654435761U + 1;
  for (unsigned char& byte : bytes_) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<unsigned char>(state >> 24);
  }
}

}  // namespace test
