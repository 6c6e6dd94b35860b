! SPDX-License-Identifier: BSD-3-Clause
!
! Reading and writing files, each rank one of its own.
#include "binding.h"

module files
  use compare
  implicit none

contains

  subroutine read_and_write()
    FILE_HANDLE :: file
    STATUS(status)
    integer(kind=MPI_OFFSET_KIND) :: offset
    integer :: count
    character(len=200) :: path
    call get_environment_variable('TMPDIR', path)
    if (path == '') path = '/tmp'
    write (path, '(2a, i0)') trim(path), '/lacuna-fortran-', getpid()
    call MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &
                       file, error)
    offset = 24
    call MPI_File_write_at(file, offset, from, copies, derived, status, error)
    call MPI_Get_count(status, derived, count, error)
    call check(count == copies, 'count of what was written')
    call MPI_File_read_at(file, offset, to, copies * elements, MPI_DOUBLE_PRECISION, MPI_STATUS_IGNORE, error)
    call MPI_File_read_at(file, offset, to(2000), copies, derived, status, error)
    call MPI_Get_count(status, derived, count, error)
    call check(count == copies, 'count of what was read')
    call MPI_File_write_all(file, from(5), copies, derived, MPI_STATUS_IGNORE, error)
    offset = 0
    call MPI_File_read_at_all_begin(file, offset, to(3000), copies, derived, error)
    call MPI_File_read_at_all_end(file, to(3000), status, error)
    call MPI_File_close(file, error)
  end subroutine
end module
