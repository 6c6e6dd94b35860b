! SPDX-License-Identifier: BSD-3-Clause
!
! WRF, weather: how it packs and unpacks by hand the halo of four 2-d, three 3-d and two 4-d arrays (i, k, j, m), which stand
! one after the other in memory; the first of the fourth dimension is not sent.
! The loops are compiled once for each level of instruction set, PREFIX telling the names apart.

#define ims bounds(1)
#define ime bounds(2)
#define jms bounds(3)
#define jme bounds(4)
#define kms bounds(5)
#define kme bounds(6)
#define is bounds(7)
#define ie bounds(8)
#define js bounds(9)
#define je bounds(10)
#define ks bounds(11)
#define ke bounds(12)

subroutine pack_wrf(bounds, memory, buffer) bind(c, name=PREFIX//'pack_wrf')
  use, intrinsic :: iso_c_binding, only: c_float, c_int
  implicit none
  integer(c_int), intent(in) :: bounds(12)
  real(c_float), intent(in) :: memory(*)
  real(c_float), intent(inout) :: buffer(*)
  integer :: n, array, at, plane, face
  plane = (ime - ims + 1) * (jme - jms + 1)
  face = (ie - is + 1) * (je - js + 1)
  array = 1
  at = 1
  do n = 1, 4
    call pack_2d(memory(array), buffer(at))
    array = array + plane
    at = at + face
  end do
  do n = 1, 3
    call pack_3d(memory(array), buffer(at))
    array = array + plane * (kme - kms + 1)
    at = at + face * (ke - ks + 1)
  end do
  do n = 1, 2
    call pack_4d(memory(array), buffer(at))
    array = array + plane * (kme - kms + 1) * 2
    at = at + face * (ke - ks + 1)
  end do

contains

  subroutine pack_2d(grid, buffer)
    real(c_float), intent(in) :: grid(ims:ime, jms:jme)
    real(c_float), intent(inout) :: buffer(is:ie, js:je)
    integer :: i, j
    do j = js, je
      do i = is, ie
        buffer(i, j) = grid(i, j)
      end do
    end do
  end subroutine

  subroutine pack_3d(grid, buffer)
    real(c_float), intent(in) :: grid(ims:ime, kms:kme, jms:jme)
    real(c_float), intent(inout) :: buffer(is:ie, ks:ke, js:je)
    integer :: i, k, j
    do j = js, je
      do k = ks, ke
        do i = is, ie
          buffer(i, k, j) = grid(i, k, j)
        end do
      end do
    end do
  end subroutine

  subroutine pack_4d(grid, buffer)
    real(c_float), intent(in) :: grid(ims:ime, kms:kme, jms:jme, 2)
    real(c_float), intent(inout) :: buffer(is:ie, ks:ke, js:je, 2:2)
    integer :: i, k, j, m
    do m = 2, 2
      do j = js, je
        do k = ks, ke
          do i = is, ie
            buffer(i, k, j, m) = grid(i, k, j, m)
          end do
        end do
      end do
    end do
  end subroutine
end subroutine

subroutine unpack_wrf(bounds, buffer, memory) bind(c, name=PREFIX//'unpack_wrf')
  use, intrinsic :: iso_c_binding, only: c_float, c_int
  implicit none
  integer(c_int), intent(in) :: bounds(12)
  real(c_float), intent(inout) :: memory(*)
  real(c_float), intent(in) :: buffer(*)
  integer :: n, array, at, plane, face
  plane = (ime - ims + 1) * (jme - jms + 1)
  face = (ie - is + 1) * (je - js + 1)
  array = 1
  at = 1
  do n = 1, 4
    call unpack_2d(buffer(at), memory(array))
    array = array + plane
    at = at + face
  end do
  do n = 1, 3
    call unpack_3d(buffer(at), memory(array))
    array = array + plane * (kme - kms + 1)
    at = at + face * (ke - ks + 1)
  end do
  do n = 1, 2
    call unpack_4d(buffer(at), memory(array))
    array = array + plane * (kme - kms + 1) * 2
    at = at + face * (ke - ks + 1)
  end do

contains

  subroutine unpack_2d(buffer, grid)
    real(c_float), intent(inout) :: grid(ims:ime, jms:jme)
    real(c_float), intent(in) :: buffer(is:ie, js:je)
    integer :: i, j
    do j = js, je
      do i = is, ie
        grid(i, j) = buffer(i, j)
      end do
    end do
  end subroutine

  subroutine unpack_3d(buffer, grid)
    real(c_float), intent(inout) :: grid(ims:ime, kms:kme, jms:jme)
    real(c_float), intent(in) :: buffer(is:ie, ks:ke, js:je)
    integer :: i, k, j
    do j = js, je
      do k = ks, ke
        do i = is, ie
          grid(i, k, j) = buffer(i, k, j)
        end do
      end do
    end do
  end subroutine

  subroutine unpack_4d(buffer, grid)
    real(c_float), intent(inout) :: grid(ims:ime, kms:kme, jms:jme, 2)
    real(c_float), intent(in) :: buffer(is:ie, ks:ke, js:je, 2:2)
    integer :: i, k, j, m
    do m = 2, 2
      do j = js, je
        do k = ks, ke
          do i = is, ie
            grid(i, k, j, m) = buffer(i, k, j, m)
          end do
        end do
      end do
    end do
  end subroutine
end subroutine
