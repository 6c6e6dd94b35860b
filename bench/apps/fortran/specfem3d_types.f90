! SPDX-License-Identifier: BSD-3-Clause
!
! The datatypes of SPECFEM3D_GLOBE. Not committed; the caller frees them. Lists count points from 0, as MPI does.

! bounds: n1 n2 n3.
subroutine make_mt(bounds, made) bind(c, name='lacuna_fortran_make_specfem3d_mt')
  use mpi
  implicit none
  integer, intent(in) :: bounds(3)
  integer, intent(out) :: made
  integer :: pencil, error
  call MPI_Type_contiguous(bounds(1), MPI_REAL, pencil, error)
  call MPI_Type_vector(bounds(3), 1, bounds(2), pencil, made, error)
  call MPI_Type_free(pencil, error)
end subroutine

subroutine make_oc(points, list, made) bind(c, name='lacuna_fortran_make_specfem3d_oc')
  use mpi
  implicit none
  integer, intent(in) :: points, list(points)
  integer, intent(out) :: made
  integer :: error
  call MPI_Type_create_indexed_block(points, 1, list, MPI_REAL, made, error)
end subroutine

! bounds: how many points crust and mantle have, and the inner core.
subroutine make_cm(bounds, mantle_points, mantle_list, core_points, core_list, made) &
    bind(c, name='lacuna_fortran_make_specfem3d_cm')
  use mpi
  implicit none
  integer, intent(in) :: bounds(2), mantle_points, core_points, mantle_list(mantle_points), core_list(core_points)
  integer, intent(out) :: made
  integer :: types(2), layer, error
  integer(kind=MPI_ADDRESS_KIND) :: places(2)
  call MPI_Type_create_indexed_block(mantle_points, 3, 3 * mantle_list, MPI_REAL, types(1), error)
  call MPI_Type_create_indexed_block(core_points, 3, 3 * core_list, MPI_REAL, types(2), error)
  places = [0, 3 * bounds(1) * storage_size(1.0) / 8]
  call MPI_Type_create_struct(2, [1, 1], places, types, made, error)
  do layer = 1, 2
    call MPI_Type_free(types(layer), error)
  end do
end subroutine
