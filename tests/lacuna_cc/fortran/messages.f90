! SPDX-License-Identifier: BSD-3-Clause
!
! Every function that is specialized, by mpif.h; with MPI_STATUS_IGNORE and with statuses. Each rank
! has its line at the end of all, from rank 0.
subroutine fill(a, n, seed)
  implicit none
  integer, intent(in) :: n, seed
  integer, intent(out) :: a(n)
  integer :: i
  do i = 1, n
    a(i) = mod(i * 7919 + seed * 104729, 100003)
  end do
end subroutine

include 'show.inc'

subroutine exchange(a, n, rank)
  implicit none
  include 'mpif.h'
  integer, intent(in) :: n, rank
  integer, intent(inout) :: a(n)
  integer :: t, error, status(MPI_STATUS_SIZE), seen(3)
  call MPI_Type_vector(20, 1, 5, MPI_INTEGER, t, error)
  call MPI_Type_commit(t, error)
  call fill(a, n, rank)
  call MPI_Sendrecv(a(1), 1, t, 1 - rank, 3, a(2), 1, t, 1 - rank, 3, MPI_COMM_WORLD, status, error)  ! specialized
  seen(1) = status(MPI_SOURCE)
  seen(2) = status(MPI_TAG)
  call MPI_Get_count(status, MPI_INTEGER, seen(3), error)
  call show('sendrecv', a, n)
  call show('its status', seen, 3)
  ! One side only is not contiguous; and less comes than there is room for.
  call MPI_Sendrecv(a(1), 7, MPI_INTEGER, 1 - rank, 3, a(10), 1, t, 1 - rank, 3, MPI_COMM_WORLD, &  ! specialized
    MPI_STATUS_IGNORE, error)
  call show('short sendrecv', a, n)
  call MPI_Type_free(t, error)
end subroutine

subroutine nonblocking(a, n, rank)
  implicit none
  include 'mpif.h'
  integer, intent(in) :: n, rank
  integer, intent(inout) :: a(n)
  integer :: t, error, requests(2), one, statuses(MPI_STATUS_SIZE, 2), seen(2)
  call MPI_Type_vector(20, 1, 5, MPI_INTEGER, t, error)
  call MPI_Type_commit(t, error)
  call fill(a, n, rank + 5)
  call MPI_Irecv(a(2), 1, t, 1 - rank, 4, MPI_COMM_WORLD, requests(1), error)  ! specialized
  call MPI_Isend(a(1), 1, t, 1 - rank, 4, MPI_COMM_WORLD, requests(2), error)  ! specialized
  call MPI_Waitall(2, requests, statuses, error)
  seen(1) = statuses(MPI_SOURCE, 1)
  seen(2) = statuses(MPI_TAG, 1)
  call show('waitall', a, n)
  call show('its statuses', seen, 2)
  call MPI_Irecv(a(3), 1, t, 1 - rank, 4, MPI_COMM_WORLD, requests(1), error)  ! specialized
  call show('meanwhile', [a(1)], 1)
  call MPI_Isend(a(1), 1, t, 1 - rank, 4, MPI_COMM_WORLD, requests(2), error)  ! specialized
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
  call show('waitall without statuses', a, n)
  call MPI_Irecv(a(4), 1, t, 1 - rank, 4, MPI_COMM_WORLD, one, error)  ! specialized
  call MPI_Send(a(1), 1, t, 1 - rank, 4, MPI_COMM_WORLD, error)  ! specialized
  call MPI_Wait(one, MPI_STATUS_IGNORE, error)
  call show('wait', a, n)
  call MPI_Type_free(t, error)
end subroutine

subroutine packing(a, n, rank)
  implicit none
  include 'mpif.h'
  integer, intent(in) :: n, rank
  integer, intent(inout) :: a(n)
  integer :: t, error, packed(100), place
  call MPI_Type_vector(20, 1, 5, MPI_INTEGER, t, error)
  call MPI_Type_commit(t, error)
  call fill(a, n, rank + 9)
  call fill(packed, 100, 1)
  place = 8
  call MPI_Pack(a(1), 2, t, packed, 400, place, MPI_COMM_WORLD, error)  ! specialized
  call show('pack', packed, 100)
  call show('its position', [place], 1)
  place = 16
  call MPI_Unpack(packed, 400, place, a(3), 1, t, MPI_COMM_WORLD, error)  ! specialized
  call show('unpack', a, n)
  call show('its position', [place], 1)
  call MPI_Type_free(t, error)
end subroutine

subroutine collectives(a, b, n, rank)
  implicit none
  include 'mpif.h'
  integer, intent(in) :: n, rank
  integer, intent(inout) :: a(n), b(n)
  integer :: t, column, error
  call MPI_Type_vector(20, 1, 5, MPI_INTEGER, column, error)
  call MPI_Type_create_resized(column, 0_MPI_ADDRESS_KIND, 4_MPI_ADDRESS_KIND, t, error)
  call MPI_Type_commit(t, error)
  call fill(a, n, rank)
  call fill(b, n, rank + 2)
  call MPI_Bcast(a, 1, t, 1, MPI_COMM_WORLD, error)  ! specialized
  call show('bcast', a, n)
  call MPI_Alltoall(a, 1, t, b, 1, t, MPI_COMM_WORLD, error)  ! specialized
  call show('alltoall', b, n)
  ! The address of MPI_IN_PLACE goes to MPI.
  call MPI_Alltoall(MPI_IN_PLACE, 1, t, b, 1, t, MPI_COMM_WORLD, error)  ! specialized
  call show('alltoall in place', b, n)
  call MPI_Type_free(column, error)
  call MPI_Type_free(t, error)
end subroutine

! Types in arrays: what is of one type in all places is packed.
subroutine types_of_each(a, b, n, rank, columns)
  implicit none
  include 'mpif.h'
  integer, intent(in) :: n, rank, columns
  integer, intent(inout) :: a(n), b(n)
  integer :: t, column, i, error
  integer :: counts(2), got(2), places(2), got_places(2), types(2), same(2), mixed(2), none(2)
  call MPI_Type_vector(8, 1, 3, MPI_INTEGER, t, error)
  call MPI_Type_commit(t, error)
  call MPI_Type_vector(columns, 2, 5, MPI_INTEGER, column, error)
  call MPI_Type_commit(column, error)
  do i = 1, 2
    types(i) = t
    same(i) = MPI_INTEGER
  end do
  mixed(1) = t
  mixed(2) = column
  none = 0
  counts = [1, 2]
  got = 1 + rank
  places = [8, 200]
  got_places = [40, 436]
  call fill(a, n, rank)
  call fill(b, n, rank + 2)
  call MPI_Alltoallw(a, counts, places, types, b, got, got_places, types, MPI_COMM_WORLD, error)  ! specialized
  call show('types of each', b, n)
  call show('their error', [error], 1)
  ! To and from integers without gaps.
  call MPI_Alltoallw(a, counts, places, types, b, 8 * got, got_places, same, MPI_COMM_WORLD, error)  ! specialized
  call show('to integers', b, n)
  call MPI_Alltoallw(a, none, places, types, b, none, got_places, types, MPI_COMM_WORLD, error)  ! specialized
  call show('nothing', b, n)
  call MPI_Alltoallw(MPI_IN_PLACE, none, places, same, b, none + 1, got_places, types, MPI_COMM_WORLD, error)  ! specialized
  call show('each in place', b, n)
  ! Not all of one type: found when it runs.
  got = merge(8, 2 * columns, rank == 0)
  call MPI_Alltoallw(a, none + 1, places, mixed, b, got, got_places, same, MPI_COMM_WORLD, error)  ! specialized
  call show('mixed', b, n)
  ! More than is packed.
  counts = 80
  places = 0
  call MPI_Alltoallw(a, counts, places, types, b, counts, places, types, MPI_COMM_SELF, error)  ! specialized
  call show('much', b, n)
  call MPI_Type_free(column, error)
  call MPI_Type_free(t, error)
end subroutine

program messages
  implicit none
  include 'mpif.h'
  integer, parameter :: n = 220
  integer :: a(n), b(n), many(2000), more(2000), rank, error
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call exchange(a, n, rank)
  call nonblocking(a, n, rank)
  call packing(a, n, rank)
  call collectives(a, b, n, rank)
  call types_of_each(many, more, 2000, rank, 6)
  call MPI_Finalize(error)
end program
