! SPDX-License-Identifier: BSD-3-Clause
!
! The calls of a transfer through the Fortran binding, for ../ways/calls.hpp.

subroutine commit_type(handle) bind(c, name='lacuna_fortran_commit')
  use mpi
  implicit none
  integer, intent(inout) :: handle
  integer :: error
  call MPI_Type_commit(handle, error)
end subroutine

subroutine free_type(handle) bind(c, name='lacuna_fortran_free')
  use mpi
  implicit none
  integer, intent(inout) :: handle
  integer :: error
  call MPI_Type_free(handle, error)
end subroutine

subroutine send(data, count, handle, to, tag) bind(c, name='lacuna_fortran_send')
  use mpi
  use, intrinsic :: iso_c_binding, only: c_int8_t
  implicit none
  integer(c_int8_t), intent(in) :: data(*)
  integer, intent(in) :: count, handle, to, tag
  integer :: error
  call MPI_Send(data, count, handle, to, tag, MPI_COMM_WORLD, error)
end subroutine

subroutine receive(data, count, handle, from, tag) bind(c, name='lacuna_fortran_receive')
  use mpi
  use, intrinsic :: iso_c_binding, only: c_int8_t
  implicit none
  integer(c_int8_t), intent(inout) :: data(*)
  integer, intent(in) :: count, handle, from, tag
  integer :: error
  call MPI_Recv(data, count, handle, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
end subroutine

subroutine pack_all(memory, count, handle, packed, bytes) bind(c, name='lacuna_fortran_pack')
  use mpi
  use, intrinsic :: iso_c_binding, only: c_int8_t
  implicit none
  integer(c_int8_t), intent(in) :: memory(*)
  integer(c_int8_t), intent(inout) :: packed(*)
  integer, intent(in) :: count, handle, bytes
  integer :: position, error
  position = 0
  call MPI_Pack(memory, count, handle, packed, bytes, position, MPI_COMM_WORLD, error)
end subroutine

subroutine unpack_all(packed, bytes, memory, count, handle) bind(c, name='lacuna_fortran_unpack')
  use mpi
  use, intrinsic :: iso_c_binding, only: c_int8_t
  implicit none
  integer(c_int8_t), intent(in) :: packed(*)
  integer(c_int8_t), intent(inout) :: memory(*)
  integer, intent(in) :: bytes, count, handle
  integer :: position, error
  position = 0
  call MPI_Unpack(packed, bytes, position, memory, count, handle, MPI_COMM_WORLD, error)
end subroutine

! Filled with blanks.
subroutine name_compiler(text, size) bind(c, name='lacuna_fortran_compiler')
  use, intrinsic :: iso_c_binding, only: c_char
  use, intrinsic :: iso_fortran_env, only: compiler_version
  implicit none
  integer, intent(in) :: size
  character(kind=c_char), intent(out) :: text(size)
  character(len=size) :: version
  integer :: i
  version = compiler_version()
  do i = 1, size
    text(i) = version(i:i)
  end do
end subroutine
