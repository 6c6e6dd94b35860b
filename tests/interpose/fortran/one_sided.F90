! SPDX-License-Identifier: BSD-3-Clause
!
! One-sided operations. Bindings call some synchronisations by their PMPI_ names; the data of a get must be there all the
! same.
#include "binding.h"

module one_sided
  use compare
  implicit none
  integer, parameter :: part = 512
  real(r8), target, asynchronous :: shown(room)
  integer(kind=MPI_ADDRESS_KIND), parameter :: none = 0, second = part

contains

  subroutine begin(win)
    WINDOW, intent(out) :: win
    shown = from
    call MPI_Win_create(shown, int(8 * room, MPI_ADDRESS_KIND), 8, MPI_INFO_NULL, MPI_COMM_WORLD, win, error)
  end subroutine

  ! What is there at once, and what has arrived in the end.
  subroutine finish_window(win)
    WINDOW, intent(inout) :: win
    call MPI_Win_free(win, error)
    to(4 * part + 1:6 * part) = shown(1:2 * part)
  end subroutine

  subroutine by_fence()
    WINDOW :: win
    call begin(win)
    call MPI_Win_fence(0, win, error)
    call MPI_Get(to, 1, derived, other, none, 1, derived, win, error)
    call MPI_Put(from(2), 1, derived, other, second, 1, derived, win, error)
    call MPI_Win_fence(0, win, error)
    to(part + 1:2 * part) = to(1:part)
    call finish_window(win)
  end subroutine

  subroutine by_lock()
    WINDOW :: win
    call begin(win)
    call MPI_Win_lock(MPI_LOCK_SHARED, other, 0, win, error)
    call MPI_Get(to, 1, derived, other, none, 1, derived, win, error)
    call MPI_Win_unlock(other, win, error)
    to(part + 1:2 * part) = to(1:part)
    call MPI_Win_lock_all(0, win, error)
    call MPI_Get(to(2 * part + 1), 1, derived, other, none, 1, derived, win, error)
    call MPI_Win_flush(other, win, error)
    to(3 * part + 1:4 * part) = to(2 * part + 1:3 * part)
    call MPI_Accumulate(from(2), 1, derived, other, second, 1, derived, MPI_SUM, win, error)
    call MPI_Win_unlock_all(win, error)
    call finish_window(win)
  end subroutine
end module
