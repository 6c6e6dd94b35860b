// SPDX-License-Identifier: BSD-3-Clause
//
// As fields.c, in C++: vectors, and a datatype that knows MPI's name of each element type.
//
//   mpicxx -std=c++17 fields.cpp -o fields && lacuna run mpiexec -n 4 ./fields
#include <mpi.h>

#include <array>
#include <cstdio>
#include <vector>

namespace {

using Vector = std::array<double, 3>;

struct Fields {
  explicit Fields(int cells)
      : density(cells), velocity(cells), temperature(cells), material(cells) {}
  std::vector<double> density;
  std::vector<Vector> velocity;
  std::vector<float> temperature;
  std::vector<int> material;
};

struct Elements {
  int count;
  MPI_Datatype type;
};
Elements elements(double) { return {1, MPI_DOUBLE}; }
Elements elements(Vector) { return {3, MPI_DOUBLE}; }
Elements elements(float) { return {1, MPI_FLOAT}; }
Elements elements(int) { return {1, MPI_INT}; }

// Cells [first, first + count) of all fields, to be sent and received at MPI_BOTTOM.
class Range {
 public:
  Range(Fields& fields, int first, int count) {
    std::vector<int> lengths;
    std::vector<MPI_Aint> places;
    std::vector<MPI_Datatype> types;
    const auto add = [&](auto& field) {
      const auto [of_each, type] = elements(field[first]);
      lengths.push_back(count * of_each);
      MPI_Get_address(&field[first], &places.emplace_back());
      types.push_back(type);
    };
    add(fields.density);
    add(fields.velocity);
    add(fields.temperature);
    add(fields.material);
    MPI_Type_create_struct(static_cast<int>(types.size()), lengths.data(), places.data(),
                           types.data(), &type_);
    MPI_Type_commit(&type_);
  }
  ~Range() { MPI_Type_free(&type_); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
  operator MPI_Datatype() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

double density_of(int rank, int cell) { return rank + cell * 1e-3; }
Vector velocity_of(int rank, int cell) { return {rank * 1e3, cell * 1., cell + 0.25}; }
float temperature_of(int rank, int cell) { return static_cast<float>(rank + cell); }

int run(int n, int ghosts) {
  int ranks, rank;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  Fields fields(ghosts + n);  // copies of the left rank's last cells before our own
  for (int cell = 0; cell < n; ++cell) {
    fields.density[ghosts + cell] = density_of(rank, cell);
    fields.velocity[ghosts + cell] = velocity_of(rank, cell);
    fields.temperature[ghosts + cell] = temperature_of(rank, cell);
    fields.material[ghosts + cell] = rank * n + cell;
  }

  const Range last(fields, n, ghosts), before(fields, 0, ghosts);
  MPI_Sendrecv(MPI_BOTTOM, 1, last, right, 0, MPI_BOTTOM, 1, before, left, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);

  int wrong = 0;
  for (int i = 0; i < ghosts; ++i) {
    const int cell = n - ghosts + i;
    wrong += fields.density[i] != density_of(left, cell) ||
             fields.velocity[i] != velocity_of(left, cell) ||
             fields.temperature[i] != temperature_of(left, cell) ||
             fields.material[i] != left * n + cell;
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%d ranks, %d wrong cells\n", ranks, wrong);
  return wrong != 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int failed = run(500, 40);
  MPI_Finalize();
  return failed;
}
