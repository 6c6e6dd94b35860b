! SPDX-License-Identifier: BSD-3-Clause
!
! WRF's datatypes: a struct of four 2-d, three 3-d and two 4-d faces, each a nest of vectors or a subarray. Not committed; the
! caller frees it. bounds: ims ime jms jme kms kme, the memory of a process; is ie js je ks ke, what is sent.
module wrf_types
  use mpi
  implicit none
  private
  integer, parameter :: scalars = 2       ! extent of the fourth dimension,
  integer, parameter :: scalars_sent = 1  ! of which the last is sent

contains

  subroutine make_vectors(bounds, made) bind(c, name='lacuna_fortran_make_wrf_vectors')
    integer, intent(in) :: bounds(12)
    integer, intent(out) :: made
    integer :: sizes(4), sent(4), starts(4), first_2d, first_3d, first_4d, slab, of_2d, of_3d, of_4d, error
    call find_face(bounds, sizes, sent, starts)
    call MPI_Type_vector(sent(3), sent(1), sizes(1), MPI_REAL, of_2d, error)
    call MPI_Type_vector(sent(2), sent(1), sizes(1), MPI_REAL, slab, error)
    call MPI_Type_create_hvector(sent(3), 1, bytes(sizes(1) * sizes(2)), slab, of_3d, error)
    call MPI_Type_create_hvector(sent(4), 1, bytes(product(sizes(1:3))), of_3d, of_4d, error)
    call MPI_Type_free(slab, error)
    first_2d = starts(3) * sizes(1) + starts(1)
    first_3d = (starts(3) * sizes(2) + starts(2)) * sizes(1) + starts(1)
    first_4d = starts(4) * product(sizes(1:3)) + first_3d
    call join(sizes, [of_2d, of_3d, of_4d], [first_2d, first_3d, first_4d], made)
  end subroutine

  subroutine make_subarrays(bounds, made) bind(c, name='lacuna_fortran_make_wrf_subarrays')
    integer, intent(in) :: bounds(12)
    integer, intent(out) :: made
    integer :: sizes(4), sent(4), starts(4), of_2d, of_3d, of_4d, error
    call find_face(bounds, sizes, sent, starts)
    call MPI_Type_create_subarray(2, sizes(1:3:2), sent(1:3:2), starts(1:3:2), MPI_ORDER_FORTRAN, MPI_REAL, of_2d, error)
    call MPI_Type_create_subarray(3, sizes, sent, starts, MPI_ORDER_FORTRAN, MPI_REAL, of_3d, error)
    call MPI_Type_create_subarray(4, sizes, sent, starts, MPI_ORDER_FORTRAN, MPI_REAL, of_4d, error)
    call join(sizes, [of_2d, of_3d, of_4d], [0, 0, 0], made)
  end subroutine

  ! Of the array (i, k, j, m); the dimensions of a 2-d array are the first and the third.
  subroutine find_face(bounds, sizes, sent, starts)
    integer, intent(in) :: bounds(12)
    integer, intent(out) :: sizes(4), sent(4), starts(4)
    integer, parameter :: i = 1, j = 3, k = 5  ! where a direction's bounds begin
    sizes = [bounds(i + 1) - bounds(i), bounds(k + 1) - bounds(k), bounds(j + 1) - bounds(j), scalars - 1] + 1
    sent = [bounds(i + 7) - bounds(i + 6), bounds(k + 7) - bounds(k + 6), bounds(j + 7) - bounds(j + 6), scalars_sent - 1] + 1
    starts = [bounds(i + 6) - bounds(i), bounds(k + 6) - bounds(k), bounds(j + 6) - bounds(j), scalars - scalars_sent]
  end subroutine

  ! All arrays, one after the other in memory, from the types of one of each kind, which it frees.
  subroutine join(sizes, faces, firsts, made)
    integer, intent(in) :: sizes(4), faces(3), firsts(3)
    integer, intent(out) :: made
    integer, parameter :: arrays(3) = [4, 3, 2]
    integer :: types(sum(arrays)), ones(sum(arrays)), elements(3), array, n, kind, face, error
    integer(kind=MPI_ADDRESS_KIND) :: places(sum(arrays))
    elements = [sizes(1) * sizes(3), product(sizes(1:3)), product(sizes)]
    array = 0
    n = 0
    do kind = 1, 3
      do face = 1, arrays(kind)
        n = n + 1
        types(n) = faces(kind)
        places(n) = bytes(array + firsts(kind))
        array = array + elements(kind)
      end do
    end do
    ones = 1
    call MPI_Type_create_struct(n, ones, places, types, made, error)
    do kind = 1, 3
      face = faces(kind)
      call MPI_Type_free(face, error)
    end do
  end subroutine

  integer(kind=MPI_ADDRESS_KIND) function bytes(reals)
    integer, intent(in) :: reals
    bytes = int(reals, MPI_ADDRESS_KIND) * storage_size(1.0) / 8
  end function
end module
