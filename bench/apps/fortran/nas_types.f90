! SPDX-License-Identifier: BSD-3-Clause
!
! The datatypes of NAS MG and LU. Not committed; the caller frees them. bounds: n1 n2 n3, or nx ny.

subroutine make_mg_x(bounds, made) bind(c, name='lacuna_fortran_make_nas_mg_x')
  use mpi
  implicit none
  integer, intent(in) :: bounds(3)
  integer, intent(out) :: made
  integer :: column, error
  integer(kind=MPI_ADDRESS_KIND) :: plane_bytes
  plane_bytes = int(bounds(1) * bounds(2), MPI_ADDRESS_KIND) * storage_size(1d0) / 8
  call MPI_Type_vector(bounds(2) - 2, 1, bounds(1), MPI_DOUBLE_PRECISION, column, error)
  call MPI_Type_create_hvector(bounds(3) - 2, 1, plane_bytes, column, made, error)
  call MPI_Type_free(column, error)
end subroutine

subroutine make_mg_y(bounds, made) bind(c, name='lacuna_fortran_make_nas_mg_y')
  use mpi
  implicit none
  integer, intent(in) :: bounds(3)
  integer, intent(out) :: made
  integer :: error
  call MPI_Type_vector(bounds(3) - 2, bounds(1) - 2, bounds(1) * bounds(2), MPI_DOUBLE_PRECISION, made, error)
end subroutine

subroutine make_mg_z(bounds, made) bind(c, name='lacuna_fortran_make_nas_mg_z')
  use mpi
  implicit none
  integer, intent(in) :: bounds(3)
  integer, intent(out) :: made
  integer :: error
  call MPI_Type_vector(bounds(2) - 2, bounds(1) - 2, bounds(1), MPI_DOUBLE_PRECISION, made, error)
end subroutine

subroutine make_lu_x(bounds, made) bind(c, name='lacuna_fortran_make_nas_lu_x')
  use mpi
  implicit none
  integer, intent(in) :: bounds(2)
  integer, intent(out) :: made
  integer :: error
  call MPI_Type_contiguous(5 * bounds(1), MPI_DOUBLE_PRECISION, made, error)
end subroutine

subroutine make_lu_y(bounds, made) bind(c, name='lacuna_fortran_make_nas_lu_y')
  use mpi
  implicit none
  integer, intent(in) :: bounds(2)
  integer, intent(out) :: made
  integer :: point, error
  call MPI_Type_contiguous(5, MPI_DOUBLE_PRECISION, point, error)
  call MPI_Type_vector(bounds(2), 1, bounds(1) + 2, point, made, error)
  call MPI_Type_free(point, error)
end subroutine
