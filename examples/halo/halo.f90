! SPDX-License-Identifier: BSD-3-Clause
!
! As halo.c, in Fortran: here columns are contiguous, and rows have gaps.
!
!   mpifort halo.f90 -o halo && lacuna run mpiexec -n 4 ./halo
program halo
  use mpi_f08
  implicit none
  integer, parameter :: n = 64
  double precision :: grid(0:n + 1, 0:n + 1)  ! with the neighbours' edges around
  integer :: size, rank, up, down, left, right, i, j, wrong
  integer :: dims(2) = 0
  logical :: periods(2) = .true.
  type(MPI_Comm) :: ranks
  type(MPI_Datatype) :: row, column

  call MPI_Init()
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  call MPI_Dims_create(size, 2, dims)
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, .false., ranks)
  call MPI_Comm_rank(ranks, rank)
  call MPI_Cart_shift(ranks, 0, 1, up, down)
  call MPI_Cart_shift(ranks, 1, 1, left, right)
  do j = 1, n
    do i = 1, n
      grid(i, j) = cell(rank, i, j)
    end do
  end do

  call MPI_Type_vector(n, 1, n + 2, MPI_DOUBLE_PRECISION, row)
  call MPI_Type_contiguous(n, MPI_DOUBLE_PRECISION, column)
  call MPI_Type_commit(row)
  call MPI_Type_commit(column)

  call MPI_Sendrecv(grid(1, 1), 1, row, up, 0, grid(n + 1, 1), 1, row, down, 0, ranks, MPI_STATUS_IGNORE)
  call MPI_Sendrecv(grid(n, 1), 1, row, down, 0, grid(0, 1), 1, row, up, 0, ranks, MPI_STATUS_IGNORE)
  call MPI_Sendrecv(grid(1, 1), 1, column, left, 0, grid(1, n + 1), 1, column, right, 0, ranks, &
                    MPI_STATUS_IGNORE)
  call MPI_Sendrecv(grid(1, n), 1, column, right, 0, grid(1, 0), 1, column, left, 0, ranks, &
                    MPI_STATUS_IGNORE)

  wrong = 0
  do i = 1, n
    if (grid(0, i) /= cell(up, n, i)) wrong = wrong + 1
    if (grid(n + 1, i) /= cell(down, 1, i)) wrong = wrong + 1
    if (grid(i, 0) /= cell(left, i, n)) wrong = wrong + 1
    if (grid(i, n + 1) /= cell(right, i, 1)) wrong = wrong + 1
  end do
  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, ranks)
  if (rank == 0) print '(i0, a, i0, a)', size, ' ranks, ', wrong, ' wrong cells'
  call MPI_Type_free(row)
  call MPI_Type_free(column)
  call MPI_Comm_free(ranks)
  call MPI_Finalize()
  if (wrong /= 0) stop 1

contains

  double precision function cell(of_rank, i, j)
    integer, intent(in) :: of_rank, i, j
    cell = of_rank * 1d6 + i * 1d3 + j
  end function cell
end program halo
