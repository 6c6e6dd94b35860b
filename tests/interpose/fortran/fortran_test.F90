! SPDX-License-Identifier: BSD-3-Clause
!
! Fortran programs under the preload: each family of calls with each kind of type, in one of the three bindings.
#include "binding.h"

program fortran_test
  use compare
  use point_to_point
  use collective
  use files
  use one_sided
  implicit none
  integer :: kind_of_type

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  other = 1 - rank
  call check(taken('MPI_Send') == 0, 'lacuna is not there')
  do kind_of_type = 1, 4
    call make_type(kind_of_type)
    call each_operation()
    call MPI_Type_free(derived, error)
  end do
  call finish()

contains

  subroutine make_type(which)
    integer, intent(in) :: which
    DATATYPE :: members(2)
    integer(kind=MPI_ADDRESS_KIND) :: places(2)
    integer :: lengths(2)
    select case (which)
    case (1)
      call MPI_Type_vector(16, 1, 4, MPI_DOUBLE_PRECISION, derived, error)
      elements = 16
    case (2)
      call MPI_Type_create_subarray(2, [8, 8], [3, 4], [2, 1], MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, derived, error)
      elements = 12
    case (3)
      lengths = [1, 5]
      places = [16, 320]
      members = MPI_DOUBLE_PRECISION
      call MPI_Type_create_struct(2, lengths, places, members, derived, error)
      elements = 6
    case (4)
      call MPI_Type_indexed(3, [2, 1, 3], [1, 7, 20], MPI_DOUBLE_PRECISION, derived, error)
      elements = 6
    end select
    call MPI_Type_commit(derived, error)
  end subroutine

  type(call_count) function calls(name, times)
    character(len=*), intent(in) :: name
    integer, intent(in) :: times
    calls%name = name
    calls%times = times
  end function

  subroutine each_operation()
    type(call_count) :: modes(6), collectives(10), immediate(10), around(7)
    call both_ways('blocking modes', blocking_modes, [calls('MPI_Send', 1), calls('MPI_Ssend', 1), &
                   calls('MPI_Rsend', 1), calls('MPI_Bsend', 1), calls('MPI_Irecv', 4)])
    call both_ways('receive kinds', receive_kinds, [calls('MPI_Isend', 2), calls('MPI_Recv', 1), calls('MPI_Mrecv', 1)])
    call both_ways('exchanges', exchanges, [calls('MPI_Sendrecv', 2), calls('MPI_Sendrecv_replace', 1)])
    modes = [calls('MPI_Isend', 1), calls('MPI_Issend', 1), calls('MPI_Irsend', 1), calls('MPI_Ibsend', 1), &
             calls('MPI_Irecv', 3), calls('MPI_Imrecv', 1)]
    call both_ways('MPI_Wait', by_wait, modes)
    call both_ways('MPI_Waitall', by_waitall, modes)
    call both_ways('MPI_Waitall without statuses', by_waitall_ignoring, modes)
    call both_ways('MPI_Waitany', by_waitany, modes)
    call both_ways('MPI_Waitsome', by_waitsome, modes)
    call both_ways('MPI_Test', by_test, modes)
    call both_ways('MPI_Testall', by_testall, modes)
    call both_ways('MPI_Testany', by_testany, modes)
    call both_ways('MPI_Testsome', by_testsome, modes)
    call both_ways('MPI_Request_get_status', by_get_status, modes)
    call both_ways('persistent', persistent, [calls('MPI_Recv_init', 2), calls('MPI_Send_init', 1), &
                   calls('MPI_Ssend_init', 1)])
    call both_ways('packing', packing, [calls('MPI_Pack', 1), calls('MPI_Unpack', 1)])
    call both_ways('MPI_BOTTOM', from_bottom, [calls('MPI_Send', 1), calls('MPI_Irecv', 1)])
    call both_ways('sections', sections, [calls('MPI_Sendrecv', 2)])
    collectives = [calls('MPI_Bcast', 1), calls('MPI_Gather', 1), calls('MPI_Gatherv', 1), calls('MPI_Scatter', 1), &
                   calls('MPI_Scatterv', 1), calls('MPI_Allgather', 1), calls('MPI_Allgatherv', 1), &
                   calls('MPI_Alltoall', 1), calls('MPI_Alltoallv', 1), calls('MPI_Alltoallw', 1)]
    call both_ways('collectives', blocking_collectives, collectives)
    call both_ways('MPI_IN_PLACE', in_place, [calls('MPI_Allgather', 1), calls('MPI_Alltoall', 1), &
                   calls('MPI_Allgatherv', allgatherv_in_place), calls('MPI_Gather', 1)])
    immediate = [calls('MPI_Ibcast', 1), calls('MPI_Igather', 1), calls('MPI_Igatherv', 1), calls('MPI_Iscatter', 1), &
                 calls('MPI_Iscatterv', 1), calls('MPI_Iallgather', 1), calls('MPI_Iallgatherv', 1), &
                 calls('MPI_Ialltoall', 1), calls('MPI_Ialltoallv', 1), calls('MPI_Ialltoallw', ialltoallw)]
    call both_ways('nonblocking collectives', nonblocking_collectives, immediate)
    around = [calls('MPI_Neighbor_allgather', 1), calls('MPI_Neighbor_allgatherv', 1), &
              calls('MPI_Neighbor_alltoall', 1), calls('MPI_Neighbor_alltoallv', 1), &
              calls('MPI_Neighbor_alltoallw', neighbor_alltoallw), calls('MPI_Ineighbor_allgather', 1), &
              calls('MPI_Ineighbor_alltoall', 1)]
    call both_ways('neighborhoods', neighborhoods, around)
    call both_ways('files', read_and_write, [calls('MPI_File_write_at', 1), calls('MPI_File_read_at', 1), &
                   calls('MPI_File_write_all', 1), calls('MPI_File_read_at_all_begin', 1), &
                   calls('MPI_File_read_at_all_end', 1)])
    call both_ways('MPI_Win_fence', by_fence, [calls('MPI_Get', 1), calls('MPI_Put', 1)])
    call both_ways('MPI_Win_lock', by_lock, [calls('MPI_Get', 2), calls('MPI_Accumulate', 1)])
  end subroutine
end program
