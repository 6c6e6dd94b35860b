! SPDX-License-Identifier: BSD-3-Clause
!
! Point-to-point operations, each an exchange with the other rank in `to` and `from` of module compare.
#include "binding.h"

module point_to_point
  use compare
  implicit none
#if defined(INDICES_FROM_0)
  integer, parameter :: first = 0  ! in mpi_f08 of MPICH 4.0.2, without lacuna
#else
  integer, parameter :: first = 1
#endif

contains

  subroutine blocking_modes()
    STATUS(status)
    integer :: mode, bytes
    real(r8), allocatable :: attached(:)
    REQUEST :: request
    call MPI_Pack_size(copies, derived, MPI_COMM_WORLD, bytes, error)
    bytes = bytes + MPI_BSEND_OVERHEAD
    allocate (attached(bytes / 8 + 1))
    call MPI_Buffer_attach(attached, size(attached) * 8, error)
    do mode = 0, 3
      call MPI_Irecv(to(1 + 1000 * mode), copies, derived, other, mode, MPI_COMM_WORLD, request, error)
      call MPI_Barrier(MPI_COMM_WORLD, error)
      select case (mode)
      case (0)
        call MPI_Send(from, copies, derived, other, mode, MPI_COMM_WORLD, error)
      case (1)
        call MPI_Ssend(from, copies, derived, other, mode, MPI_COMM_WORLD, error)
      case (2)
        call MPI_Rsend(from, copies, derived, other, mode, MPI_COMM_WORLD, error)
      case (3)
        call MPI_Bsend(from, copies, derived, other, mode, MPI_COMM_WORLD, error)
      end select
      call MPI_Wait(request, status, error)
      call look(status)
    end do
    call detach(attached)
  end subroutine

  ! The bindings do not agree on the type of MPI_Buffer_detach's first argument.
  subroutine detach(attached)
    real(r8), intent(in) :: attached(:)
    integer :: bytes
#if defined(WITH_F08)
    type(c_ptr) :: address
#else
    integer(kind=MPI_ADDRESS_KIND) :: address
#endif
    call MPI_Buffer_detach(address, bytes, error)
    call check(bytes == size(attached) * 8, 'the size of the attached buffer')
  end subroutine

  subroutine receive_kinds()
    STATUS(status)
    MESSAGE :: message
    REQUEST :: requests(2)
    call MPI_Isend(from, copies, derived, other, 1, MPI_COMM_WORLD, requests(1), error)
    call MPI_Isend(from(7), copies, derived, other, 2, MPI_COMM_WORLD, requests(2), error)
    call MPI_Recv(to, copies + 1, derived, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, status, error)  ! a short message
    call look(status)
    call MPI_Mprobe(other, MPI_ANY_TAG, MPI_COMM_WORLD, message, status, error)
    call look(status)
    call MPI_Mrecv(to(2000), copies, derived, message, status, error)
    call look(status)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
  end subroutine

  subroutine exchanges()
    STATUS(status)
    call MPI_Sendrecv(from, copies, derived, other, 3, to, copies * elements, MPI_DOUBLE_PRECISION, other, 3, &
                      MPI_COMM_WORLD, status, error)
    call look(status)
    call MPI_Sendrecv(from, copies * elements, MPI_DOUBLE_PRECISION, other, 3, to(1500), copies, derived, other, 3, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call MPI_Sendrecv_replace(from, copies, derived, other, 4, other, 4, MPI_COMM_WORLD, status, error)
    call look(status)
  end subroutine

  ! All modes of sending, and every way to complete: requests(1:4) receive, requests(5:8) send.
  subroutine nonblocking(way)
    integer, intent(in) :: way
    STATUS(status)
    STATUSES(statuses, 8)
    REQUEST :: requests(8)
    integer :: i, index, done, indices(8)
    integer :: places(4) = [1, 1001, 2001, 3001]
    logical :: flag
    real(r8) :: attached(4096)
    MESSAGE :: message
    call MPI_Buffer_attach(attached, size(attached) * 8, error)
    do i = 1, 3
      call MPI_Irecv(to(places(i)), copies, derived, other, i, MPI_COMM_WORLD, requests(i), error)
    end do
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call MPI_Irsend(from, copies, derived, other, 1, MPI_COMM_WORLD, requests(5), error)
    call MPI_Isend(from, copies, derived, other, 2, MPI_COMM_WORLD, requests(6), error)
    call MPI_Issend(from, copies, derived, other, 3, MPI_COMM_WORLD, requests(7), error)
    call MPI_Ibsend(from, copies, derived, other, 4, MPI_COMM_WORLD, requests(8), error)
    call MPI_Mprobe(other, 4, MPI_COMM_WORLD, message, status, error)
    call MPI_Imrecv(to(places(4)), copies, derived, message, requests(4), error)
    select case (way)
    case (0)
      do i = 1, 8
        call MPI_Wait(requests(i), status, error)
        if (i <= 4) call look(status)
      end do
    case (1)
      call MPI_Waitall(8, requests, statuses, error)
      do i = 1, 4
        call look(EACH(statuses, i))
      end do
    case (2)
      call MPI_Waitall(8, requests, MPI_STATUSES_IGNORE, error)
    case (3)
      do i = 1, 8
        call MPI_Waitany(8, requests, index, status, error)
        index = index - first
        call check(index >= 0 .and. index < 8 .and. requests(index + 1) == MPI_REQUEST_NULL, 'the index of MPI_Waitany')
      end do
    case (4)
      i = 0
      do while (i < 8)
        call MPI_Waitsome(8, requests, done, indices, statuses, error)
        call check(done >= 1 .and. minval(indices(1:done)) >= first, 'the indices of MPI_Waitsome')
        i = i + done
      end do
    case (5)
      do i = 1, 8
        flag = .false.
        do while (.not. flag)
          call MPI_Test(requests(i), flag, status, error)
        end do
        if (i <= 4) call look(status)
      end do
    case (6)
      flag = .false.
      do while (.not. flag)
        call MPI_Testall(8, requests, flag, statuses, error)
      end do
      do i = 1, 4
        call look(EACH(statuses, i))
      end do
    case (7)
      do i = 1, 8
        flag = .false.
        do while (.not. flag)
          call MPI_Testany(8, requests, index, flag, MPI_STATUS_IGNORE, error)
        end do
      end do
    case (8)
      i = 0
      do while (i < 8)
        call MPI_Testsome(8, requests, done, indices, MPI_STATUSES_IGNORE, error)
        i = i + done
      end do
    case (9)
      do i = 1, 4
        flag = .false.
        do while (.not. flag)
          call MPI_Request_get_status(requests(i), flag, status, error)
        end do
        call look(status)
      end do
      do i = 5, 8
        call MPI_Request_free(requests(i), error)
      end do
      call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, error)
    end select
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call check(all([(requests(i) == MPI_REQUEST_NULL, i = 1, 8)]), 'a request is left')
    call detach(attached)
  end subroutine

  subroutine by_wait()
    call nonblocking(0)
  end subroutine
  subroutine by_waitall()
    call nonblocking(1)
  end subroutine
  subroutine by_waitall_ignoring()
    call nonblocking(2)
  end subroutine
  subroutine by_waitany()
    call nonblocking(3)
  end subroutine
  subroutine by_waitsome()
    call nonblocking(4)
  end subroutine
  subroutine by_test()
    call nonblocking(5)
  end subroutine
  subroutine by_testall()
    call nonblocking(6)
  end subroutine
  subroutine by_testany()
    call nonblocking(7)
  end subroutine
  subroutine by_testsome()
    call nonblocking(8)
  end subroutine
  subroutine by_get_status()
    call nonblocking(9)
  end subroutine

  ! Three rounds, with other data in each.
  subroutine persistent()
    REQUEST :: requests(4)
    STATUSES(statuses, 4)
    integer :: round, i
    call MPI_Recv_init(to, copies, derived, other, 1, MPI_COMM_WORLD, requests(1), error)
    call MPI_Recv_init(to(2001), copies, derived, other, 2, MPI_COMM_WORLD, requests(2), error)
    call MPI_Send_init(from, copies, derived, other, 1, MPI_COMM_WORLD, requests(3), error)
    call MPI_Ssend_init(from, copies, derived, other, 2, MPI_COMM_WORLD, requests(4), error)
    do round = 1, 3
      from = from + round
      if (round == 2) then
        do i = 1, 4
          call MPI_Start(requests(i), error)
        end do
      else
        call MPI_Startall(4, requests, error)
      end if
      call MPI_Waitall(4, requests, statuses, error)
      call look(EACH(statuses, 1))
      call look(EACH(statuses, 2))
    end do
    do i = 1, 4
      call MPI_Request_free(requests(i), error)
    end do
  end subroutine

  subroutine packing()
    integer :: bytes, position
    character, allocatable :: packed(:)
    call MPI_Pack_size(copies, derived, MPI_COMM_WORLD, bytes, error)
    allocate (packed(bytes + 5))
    packed = 'x'
    position = 5
    call MPI_Pack(from, copies, derived, packed, bytes + 5, position, MPI_COMM_WORLD, error)
    seen(1) = position
    position = 5
    call MPI_Unpack(packed, bytes + 5, position, to, copies, derived, MPI_COMM_WORLD, error)
    seen(2) = position
  end subroutine

  ! Absolute addresses: the types say where the data are.
  subroutine from_bottom()
    DATATYPE :: types(2)
    integer(kind=MPI_ADDRESS_KIND) :: places(2)
    integer :: i
    REQUEST :: request
    call MPI_Get_address(from, places(1), error)
    call MPI_Get_address(to, places(2), error)
    do i = 1, 2
      call MPI_Type_create_hindexed(1, [copies], places(i:i), derived, types(i), error)
      call MPI_Type_commit(types(i), error)
    end do
    call MPI_Irecv(MPI_BOTTOM, 1, types(2), other, 9, MPI_COMM_WORLD, request, error)
    call MPI_Send(MPI_BOTTOM, 1, types(1), other, 9, MPI_COMM_WORLD, error)
    do i = 1, 2
      call MPI_Type_free(types(i), error)  ! one is on its way
    end do
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
  end subroutine

  ! Sections of arrays: the compiler copies them, or the binding gets a descriptor. The type is applied to that.
  subroutine sections()
    real(r8) :: matrix(64, 64), also(64, 64)
    DATATYPE :: every_other
    STATUS(status)
    matrix = reshape(from, [64, 64])
    also = -1
    call MPI_Type_vector(8, 1, 2, MPI_DOUBLE_PRECISION, every_other, error)
    call MPI_Type_commit(every_other, error)
    call MPI_Sendrecv(matrix(1:63:2, 3:60:3), 5, every_other, other, 1, also, 40, MPI_DOUBLE_PRECISION, other, 1, &
                      MPI_COMM_WORLD, status, error)
    call MPI_Sendrecv(matrix, 40, MPI_DOUBLE_PRECISION, other, 2, also(2:64:2, 5:60:5), 5, every_other, other, 2, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
#if defined(WITH_F08)
    if (MPI_SUBARRAYS_SUPPORTED) call nonblocking_section(matrix, also)
#endif
    to = reshape(also, [room])
    call MPI_Type_free(every_other, error)
  end subroutine

#if defined(WITH_F08)
  subroutine nonblocking_section(matrix, also)
    real(r8), asynchronous :: matrix(64, 64), also(64, 64)
    REQUEST :: requests(2)
    call MPI_Irecv(also(1:63:2, 40:64:3), 32 * 9, MPI_DOUBLE_PRECISION, other, 3, MPI_COMM_WORLD, requests(1), error)
    call MPI_Isend(matrix(2:64:2, 1:17:2), 32 * 9, MPI_DOUBLE_PRECISION, other, 3, MPI_COMM_WORLD, requests(2), error)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
  end subroutine
#endif
end module
