// SPDX-License-Identifier: BSD-3-Clause
//
// As transpose.c, in C++: datatypes free themselves, and lists of them are vectors.
//
//   mpicxx -std=c++17 transpose.cpp -o transpose && lacuna run mpiexec -n 4 ./transpose
#include <mpi.h>

#include <complex>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace {

using Number = std::complex<double>;

struct Matrix {
  Matrix(int rows, int columns)
      : columns(columns), cells(static_cast<std::size_t>(rows) * columns) {}
  Number& at(int row, int column) {
    return cells[static_cast<std::size_t>(row) * columns + column];
  }
  int columns;
  std::vector<Number> cells;
};

// For each other rank a datatype and where it begins.
class Parts {
 public:
  explicit Parts(int ranks) : counts(ranks, 1), places(ranks), types(ranks, MPI_DATATYPE_NULL) {}
  ~Parts() {
    for (MPI_Datatype& type : types) MPI_Type_free(&type);
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  std::vector<int> counts, places;
  std::vector<MPI_Datatype> types;
};

int first_row(int n, int rank, int ranks) {
  return static_cast<int>(static_cast<long>(n) * rank / ranks);
}

Number cell(int row, int column) { return Number(row, column); }

int run(int n) {
  int ranks, rank;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int first = first_row(n, rank, ranks);
  const int rows = first_row(n, rank + 1, ranks) - first;
  Matrix from(rows, n), to(rows, n);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < n; ++j) from.at(i, j) = cell(first + i, j);

  Parts columns(ranks), pieces(ranks);
  MPI_Datatype column, next_column;
  MPI_Type_vector(rows, 1, n, MPI_CXX_DOUBLE_COMPLEX, &column);
  MPI_Type_create_resized(column, 0, sizeof(Number), &next_column);
  for (int other = 0; other < ranks; ++other) {
    const int begin = first_row(n, other, ranks), width = first_row(n, other + 1, ranks) - begin;
    MPI_Type_contiguous(width, next_column, &columns.types[other]);
    MPI_Type_vector(rows, width, n, MPI_CXX_DOUBLE_COMPLEX, &pieces.types[other]);
    for (Parts* parts : {&columns, &pieces}) {
      MPI_Type_commit(&parts->types[other]);
      parts->places[other] = begin * static_cast<int>(sizeof(Number));
    }
  }
  MPI_Type_free(&next_column);
  MPI_Type_free(&column);

  MPI_Alltoallw(from.cells.data(), columns.counts.data(), columns.places.data(),
                columns.types.data(), to.cells.data(), pieces.counts.data(), pieces.places.data(),
                pieces.types.data(), MPI_COMM_WORLD);

  int wrong = 0;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < n; ++j) wrong += to.at(i, j) != cell(j, first + i);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%d ranks, %d wrong cells\n", ranks, wrong);
  return wrong != 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int failed = run(100);
  MPI_Finalize();
  return failed;
}
