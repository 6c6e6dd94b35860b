! SPDX-License-Identifier: BSD-3-Clause
!
! As transpose.c, in Fortran: here each rank has some columns.
!
!   mpifort transpose.f90 -o transpose && lacuna run mpiexec -n 4 ./transpose
program transpose_by_mpi
  use mpi_f08
  implicit none
  integer, parameter :: n = 100, number = kind(1d0)
  complex(number), allocatable :: from(:, :), to(:, :)
  integer, allocatable :: counts(:), places(:)
  type(MPI_Datatype), allocatable :: rows(:), pieces(:)
  type(MPI_Datatype) :: row, next_row
  integer :: ranks, rank, first, columns, other, begin, width, bytes, i, j, wrong

  call MPI_Init()
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  first = first_column(rank)
  columns = first_column(rank + 1) - first
  allocate(from(n, columns), to(n, columns), counts(ranks), places(ranks), rows(ranks), pieces(ranks))
  do j = 1, columns
    do i = 1, n
      from(i, j) = cell(i, first + j)
    end do
  end do

  ! To each rank go the rows that become its columns, row by row; from each come pieces of our columns.
  call MPI_Type_size(MPI_DOUBLE_COMPLEX, bytes)
  call MPI_Type_vector(columns, 1, n, MPI_DOUBLE_COMPLEX, row)
  call MPI_Type_create_resized(row, 0_MPI_ADDRESS_KIND, int(bytes, MPI_ADDRESS_KIND), next_row)
  do other = 0, ranks - 1
    begin = first_column(other)
    width = first_column(other + 1) - begin
    call MPI_Type_contiguous(width, next_row, rows(other + 1))
    call MPI_Type_vector(columns, width, n, MPI_DOUBLE_COMPLEX, pieces(other + 1))
    call MPI_Type_commit(rows(other + 1))
    call MPI_Type_commit(pieces(other + 1))
    places(other + 1) = begin * bytes
  end do
  counts = 1

  call MPI_Alltoallw(from, counts, places, rows, to, counts, places, pieces, MPI_COMM_WORLD)

  wrong = 0
  do j = 1, columns
    do i = 1, n
      if (to(i, j) /= cell(first + j, i)) wrong = wrong + 1
    end do
  end do
  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print '(i0, a, i0, a)', ranks, ' ranks, ', wrong, ' wrong cells'
  do other = 1, ranks
    call MPI_Type_free(rows(other))
    call MPI_Type_free(pieces(other))
  end do
  call MPI_Type_free(next_row)
  call MPI_Type_free(row)
  call MPI_Finalize()
  if (wrong /= 0) stop 1

contains

  integer function first_column(of_rank)
    integer, intent(in) :: of_rank
    first_column = n * of_rank / ranks
  end function first_column

  complex(number) function cell(i, j)
    integer, intent(in) :: i, j
    cell = cmplx(i, j, number)
  end function cell
end program transpose_by_mpi
