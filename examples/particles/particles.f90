! SPDX-License-Identifier: BSD-3-Clause
!
! As particles.c, in Fortran: MPI counts the places of a list from 0.
!
!   mpifort particles.f90 -o particles && lacuna run mpiexec -n 4 ./particles
program particles_by_list
  use mpi_f08
  implicit none
  integer, parameter :: number = kind(1d0), count = 999

  type :: particle_t
    sequence
    real(number) :: position(3), velocity(3)
    integer :: id
  end type particle_t

  type(particle_t) :: particles(2 * count)
  integer :: leaving(count), ranks, rank, left, right, going, coming, i, wrong
  type(MPI_Datatype) :: particle, list

  call MPI_Init()
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  right = mod(rank + 1, ranks)
  left = mod(rank + ranks - 1, ranks)

  ! A rank owns 0 <= x < 1 of its own; every third particle is fast enough to leave.
  going = 0
  do i = 1, count
    particles(i)%velocity = [merge(0.75_number, 0.25_number, mod(i, 3) == 0), 0._number, 0._number]
    particles(i)%position = [0.5_number, real(i, number), real(rank, number)] + particles(i)%velocity
    particles(i)%id = rank * count + i
    if (particles(i)%position(1) >= 1) then
      going = going + 1
      leaving(going) = i - 1
    end if
  end do

  particle = particle_type()
  call MPI_Type_create_indexed_block(going, 1, leaving, particle, list)
  call MPI_Type_commit(list)
  call MPI_Sendrecv(going, 1, MPI_INTEGER, right, 0, coming, 1, MPI_INTEGER, left, 0, MPI_COMM_WORLD, &
                    MPI_STATUS_IGNORE)
  call MPI_Sendrecv(particles(1)%position(1), 1, list, right, 1, particles(count + 1)%position(1), coming, &
                    particle, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)

  wrong = 0
  if (coming /= count / 3) wrong = 1
  do i = 1, coming
    if (particles(count + i)%id /= left * count + 3 * i) wrong = wrong + 1
    if (any(particles(count + i)%position /= [1.25_number, real(3 * i, number), real(left, number)])) &
      wrong = wrong + 1
    if (particles(count + i)%velocity(1) /= 0.75_number) wrong = wrong + 1
  end do
  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print '(i0, a, i0, a)', ranks, ' ranks, ', wrong, ' wrong particles'
  call MPI_Type_free(list)
  call MPI_Type_free(particle)
  call MPI_Finalize()
  if (wrong /= 0) stop 1

contains

  type(MPI_Datatype) function particle_type() result(made)
    type(MPI_Datatype) :: fields
    type(particle_t) :: pair(2)
    integer(MPI_ADDRESS_KIND) :: base, next, places(3)
    call MPI_Get_address(pair(1)%position, base)
    call MPI_Get_address(pair(1)%velocity, places(2))
    call MPI_Get_address(pair(1)%id, places(3))
    call MPI_Get_address(pair(2)%position, next)
    places(1) = base
    call MPI_Type_create_struct(3, [3, 3, 1], places - base, &
                                [MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_INTEGER], fields)
    call MPI_Type_create_resized(fields, 0_MPI_ADDRESS_KIND, next - base, made)  ! with the padding behind
    call MPI_Type_commit(made)
    call MPI_Type_free(fields)
  end function particle_type
end program particles_by_list
