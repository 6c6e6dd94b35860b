! SPDX-License-Identifier: BSD-3-Clause
!
! Types that are kept in a module, as real programs do: calls look them up when they run.
include 'show.inc'

module halo
  implicit none
  include 'mpif.h'
  integer :: column, sides(2), placed
end module

subroutine make_types(n, stride)
  use halo
  implicit none
  integer :: n, stride, i, error
  call MPI_Type_vector(n, 1, stride, MPI_INTEGER, column, error)
  call MPI_Type_commit(column, error)
  do i = 1, 2
    call MPI_Type_vector(n + i, i, stride, MPI_INTEGER, sides(i), error)
    call MPI_Type_commit(sides(i), error)
  end do
end subroutine

subroutine free_types
  use halo
  implicit none
  integer :: i, error
  call MPI_Type_free(column, error)
  do i = 1, 2
    call MPI_Type_free(sides(i), error)
  end do
end subroutine

subroutine fill(a, b, n, seed)
  implicit none
  integer :: n, a(n), b(n), seed, i
  do i = 1, n
    a(i) = mod(i * 7919 + seed * 104729, 10007)
    b(i) = -i
  end do
end subroutine

subroutine exchange(a, b, n, rank)
  use halo
  implicit none
  integer :: n, a(n), b(n), rank, error, many, requests(2)
  integer :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2)
  call fill(a, b, n, rank)
  call MPI_Sendrecv(a, 2, column, 1 - rank, 1, b, 3, column, 1 - rank, 1, MPI_COMM_WORLD, status, error)  ! asks
  call MPI_Get_count(status, column, many, error)
  b(1) = many
  call show('both ways', b, n)
  call fill(a, b, n, rank + 1)
  call MPI_Irecv(b, 1, sides(2), 1 - rank, 2, MPI_COMM_WORLD, requests(1), error)  ! asks
  call MPI_Isend(a, 1, sides(2), 1 - rank, 2, MPI_COMM_WORLD, requests(2), error)  ! asks
  call MPI_Waitall(2, requests, statuses, error)
  call MPI_Get_count(statuses(1, 1), MPI_INTEGER, many, error)
  b(1) = many
  call show('nonblocking', b, n)
  call fill(a, b, n, rank + 2)
  if (rank == 0) then
    call MPI_Send(a, 2, sides(1), 1, 3, MPI_COMM_WORLD, error)  ! asks
  else
    call MPI_Recv(b, 20, MPI_INTEGER, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  end if
  call show('some of it', b, n)
  if (rank == 0) then
    call MPI_Send(a, 5, MPI_INTEGER, 1, 3, MPI_COMM_WORLD, error)
  else
    call MPI_Recv(b, 2, sides(1), 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)  ! asks
  end if
  call show('a part of one', b, n)
  call fill(a, b, n, 3)
  if (rank == 0) call fill(a, b, n, 4)
  call MPI_Bcast(a, 2, column, 0, MPI_COMM_WORLD, error)  ! asks
  call show('to all', a, n)
  call MPI_Alltoall(a, 1, sides(1), b, 1, sides(1), MPI_COMM_WORLD, error)  ! asks
  call show('to each', b, n)
  call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INTEGER, a, 1, sides(2), MPI_COMM_WORLD, error)  ! asks
  call show('in place', a, n)
end subroutine

subroutine pack(a, b, n)
  use halo
  implicit none
  integer :: n, a(n), b(n), packed(400), at, error
  call fill(a, b, n, 9)
  packed = 0
  at = 4
  call MPI_Pack(a, 2, column, packed, 1600, at, MPI_COMM_SELF, error)  ! asks
  packed(400) = at
  call show('packed', packed, 400)
  at = 4
  call MPI_Unpack(packed, 1600, at, b, 2, column, MPI_COMM_SELF, error)  ! asks
  b(n) = at
  call show('unpacked', b, n)
end subroutine

! A type of addresses, from MPI_BOTTOM.
subroutine from_bottom(a, b, n, rank)
  use halo
  implicit none
  integer :: n, a(n), b(n), rank, part, error
  integer(kind=MPI_ADDRESS_KIND) :: place
  call MPI_Get_address(a, place, error)
  call MPI_Type_vector(6, 1, 4, MPI_INTEGER, part, error)
  call MPI_Type_create_hindexed_block(1, 1, place, part, placed, error)
  call MPI_Type_commit(placed, error)
  call MPI_Type_free(part, error)
  call fill(a, b, n, rank)
  call show('what is there', b, n)
  if (rank == 0) then
    call MPI_Send(MPI_BOTTOM, 1, placed, 1, 4, MPI_COMM_WORLD, error)  ! asks
  else
    call MPI_Recv(b, 100, MPI_INTEGER, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  end if
  call show('from the bottom', b, n)
  call MPI_Type_free(placed, error)
end subroutine

program registry
  use halo
  implicit none
  integer, parameter :: n = 400
  integer :: a(n), b(n), rank, error, turn
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  do turn = 1, 3
    call make_types(3 + turn, 5 + turn)
    call exchange(a, b, n, rank)
    call pack(a, b, n)
    call from_bottom(a, b, n, rank)
    call free_types
  end do
  call MPI_Finalize(error)
end program
