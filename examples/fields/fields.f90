! SPDX-License-Identifier: BSD-3-Clause
!
! As fields.c, in Fortran: allocatable arrays. They are `asynchronous`, as the compiler does not see
! that MPI_Sendrecv reads and writes them.
!
!   mpifort fields.f90 -o fields && lacuna run mpiexec -n 4 ./fields
program fields_of_cells
  use mpi_f08
  implicit none
  integer, parameter :: number = kind(1d0), n = 500, ghosts = 40
  real(number), allocatable, asynchronous :: density(:), velocity(:, :)
  real, allocatable, asynchronous :: temperature(:)
  integer, allocatable, asynchronous :: material(:)
  integer :: ranks, rank, left, right, cell, wrong
  type(MPI_Datatype) :: last, before

  call MPI_Init()
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  right = mod(rank + 1, ranks)
  left = mod(rank + ranks - 1, ranks)
  allocate(density(1 - ghosts:n), velocity(3, 1 - ghosts:n), temperature(1 - ghosts:n), material(1 - ghosts:n))
  do cell = 1, n
    density(cell) = rank + cell * 1d-3
    velocity(:, cell) = velocity_of(rank, cell)
    temperature(cell) = real(rank + cell)
    material(cell) = rank * n + cell
  end do

  last = range_type(n - ghosts + 1)
  before = range_type(1 - ghosts)
  call MPI_Sendrecv(MPI_BOTTOM, 1, last, right, 0, MPI_BOTTOM, 1, before, left, 0, MPI_COMM_WORLD, &
                    MPI_STATUS_IGNORE)
  if (.not. MPI_ASYNC_PROTECTS_NONBLOCKING) call MPI_F_sync_reg(density)

  wrong = 0
  do cell = n - ghosts + 1, n
    if (density(cell - n) /= left + cell * 1d-3) wrong = wrong + 1
    if (any(velocity(:, cell - n) /= velocity_of(left, cell))) wrong = wrong + 1
    if (temperature(cell - n) /= real(left + cell)) wrong = wrong + 1
    if (material(cell - n) /= left * n + cell) wrong = wrong + 1
  end do
  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print '(i0, a, i0, a)', ranks, ' ranks, ', wrong, ' wrong cells'
  call MPI_Type_free(last)
  call MPI_Type_free(before)
  call MPI_Finalize()
  if (wrong /= 0) stop 1

contains

  ! As many cells as there are ghosts, of all fields, to be sent and received at MPI_BOTTOM.
  type(MPI_Datatype) function range_type(first) result(made)
    integer, intent(in) :: first
    integer(MPI_ADDRESS_KIND) :: places(4)
    call MPI_Get_address(density(first), places(1))
    call MPI_Get_address(velocity(1, first), places(2))
    call MPI_Get_address(temperature(first), places(3))
    call MPI_Get_address(material(first), places(4))
    call MPI_Type_create_struct(4, [ghosts, 3 * ghosts, ghosts, ghosts], places, &
                                [MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_REAL, MPI_INTEGER], made)
    call MPI_Type_commit(made)
  end function range_type

  function velocity_of(of_rank, cell) result(velocity)
    integer, intent(in) :: of_rank, cell
    real(number) :: velocity(3)
    velocity = [of_rank * 1d3, real(cell, number), cell + 0.25_number]
  end function velocity_of
end program fields_of_cells
