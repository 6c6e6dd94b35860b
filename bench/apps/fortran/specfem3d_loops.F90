! SPDX-License-Identifier: BSD-3-Clause
!
! SPECFEM3D_GLOBE, seismic waves: how it packs and unpacks by hand the acceleration at listed points, and the transpose of a
! distributed array.
! The loops are compiled once for each level of instruction set, PREFIX telling the names apart.

! All of the third dimension of array(n1, n2, n3) at one place of the second. bounds: n1 n2 n3.
subroutine pack_specfem3d_mt(bounds, array, buffer) bind(c, name=PREFIX//'pack_specfem3d_mt')
  use, intrinsic :: iso_c_binding, only: c_float, c_int
  implicit none
  integer(c_int), intent(in) :: bounds(3)
  real(c_float), intent(in) :: array(bounds(1), bounds(2), *)
  real(c_float), intent(inout) :: buffer(bounds(1), *)
  integer :: i, k
  do k = 1, bounds(3)
    do i = 1, bounds(1)
      buffer(i, k) = array(i, 1, k)
    end do
  end do
end subroutine

subroutine unpack_specfem3d_mt(bounds, buffer, array) bind(c, name=PREFIX//'unpack_specfem3d_mt')
  use, intrinsic :: iso_c_binding, only: c_float, c_int
  implicit none
  integer(c_int), intent(in) :: bounds(3)
  real(c_float), intent(inout) :: array(bounds(1), bounds(2), *)
  real(c_float), intent(in) :: buffer(bounds(1), *)
  integer :: i, k
  do k = 1, bounds(3)
    do i = 1, bounds(1)
      array(i, 1, k) = buffer(i, k)
    end do
  end do
end subroutine

! The acceleration at listed points, counted from 0: one number each in the outer core.
subroutine pack_specfem3d_oc(points, list, accel, buffer) bind(c, name=PREFIX//'pack_specfem3d_oc')
  use, intrinsic :: iso_c_binding, only: c_float, c_int
  implicit none
  integer(c_int), intent(in) :: points, list(points)
  real(c_float), intent(in) :: accel(0:*)
  real(c_float), intent(inout) :: buffer(points)
  integer :: i
  do i = 1, points
    buffer(i) = accel(list(i))
  end do
end subroutine

subroutine unpack_specfem3d_oc(points, list, buffer, accel) bind(c, name=PREFIX//'unpack_specfem3d_oc')
  use, intrinsic :: iso_c_binding, only: c_float, c_int
  implicit none
  integer(c_int), intent(in) :: points, list(points)
  real(c_float), intent(inout) :: accel(0:*)
  real(c_float), intent(in) :: buffer(points)
  integer :: i
  do i = 1, points
    accel(list(i)) = buffer(i)
  end do
end subroutine

! Three in crust and mantle, and in the inner core: two arrays. bounds: how many points each has.
subroutine pack_specfem3d_cm(bounds, mantle_points, mantle_list, core_points, core_list, memory, buffer) &
    bind(c, name=PREFIX//'pack_specfem3d_cm')
  use, intrinsic :: iso_c_binding, only: c_float, c_int
  implicit none
  integer(c_int), intent(in) :: bounds(2), mantle_points, core_points
  integer(c_int), intent(in) :: mantle_list(mantle_points), core_list(core_points)
  real(c_float), intent(in) :: memory(*)
  real(c_float), intent(inout) :: buffer(*)
  call pack_points(mantle_points, mantle_list, memory(1), buffer(1))
  call pack_points(core_points, core_list, memory(3 * bounds(1) + 1), buffer(3 * mantle_points + 1))

contains

  subroutine pack_points(points, list, accel, buffer)
    integer(c_int), intent(in) :: points, list(points)
    real(c_float), intent(in) :: accel(3, 0:*)
    real(c_float), intent(inout) :: buffer(3, points)
    integer :: i, c
    do i = 1, points
      do c = 1, 3
        buffer(c, i) = accel(c, list(i))
      end do
    end do
  end subroutine
end subroutine

subroutine unpack_specfem3d_cm(bounds, mantle_points, mantle_list, core_points, core_list, buffer, memory) &
    bind(c, name=PREFIX//'unpack_specfem3d_cm')
  use, intrinsic :: iso_c_binding, only: c_float, c_int
  implicit none
  integer(c_int), intent(in) :: bounds(2), mantle_points, core_points
  integer(c_int), intent(in) :: mantle_list(mantle_points), core_list(core_points)
  real(c_float), intent(inout) :: memory(*)
  real(c_float), intent(in) :: buffer(*)
  call unpack_points(mantle_points, mantle_list, buffer(1), memory(1))
  call unpack_points(core_points, core_list, buffer(3 * mantle_points + 1), memory(3 * bounds(1) + 1))

contains

  subroutine unpack_points(points, list, buffer, accel)
    integer(c_int), intent(in) :: points, list(points)
    real(c_float), intent(inout) :: accel(3, 0:*)
    real(c_float), intent(in) :: buffer(3, points)
    integer :: i, c
    do i = 1, points
      do c = 1, 3
        accel(c, list(i)) = buffer(c, i)
      end do
    end do
  end subroutine
end subroutine
