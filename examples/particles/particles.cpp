// SPDX-License-Identifier: BSD-3-Clause
//
// As particles.c, in C++: a datatype frees itself, and particles are in a vector.
//
//   mpicxx -std=c++17 particles.cpp -o particles && lacuna run mpiexec -n 4 ./particles
#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace {

struct Particle {
  std::array<double, 3> position, velocity;
  int id;
};

class Datatype {
 public:
  explicit Datatype(MPI_Datatype type) : type_(type) { MPI_Type_commit(&type_); }
  ~Datatype() { MPI_Type_free(&type_); }
  Datatype(const Datatype&) = delete;
  Datatype& operator=(const Datatype&) = delete;
  operator MPI_Datatype() const { return type_; }

 private:
  MPI_Datatype type_;
};

Datatype particle_type() {
  const std::array<int, 3> lengths{3, 3, 1};
  const std::array<MPI_Aint, 3> places{offsetof(Particle, position), offsetof(Particle, velocity),
                                       offsetof(Particle, id)};
  const std::array<MPI_Datatype, 3> types{MPI_DOUBLE, MPI_DOUBLE, MPI_INT};
  MPI_Datatype fields, particle;
  MPI_Type_create_struct(3, lengths.data(), places.data(), types.data(), &fields);
  MPI_Type_create_resized(fields, 0, sizeof(Particle), &particle);  // with the padding behind
  MPI_Type_free(&fields);
  return Datatype(particle);
}

// The particles at these places.
Datatype list_type(const std::vector<int>& indices, MPI_Datatype particle) {
  MPI_Datatype list;
  MPI_Type_create_indexed_block(static_cast<int>(indices.size()), 1, indices.data(), particle,
                                &list);
  return Datatype(list);
}

int run(int count) {
  int ranks, rank;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;

  std::vector<Particle> particles;
  std::vector<int> leaving;
  for (int i = 0; i < count; ++i) {
    const double speed = i % 3 == 0 ? 0.75 : 0.25;
    particles.push_back({{0.5 + speed, double(i), double(rank)}, {speed, 0, 0}, rank * count + i});
    if (particles.back().position[0] >= 1) leaving.push_back(i);
  }

  const Datatype particle = particle_type(), list = list_type(leaving, particle);
  int going = static_cast<int>(leaving.size()), coming = 0;
  MPI_Sendrecv(&going, 1, MPI_INT, right, 0, &coming, 1, MPI_INT, left, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  particles.resize(count + coming);
  MPI_Sendrecv(particles.data(), 1, list, right, 1, particles.data() + count, coming, particle,
               left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);

  int wrong = coming != (count + 2) / 3;
  for (int i = 0; i < coming; ++i) {
    const auto& [position, velocity, id] = particles[count + i];
    wrong += id != left * count + 3 * i || velocity[0] != 0.75 ||
             position != std::array<double, 3>{1.25, double(3 * i), double(left)};
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%d ranks, %d wrong particles\n", ranks, wrong);
  return wrong != 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int failed = run(1000);
  MPI_Finalize();
  return failed;
}
