// SPDX-License-Identifier: BSD-3-Clause
//
// As halo.c, in C++: a datatype frees itself, and the grid's width is known at run time.
//
//   mpicxx -std=c++17 halo.cpp -o halo && lacuna run mpiexec -n 4 ./halo
#include <mpi.h>

#include <cstddef>
#include <cstdio>
#include <vector>

namespace {

class Datatype {
 public:
  // `count` cells, each `stride` cells after the one before.
  Datatype(int count, int stride) {
    MPI_Type_vector(count, 1, stride, MPI_DOUBLE, &type_);
    MPI_Type_commit(&type_);
  }
  ~Datatype() { MPI_Type_free(&type_); }
  Datatype(const Datatype&) = delete;
  Datatype& operator=(const Datatype&) = delete;
  operator MPI_Datatype() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

struct Grid {
  explicit Grid(int n) : n(n), cells(static_cast<std::size_t>(n + 2) * (n + 2)) {}
  double& at(int row, int column) {
    return cells[static_cast<std::size_t>(row) * (n + 2) + column];
  }
  int n;
  std::vector<double> cells;  // with the neighbours' edges around
};

double cell(int rank, int row, int column) { return rank * 1e6 + row * 1e3 + column; }

int run(int n) {
  int size, rank, up, down, left, right;
  int dims[2] = {0, 0}, periods[2] = {1, 1};
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Dims_create(size, 2, dims);
  MPI_Comm ranks;
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &ranks);
  MPI_Comm_rank(ranks, &rank);
  MPI_Cart_shift(ranks, 0, 1, &up, &down);
  MPI_Cart_shift(ranks, 1, 1, &left, &right);
  Grid grid(n);
  for (int i = 1; i <= n; ++i)
    for (int j = 1; j <= n; ++j) grid.at(i, j) = cell(rank, i, j);

  const Datatype row(n, 1), column(n, n + 2);
  const auto exchange = [&](MPI_Datatype type, double& from, int to, double& into, int by) {
    MPI_Sendrecv(&from, 1, type, to, 0, &into, 1, type, by, 0, ranks, MPI_STATUS_IGNORE);
  };
  exchange(row, grid.at(1, 1), up, grid.at(n + 1, 1), down);
  exchange(row, grid.at(n, 1), down, grid.at(0, 1), up);
  exchange(column, grid.at(1, 1), left, grid.at(1, n + 1), right);
  exchange(column, grid.at(1, n), right, grid.at(1, 0), left);

  int wrong = 0;
  for (int i = 1; i <= n; ++i) {
    wrong += grid.at(0, i) != cell(up, n, i) || grid.at(n + 1, i) != cell(down, 1, i);
    wrong += grid.at(i, 0) != cell(left, i, n) || grid.at(i, n + 1) != cell(right, i, 1);
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, ranks);
  if (rank == 0) std::printf("%d ranks, %d wrong cells\n", size, wrong);
  MPI_Comm_free(&ranks);
  return wrong != 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int failed = run(64);
  MPI_Finalize();
  return failed;
}
