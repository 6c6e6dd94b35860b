! SPDX-License-Identifier: BSD-3-Clause
!
! What soundness.f90 calls, in a file of its own.
subroutine another_type(t)
  implicit none
  include 'mpif.h'
  integer :: t, error
  call MPI_Type_free(t, error)
  call MPI_Type_vector(2, 2, 5, MPI_INTEGER, t, error)
end subroutine

subroutine complete(request)
  implicit none
  include 'mpif.h'
  integer :: request, error
  call MPI_Wait(request, MPI_STATUS_IGNORE, error)
end subroutine
