! SPDX-License-Identifier: BSD-3-Clause
!
! One message for each constructor, by `use mpi`. Rank 1 prints what it has: gaps, too.
module shown
  use mpi
  implicit none
  integer, parameter :: most = 2048
  integer :: rank

contains

  subroutine show(name, a)
    character(*), intent(in) :: name
    double precision, intent(in) :: a(most)
    integer(8) :: sum
    integer :: i
    sum = 0
    do i = 1, most
      sum = mod(sum * 31 + int(a(i), 8) + i, 1000000007_8)
    end do
    if (rank == 1) write (*, '(A,1X,I0)') name, sum
  end subroutine

  subroutine fill(a)
    double precision, intent(out) :: a(most)
    integer :: i
    do i = 1, most
      a(i) = merge(i, -i, rank == 0)
    end do
  end subroutine

  subroutine vector(a)
    double precision, intent(inout) :: a(most)
    integer :: t, error
    call fill(a)
    call MPI_Type_vector(16, 2, 24, MPI_DOUBLE_PRECISION, t, error)
    call MPI_Type_commit(t, error)
    if (rank == 0) then
      call MPI_Send(a, 1, t, 1, 7, MPI_COMM_WORLD, error)  ! specialized
    else
      call MPI_Recv(a, 1, t, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)  ! specialized
    end if
    call MPI_Type_free(t, error)
    call show('vector', a)
  end subroutine

  ! Its numbers are of the run time.
  subroutine runtime_vector(a, n, ld)
    double precision, intent(inout) :: a(most)
    integer, intent(in) :: n, ld
    integer :: t, error, status(MPI_STATUS_SIZE), count
    call fill(a)
    call MPI_Type_vector(n, 1, ld, MPI_REAL8, t, error)
    call MPI_Type_commit(t, error)
    if (rank == 0) then
      call MPI_Send(a, 1, t, 1, n, MPI_COMM_WORLD, error)  ! specialized
    else
      call MPI_Recv(a, 1, t, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status, error)  ! specialized
      call MPI_Get_count(status, t, count, error)
      write (*, '(A,3(1X,I0))') 'status', status(MPI_SOURCE), status(MPI_TAG), count
    end if
    call MPI_Type_free(t, error)
    call show('runtime vector', a)
  end subroutine

  subroutine nested(a)
    double precision, intent(inout) :: a(most)
    integer :: column, twice, t, error
    integer(kind=MPI_ADDRESS_KIND) :: low, extent
    call fill(a)
    call MPI_Type_vector(4, 1, 3, MPI_DOUBLE_COMPLEX, column, error)
    low = 0
    extent = 16
    call MPI_Type_create_resized(column, low, extent, twice, error)
    call MPI_Type_create_hvector(2, 1, 512_MPI_ADDRESS_KIND, twice, t, error)
    call MPI_Type_commit(t, error)
    if (rank == 0) then
      call MPI_Send(a(3), 1, t, 1, 7, MPI_COMM_WORLD, error)  ! specialized
    else
      call MPI_Recv(a(3), 1, t, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)  ! specialized
    end if
    call MPI_Type_free(column, error)
    call MPI_Type_free(twice, error)
    call MPI_Type_free(t, error)
    call show('nested', a)
  end subroutine

  subroutine listed(a)
    double precision, intent(inout) :: a(most)
    integer :: t, error, lengths(3), places(3)
    call fill(a)
    lengths(1) = 1
    lengths(2) = 3
    lengths(3) = 2
    places(1) = 0
    places(2) = 10
    places(3) = 20
    call MPI_Type_indexed(3, lengths, places, MPI_DOUBLE_PRECISION, t, error)
    ! MPI has read them.
    lengths = 7
    places = 1
    call MPI_Type_commit(t, error)
    if (rank == 0) then
      call MPI_Send(a, 2, t, 1, 7, MPI_COMM_WORLD, error)  ! specialized
    else
      call MPI_Recv(a, 2, t, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)  ! specialized
    end if
    call MPI_Type_free(t, error)
    call show('indexed', a)
  end subroutine

  subroutine fields(a)
    double precision, intent(inout) :: a(most)
    integer :: t, error, lengths(3), types(3)
    integer(kind=MPI_ADDRESS_KIND) :: places(3)
    call fill(a)
    lengths = [2, 1, 3]
    places = [8_MPI_ADDRESS_KIND, 40_MPI_ADDRESS_KIND, 64_MPI_ADDRESS_KIND]
    types = [MPI_INTEGER, MPI_DOUBLE_PRECISION, MPI_REAL]
    call MPI_Type_create_struct(3, lengths, places, types, t, error)
    call MPI_Type_commit(t, error)
    if (rank == 0) then
      call MPI_Send(a, 1, t, 1, 7, MPI_COMM_WORLD, error)  ! specialized
    else
      call MPI_Recv(a, 1, t, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)  ! specialized
    end if
    call MPI_Type_free(t, error)
    call show('struct', a)
  end subroutine

  subroutine box(a)
    double precision, intent(inout) :: a(8, 8, most / 64)
    integer :: t, error, sizes(3), subsizes(3), starts(3)
    call fill(a)
    sizes = [8, 8, 4]
    subsizes = [2, 3, 4]
    starts = [1, 2, 0]
    call MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, t, error)
    call MPI_Type_commit(t, error)
    if (rank == 0) then
      call MPI_Send(a, 1, t, 1, 7, MPI_COMM_WORLD, error)  ! specialized
    else
      call MPI_Recv(a, 1, t, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)  ! specialized
    end if
    call MPI_Type_free(t, error)
    call show('subarray', a)
  end subroutine

  ! The types of others: a procedure of any file may call this, and here it is seen.
  subroutine make_rows(rows, row)
    integer, intent(out) :: rows, row
    integer :: error, lengths(12), places(12), i
    lengths = 2
    do i = 1, 12
      places(i) = 5 * i
    end do
    call MPI_Type_indexed(12, lengths, places, MPI_DOUBLE_PRECISION, row, error)
    lengths = 1
    call MPI_Type_indexed(12, lengths, places, MPI_DOUBLE_PRECISION, rows, error)
    call MPI_Type_commit(row, error)
    call MPI_Type_commit(rows, error)
  end subroutine

  subroutine made_for(a)
    double precision, intent(inout) :: a(most)
    integer :: rows, row, error
    call fill(a)
    call make_rows(rows, row)
    if (rank == 0) then
      call MPI_Send(a, 1, rows, 1, 7, MPI_COMM_WORLD, error)  ! specialized
      call MPI_Send(a, 1, row, 1, 8, MPI_COMM_WORLD, error)  ! specialized
    else
      call MPI_Recv(a, 1, rows, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)  ! specialized
      call MPI_Recv(a(200), 1, row, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)  ! specialized
    end if
    call MPI_Type_free(rows, error)
    call MPI_Type_free(row, error)
    call show('made by another', a)
  end subroutine

  ! A list of the run time.
  subroutine points(a, n, list)
    double precision, intent(inout) :: a(most)
    integer, intent(in) :: n, list(n)
    integer :: t, error
    call fill(a)
    call MPI_Type_create_indexed_block(n, 2, list, MPI_DOUBLE_PRECISION, t, error)
    call MPI_Type_commit(t, error)
    if (rank == 0) then
      call MPI_Send(a, 1, t, 1, 7, MPI_COMM_WORLD, error)  ! specialized
    else
      call MPI_Recv(a, 1, t, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)  ! specialized
    end if
    call MPI_Type_free(t, error)
    call show('indexed block', a)
  end subroutine
end module

program types
  use shown
  implicit none
  double precision :: a(most)
  integer :: error, i
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call vector(a)
  do i = 1, 3
    call runtime_vector(a, 10 * i, 11)
  end do
  call nested(a)
  call listed(a)
  call fields(a)
  call box(a)
  call made_for(a)
  call points(a, 9, [(i * i, i = 1, 9)])
  call MPI_Finalize(error)
end program
