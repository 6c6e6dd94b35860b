! SPDX-License-Identifier: BSD-3-Clause
!
! NAS MG and LU, fluid dynamics: how they pack and unpack the faces of their arrays by hand. `u` begins at the first element
! that is sent, as the applications pass u(2, 2, 2).
! The loops are compiled once for each level of instruction set, PREFIX telling the names apart.

! NAS MG: the inner points of a face of u(n1, n2, n3). bounds: n1 n2 n3.
subroutine pack_nas_mg_x(bounds, u, buffer) bind(c, name=PREFIX//'pack_nas_mg_x')
  use, intrinsic :: iso_c_binding, only: c_double, c_int
  implicit none
  integer(c_int), intent(in) :: bounds(3)
  real(c_double), intent(in) :: u(bounds(1), bounds(2), *)
  real(c_double), intent(inout) :: buffer(bounds(2) - 2, *)
  integer :: i2, i3
  do i3 = 1, bounds(3) - 2
    do i2 = 1, bounds(2) - 2
      buffer(i2, i3) = u(1, i2, i3)
    end do
  end do
end subroutine

subroutine unpack_nas_mg_x(bounds, buffer, u) bind(c, name=PREFIX//'unpack_nas_mg_x')
  use, intrinsic :: iso_c_binding, only: c_double, c_int
  implicit none
  integer(c_int), intent(in) :: bounds(3)
  real(c_double), intent(inout) :: u(bounds(1), bounds(2), *)
  real(c_double), intent(in) :: buffer(bounds(2) - 2, *)
  integer :: i2, i3
  do i3 = 1, bounds(3) - 2
    do i2 = 1, bounds(2) - 2
      u(1, i2, i3) = buffer(i2, i3)
    end do
  end do
end subroutine

subroutine pack_nas_mg_y(bounds, u, buffer) bind(c, name=PREFIX//'pack_nas_mg_y')
  use, intrinsic :: iso_c_binding, only: c_double, c_int
  implicit none
  integer(c_int), intent(in) :: bounds(3)
  real(c_double), intent(in) :: u(bounds(1), bounds(2), *)
  real(c_double), intent(inout) :: buffer(bounds(1) - 2, *)
  integer :: i1, i3
  do i3 = 1, bounds(3) - 2
    do i1 = 1, bounds(1) - 2
      buffer(i1, i3) = u(i1, 1, i3)
    end do
  end do
end subroutine

subroutine unpack_nas_mg_y(bounds, buffer, u) bind(c, name=PREFIX//'unpack_nas_mg_y')
  use, intrinsic :: iso_c_binding, only: c_double, c_int
  implicit none
  integer(c_int), intent(in) :: bounds(3)
  real(c_double), intent(inout) :: u(bounds(1), bounds(2), *)
  real(c_double), intent(in) :: buffer(bounds(1) - 2, *)
  integer :: i1, i3
  do i3 = 1, bounds(3) - 2
    do i1 = 1, bounds(1) - 2
      u(i1, 1, i3) = buffer(i1, i3)
    end do
  end do
end subroutine

subroutine pack_nas_mg_z(bounds, u, buffer) bind(c, name=PREFIX//'pack_nas_mg_z')
  use, intrinsic :: iso_c_binding, only: c_double, c_int
  implicit none
  integer(c_int), intent(in) :: bounds(3)
  real(c_double), intent(in) :: u(bounds(1), *)
  real(c_double), intent(inout) :: buffer(bounds(1) - 2, *)
  integer :: i1, i2
  do i2 = 1, bounds(2) - 2
    do i1 = 1, bounds(1) - 2
      buffer(i1, i2) = u(i1, i2)
    end do
  end do
end subroutine

subroutine unpack_nas_mg_z(bounds, buffer, u) bind(c, name=PREFIX//'unpack_nas_mg_z')
  use, intrinsic :: iso_c_binding, only: c_double, c_int
  implicit none
  integer(c_int), intent(in) :: bounds(3)
  real(c_double), intent(inout) :: u(bounds(1), *)
  real(c_double), intent(in) :: buffer(bounds(1) - 2, *)
  integer :: i1, i2
  do i2 = 1, bounds(2) - 2
    do i1 = 1, bounds(1) - 2
      u(i1, i2) = buffer(i1, i2)
    end do
  end do
end subroutine

! NAS LU: five doubles at each point of a face of u(5, nx + 2, ny). bounds: nx ny.
subroutine pack_nas_lu_x(bounds, u, buffer) bind(c, name=PREFIX//'pack_nas_lu_x')
  use, intrinsic :: iso_c_binding, only: c_double, c_int
  implicit none
  integer(c_int), intent(in) :: bounds(2)
  real(c_double), intent(in) :: u(5, *)
  real(c_double), intent(inout) :: buffer(5, *)
  integer :: m, i
  do i = 1, bounds(1)
    do m = 1, 5
      buffer(m, i) = u(m, i)
    end do
  end do
end subroutine

subroutine unpack_nas_lu_x(bounds, buffer, u) bind(c, name=PREFIX//'unpack_nas_lu_x')
  use, intrinsic :: iso_c_binding, only: c_double, c_int
  implicit none
  integer(c_int), intent(in) :: bounds(2)
  real(c_double), intent(inout) :: u(5, *)
  real(c_double), intent(in) :: buffer(5, *)
  integer :: m, i
  do i = 1, bounds(1)
    do m = 1, 5
      u(m, i) = buffer(m, i)
    end do
  end do
end subroutine

subroutine pack_nas_lu_y(bounds, u, buffer) bind(c, name=PREFIX//'pack_nas_lu_y')
  use, intrinsic :: iso_c_binding, only: c_double, c_int
  implicit none
  integer(c_int), intent(in) :: bounds(2)
  real(c_double), intent(in) :: u(5, bounds(1) + 2, *)
  real(c_double), intent(inout) :: buffer(5, *)
  integer :: m, j
  do j = 1, bounds(2)
    do m = 1, 5
      buffer(m, j) = u(m, 1, j)
    end do
  end do
end subroutine

subroutine unpack_nas_lu_y(bounds, buffer, u) bind(c, name=PREFIX//'unpack_nas_lu_y')
  use, intrinsic :: iso_c_binding, only: c_double, c_int
  implicit none
  integer(c_int), intent(in) :: bounds(2)
  real(c_double), intent(inout) :: u(5, bounds(1) + 2, *)
  real(c_double), intent(in) :: buffer(5, *)
  integer :: m, j
  do j = 1, bounds(2)
    do m = 1, 5
      u(m, 1, j) = buffer(m, j)
    end do
  end do
end subroutine
