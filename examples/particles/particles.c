// SPDX-License-Identifier: BSD-3-Clause
//
// Sends particles that have left a rank's part of the domain to their new owner. The particles lie
// in an array of structs, and a list of indices says which of them go: nothing is packed by hand.
// Any number of ranks, in a ring:
//
//   mpicc particles.c -o particles && lacuna run mpiexec -n 4 ./particles
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1000 };  // particles of each rank at the beginning

typedef struct {
  double position[3], velocity[3];
  int id;
} Particle;

static MPI_Datatype particle_type(void) {
  const int lengths[] = {3, 3, 1};
  const MPI_Aint places[] = {offsetof(Particle, position), offsetof(Particle, velocity),
                             offsetof(Particle, id)};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_DOUBLE, MPI_INT};
  MPI_Datatype fields, particle;
  MPI_Type_create_struct(3, lengths, places, types, &fields);
  MPI_Type_create_resized(fields, 0, sizeof(Particle), &particle);  // with the padding behind
  MPI_Type_commit(&particle);
  MPI_Type_free(&fields);
  return particle;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int ranks, rank;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  static Particle particles[2 * COUNT];
  static int leaving[COUNT];

  // A rank owns 0 <= x < 1 of its own; every third particle is fast enough to leave.
  int going = 0, coming;
  for (int i = 0; i < COUNT; ++i) {
    particles[i] = (Particle){.position = {0.5, i, rank},
                              .velocity = {i % 3 == 0 ? 0.75 : 0.25, 0, 0},
                              .id = rank * COUNT + i};
    particles[i].position[0] += particles[i].velocity[0];
    if (particles[i].position[0] >= 1) leaving[going++] = i;
  }

  MPI_Datatype particle = particle_type(), list;
  MPI_Type_create_indexed_block(going, 1, leaving, particle, &list);
  MPI_Type_commit(&list);
  MPI_Sendrecv(&going, 1, MPI_INT, right, 0, &coming, 1, MPI_INT, left, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(particles, 1, list, right, 1, particles + COUNT, coming, particle, left, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);

  // Those that came are the left rank's, in the order of its list.
  int wrong = coming != (COUNT + 2) / 3;
  for (int i = 0; i < coming; ++i) {
    const Particle* one = &particles[COUNT + i];
    wrong += one->id != left * COUNT + 3 * i || one->position[0] != 1.25 ||
             one->position[1] != 3 * i || one->position[2] != left || one->velocity[0] != 0.75;
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, %d wrong particles\n", ranks, wrong);
  MPI_Type_free(&list);
  MPI_Type_free(&particle);
  MPI_Finalize();
  return wrong != 0;
}
