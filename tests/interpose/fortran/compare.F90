! SPDX-License-Identifier: BSD-3-Clause
!
! Runs an operation by the library alone and with lacuna, in one job: memory and statuses must be the same, and lacuna
! must have handled exactly the calls that the operation names.
#include "binding.h"

module compare
  use, intrinsic :: iso_c_binding
  USE_BINDING
  implicit none
  INCLUDE_BINDING

  integer, parameter :: r8 = kind(1d0)
  integer, parameter :: room = 4096          ! of each buffer, in doubles
  integer, parameter :: copies = 3           ! elements of the type in most messages
  real(r8), target, asynchronous :: from(room), to(room)
  DATATYPE :: derived                        ! what is sent and received
  integer :: elements                        ! doubles in one of it
  integer :: seen(64), sights                ! what statuses said, in turn
  integer :: rank, ranks, other, error
  integer :: checks = 0, failures = 0
  character(len=80) :: what = ''

  type :: call_count                         ! "MPI_Send", how often an operation calls it with the derived type
    character(len=32) :: name
    integer :: times
  end type

  interface
    integer(c_int) function calls_taken(name) bind(C)
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: name(*)
    end function
  end interface
  abstract interface
    subroutine operation()
    end subroutine
  end interface

contains

  subroutine check(good, text)
    logical, intent(in) :: good
    character(len=*), intent(in) :: text
    checks = checks + 1
    if (good) return
    failures = failures + 1
    if (failures <= 20) write (0, '(a, i0, 4a)') 'rank ', rank, ': ', trim(what), ': ', text
  end subroutine

  integer function taken(name)
    character(len=*), intent(in) :: name
    taken = calls_taken(trim(name)//c_null_char)
  end function

  ! Records a status for the comparison.
  subroutine look(status)
    STATUS(status)
    integer :: count, parts
    call MPI_Get_count(status, derived, count, error)
    call MPI_Get_elements(status, derived, parts, error)
    seen(sights + 1:sights + 4) = [SOURCE_OF(status), TAG_OF(status), count, parts]
    sights = sights + 4
  end subroutine

  subroutine start_again()
    integer :: i
    from = [(1000 * rank + i, i = 1, room)]
    to = -1
    seen = 0
    sights = 0
  end subroutine

  subroutine both_ways(name, op, expected)
    character(len=*), intent(in) :: name
    procedure(operation) :: op
    type(call_count), intent(in) :: expected(:)
    real(r8), allocatable :: from_alone(:), to_alone(:)
    integer :: seen_alone(64), before(size(expected)), i
    what = name
    call start_again()
    call MPI_Pcontrol(0)
    call op()
    allocate (from_alone, source=from)
    allocate (to_alone, source=to)
    seen_alone = seen
    call start_again()
    call MPI_Pcontrol(1)
    before = [(taken(expected(i)%name), i = 1, size(expected))]
    call op()
    call check(all(from == from_alone), 'what was sent has changed')
    call check(all(to == to_alone), 'other data than by the library alone')
    call check(all(seen == seen_alone), 'other statuses than by the library alone')
    call check(any(to /= -1) .or. any(from /= [(1000 * rank + i, i = 1, room)]), 'no data')
    do i = 1, size(expected)
      call check(taken(expected(i)%name) - before(i) == expected(i)%times, 'calls taken of '//expected(i)%name)
    end do
    call MPI_Barrier(MPI_COMM_WORLD, error)
  end subroutine

  ! Ends the program; its last line says how it went.
  subroutine finish()
    integer :: all_checks, all_failures
    call MPI_Allreduce(checks, all_checks, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call MPI_Allreduce(failures, all_failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    if (rank == 0) print '(i0, a, i0, a)', all_checks, ' checks, ', all_failures, ' failed'
    call MPI_Finalize(error)
    if (all_failures /= 0 .or. all_checks == 0) stop 1
  end subroutine
end module
