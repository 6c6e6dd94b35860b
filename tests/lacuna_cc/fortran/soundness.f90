! SPDX-License-Identifier: BSD-3-Clause
!
! What must not be specialized, and what is only with care: docs/internals/optimizer.md's rules as Fortran
! meets them. others.f90 has what the compiler cannot see.
include 'show.inc'

! The buffer may be MPI_BOTTOM, the status MPI_STATUS_IGNORE: seen when it runs.
subroutine pass_on(buffer, place, rank, status)
  implicit none
  include 'mpif.h'
  integer :: buffer(*), status(MPI_STATUS_SIZE), rank, error, t, part
  integer(kind=MPI_ADDRESS_KIND) :: place
  call MPI_Type_vector(5, 1, 3, MPI_INTEGER, part, error)
  call MPI_Type_create_hvector(1, 1, 0_MPI_ADDRESS_KIND, part, t, error)
  call MPI_Type_free(part, error)
  call MPI_Type_create_hindexed_block(1, 1, place, t, part, error)
  call MPI_Type_commit(part, error)
  if (rank == 0) then
    call MPI_Send(buffer, 1, part, 1, 1, MPI_COMM_WORLD, error)  ! specialized
  else
    call MPI_Recv(buffer, 1, part, 0, 1, MPI_COMM_WORLD, status, error)  ! specialized
  end if
  call MPI_Type_free(part, error)
  call MPI_Type_free(t, error)
end subroutine

subroutine of_an_argument(a, t, rank)
  implicit none
  include 'mpif.h'
  integer :: a(*), t, rank, error
  if (rank == 0) then
    call MPI_Send(a, 1, t, 1, 1, MPI_COMM_WORLD, error)  ! asks: memory that others may write
  else
    call MPI_Recv(a, 1, t, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)  ! asks: memory that others may write
  end if
end subroutine

subroutine changed_by_others(a, rank)
  implicit none
  include 'mpif.h'
  integer :: a(*), rank, error, t
  call MPI_Type_vector(4, 1, 3, MPI_INTEGER, t, error)
  call another_type(t)
  call MPI_Type_commit(t, error)
  if (rank == 0) then
    call MPI_Send(a, 1, t, 1, 1, MPI_COMM_WORLD, error)  ! asks: memory that others may write
  else
    call MPI_Recv(a, 1, t, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)  ! asks: memory that others may write
  end if
  call MPI_Type_free(t, error)
end subroutine

! The numbers of a type are those of when it was made.
subroutine changed_numbers(a, n, rank)
  implicit none
  include 'mpif.h'
  integer :: a(*), n, rank, error, t, many
  many = n
  call MPI_Type_vector(many, 1, 3, MPI_INTEGER, t, error)
  call MPI_Type_commit(t, error)
  many = 1
  n = 2
  if (rank == 0) then
    call MPI_Send(a, many, t, 1, 1, MPI_COMM_WORLD, error)  ! specialized
  else
    call MPI_Recv(a, many, t, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)  ! specialized
  end if
  call MPI_Type_free(t, error)
end subroutine

subroutine one_of_two(a, which, rank)
  implicit none
  include 'mpif.h'
  integer :: a(*), which, rank, error, t
  if (which == 1) then
    call MPI_Type_vector(4, 1, 3, MPI_INTEGER, t, error)
  else
    call MPI_Type_vector(3, 1, 4, MPI_INTEGER, t, error)
  end if
  call MPI_Type_commit(t, error)
  if (rank == 0) then
    call MPI_Send(a, 1, t, 1, 1, MPI_COMM_WORLD, error)  ! asks: different types meet here
  else
    call MPI_Recv(a, 1, t, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)  ! asks: different types meet here
  end if
  call MPI_Type_free(t, error)
end subroutine

! A request that somebody else completes.
subroutine given_away(a, rank)
  implicit none
  include 'mpif.h'
  integer :: a(*), rank, error, t, request
  call MPI_Type_vector(4, 1, 3, MPI_INTEGER, t, error)
  call MPI_Type_commit(t, error)
  if (rank == 0) then
    call MPI_Isend(a, 1, t, 1, 1, MPI_COMM_WORLD, request, error)  ! left: is not proven to complete
  else
    call MPI_Irecv(a, 1, t, 0, 1, MPI_COMM_WORLD, request, error)  ! left: is not proven to complete
  end if
  call complete(request)
  call MPI_Type_free(t, error)
end subroutine

! A buffer that is CHARACTER comes with its length.
subroutine of_characters(text, rank)
  implicit none
  include 'mpif.h'
  character(len=*) :: text
  integer :: rank, error, t
  call MPI_Type_vector(4, 1, 3, MPI_CHARACTER, t, error)
  call MPI_Type_commit(t, error)
  if (rank == 0) then
    call MPI_Send(text, 1, t, 1, 1, MPI_COMM_WORLD, error)
  else
    call MPI_Recv(text, 1, t, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  end if
  call MPI_Type_free(t, error)
end subroutine

! Errors come back, and nothing else happens.
subroutine wrong(a, codes)
  implicit none
  include 'mpif.h'
  integer :: a(*), codes(3), t, error
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, error)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, error)
  call MPI_Type_vector(4, 1, 3, MPI_INTEGER, t, error)
  call MPI_Type_commit(t, error)
  call MPI_Send(a, 1, t, 77, 1, MPI_COMM_WORLD, error)  ! specialized
  call MPI_Error_class(error, codes(1), error)
  call MPI_Send(a, -1, t, MPI_PROC_NULL, 1, MPI_COMM_WORLD, error)  ! left: the count is negative
  call MPI_Error_class(error, codes(2), error)
  call MPI_Type_free(t, error)
  call MPI_Type_vector(-4, 1, 3, MPI_INTEGER, t, error)
  call MPI_Error_class(error, codes(3), error)
end subroutine

program soundness
  implicit none
  include 'mpif.h'
  integer, parameter :: n = 60
  integer :: a(n), error, rank, t, i, status(MPI_STATUS_SIZE), many
  integer(kind=MPI_ADDRESS_KIND) :: place
  character(len=12) :: text
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  a = [(i * merge(1, -1, rank == 0), i = 1, n)]
  call MPI_Get_address(a(2), place, error)
  call pass_on(MPI_BOTTOM, place, rank, MPI_STATUS_IGNORE)
  call show('bottom', a, n)
  status = 5
  call pass_on(a, 20_MPI_ADDRESS_KIND, rank, status)
  call show('no bottom', a, n)
  if (rank == 1) a(n) = status(MPI_SOURCE) * 10 + status(MPI_TAG)
  call show('status', a, n)
  call MPI_Type_vector(6, 2, 4, MPI_INTEGER, t, error)
  call another_type(t)
  call MPI_Type_commit(t, error)
  call of_an_argument(a(5), t, rank)
  call MPI_Type_free(t, error)
  call show('argument', a, n)
  call changed_by_others(a(7), rank)
  call show('changed', a, n)
  many = 7
  call changed_numbers(a(3), many, rank)
  call show('numbers', a, n)
  call one_of_two(a(4), rank, rank)
  call one_of_two(a(6), 1 - rank + rank, rank)
  call show('two', a, n)
  call given_away(a(8), rank)
  call show('given away', a, n)
  text = merge('abcdefghijkl', 'ABCDEFGHIJKL', rank == 0)
  call of_characters(text, rank)
  a(1:12) = [(ichar(text(i:i)), i = 1, 12)]
  call show('characters', a, n)
  call wrong(a, a)
  call show('errors', a, n)
  call MPI_Finalize(error)
end program
