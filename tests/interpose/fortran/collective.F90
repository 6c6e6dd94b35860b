! SPDX-License-Identifier: BSD-3-Clause
!
! Collective operations. `derived` is resized here to one line of 128 doubles, so that each rank's part has a place.
#include "binding.h"

module collective
  use compare
  implicit none
  integer, parameter :: line = 128
  ! Without lacuna, MPI_Ialltoallw reads freed memory in Fortran's bindings of Open MPI 4.1.4, and in mpi_f08 of
  ! MPICH 4.0.2 MPI_Neighbor_alltoallw works in graphs only.
#if defined(WITHOUT_IALLTOALLW)
  integer, parameter :: ialltoallw = 0
#else
  integer, parameter :: ialltoallw = 1
#endif
#if defined(WITHOUT_NEIGHBOR_ALLTOALLW)
  integer, parameter :: neighbor_alltoallw = 0
#else
  integer, parameter :: neighbor_alltoallw = 1
#endif
  ! On MPICH and Intel MPI lacuna does not pack elements with gaps between them to receive them.
#if defined(WITHOUT_ALLGATHERV_IN_PLACE)
  integer, parameter :: allgatherv_in_place = 0
#else
  integer, parameter :: allgatherv_in_place = 1
#endif

contains

  DATATYPE function one_line()
    call MPI_Type_create_resized(derived, 0_MPI_ADDRESS_KIND, int(8 * line, MPI_ADDRESS_KIND), one_line, error)
    call MPI_Type_commit(one_line, error)
  end function

  subroutine blocking_collectives()
    DATATYPE :: part
    integer :: counts(2) = 1, places(2) = [1, 0], bytes(2) = [0, 8 * line]
    DATATYPE :: parts(2)
    part = one_line()
    parts = part
    if (rank == 0) to(1:line) = from(1:line)
    call MPI_Bcast(to, 1, part, 0, MPI_COMM_WORLD, error)
    call MPI_Gather(from, 1, part, to(3 * line + 1), 1, part, 0, MPI_COMM_WORLD, error)
    call MPI_Gatherv(from, 1, part, to(5 * line + 1), counts, places, part, 1, MPI_COMM_WORLD, error)
    call MPI_Scatter(from, 1, part, to(7 * line + 1), 1, part, 0, MPI_COMM_WORLD, error)
    call MPI_Scatterv(from, counts, places, part, to(8 * line + 1), 1, part, 1, MPI_COMM_WORLD, error)
    call MPI_Allgather(from, 1, part, to(9 * line + 1), 1, part, MPI_COMM_WORLD, error)
    call MPI_Allgatherv(from, 1, part, to(11 * line + 1), counts, places, part, MPI_COMM_WORLD, error)
    call MPI_Alltoall(from, 1, part, to(13 * line + 1), 1, part, MPI_COMM_WORLD, error)
    call MPI_Alltoallv(from, counts, places, part, to(15 * line + 1), counts, places, part, MPI_COMM_WORLD, error)
    call MPI_Alltoallw(from, counts, bytes, parts, to(17 * line + 1), counts, bytes, parts, MPI_COMM_WORLD, error)
    call MPI_Type_free(part, error)
  end subroutine

  subroutine in_place()
    DATATYPE :: part
    integer :: counts(2) = 1, places(2) = [1, 0]
    part = one_line()
    to(1:8 * line) = from(1:8 * line)
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, to, 1, part, MPI_COMM_WORLD, error)
    call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, to(2 * line + 1), 1, part, MPI_COMM_WORLD, error)
    call MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, to(6 * line + 1), counts, places, part, MPI_COMM_WORLD, &
                        error)
    if (rank == 0) then
      call MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, to(4 * line + 1), 1, part, 0, MPI_COMM_WORLD, error)
    else
      call MPI_Gather(to(4 * line + 1), 1, part, to, 0, part, 0, MPI_COMM_WORLD, error)
    end if
    call MPI_Type_free(part, error)
  end subroutine

  ! All at once; the type is freed while they are active.
  subroutine nonblocking_collectives()
    DATATYPE :: part, parts(2)
    integer :: counts(2) = 1, places(2) = [1, 0], bytes(2) = [0, 8 * line]
    REQUEST :: requests(10)
    part = one_line()
    parts = part
    if (rank == 0) to(1:line) = from(1:line)
    call MPI_Ibcast(to, 1, part, 0, MPI_COMM_WORLD, requests(1), error)
    call MPI_Igather(from, 1, part, to(3 * line + 1), 1, part, 0, MPI_COMM_WORLD, requests(2), error)
    call MPI_Igatherv(from, 1, part, to(5 * line + 1), counts, places, part, 1, MPI_COMM_WORLD, requests(3), error)
    call MPI_Iscatter(from, 1, part, to(7 * line + 1), 1, part, 0, MPI_COMM_WORLD, requests(4), error)
    call MPI_Iscatterv(from, counts, places, part, to(8 * line + 1), 1, part, 1, MPI_COMM_WORLD, requests(5), error)
    call MPI_Iallgather(from, 1, part, to(9 * line + 1), 1, part, MPI_COMM_WORLD, requests(6), error)
    call MPI_Iallgatherv(from, 1, part, to(11 * line + 1), counts, places, part, MPI_COMM_WORLD, requests(7), error)
    call MPI_Ialltoall(from, 1, part, to(13 * line + 1), 1, part, MPI_COMM_WORLD, requests(8), error)
    call MPI_Ialltoallv(from, counts, places, part, to(15 * line + 1), counts, places, part, MPI_COMM_WORLD, &
                        requests(9), error)
    requests(10) = MPI_REQUEST_NULL
    if (ialltoallw == 1) then
      call MPI_Ialltoallw(from, counts, bytes, parts, to(17 * line + 1), counts, bytes, parts, MPI_COMM_WORLD, &
                          requests(10), error)
    end if
    call MPI_Type_free(part, error)
    call MPI_Waitall(10, requests, MPI_STATUSES_IGNORE, error)
  end subroutine

  subroutine neighborhoods()
    DATATYPE :: part, parts(2)
    COMM :: ring
    integer :: counts(2) = 1, places(2) = [1, 0]
    integer(kind=MPI_ADDRESS_KIND) :: bytes(2) = [0, 8 * line]
    REQUEST :: requests(2)
    part = one_line()
    parts = part
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., ring, error)
    call MPI_Neighbor_allgather(from, 1, part, to, 1, part, ring, error)
    call MPI_Neighbor_allgatherv(from, 1, part, to(2 * line + 1), counts, places, part, ring, error)
    call MPI_Neighbor_alltoall(from, 1, part, to(4 * line + 1), 1, part, ring, error)
    call MPI_Neighbor_alltoallv(from, counts, places, part, to(6 * line + 1), counts, places, part, ring, error)
    if (neighbor_alltoallw == 1) then
      call MPI_Neighbor_alltoallw(from, counts, bytes, parts, to(8 * line + 1), counts, bytes, parts, ring, error)
    end if
    call MPI_Ineighbor_allgather(from, 1, part, to(10 * line + 1), 1, part, ring, requests(1), error)
    call MPI_Ineighbor_alltoall(from, 1, part, to(12 * line + 1), 1, part, ring, requests(2), error)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
    call MPI_Comm_free(ring, error)
    call MPI_Type_free(part, error)
  end subroutine
end module
