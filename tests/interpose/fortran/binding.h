! SPDX-License-Identifier: BSD-3-Clause
!
! One source, three bindings: -DWITH_MPIF, -DWITH_MPI or -DWITH_F08 chooses; the words below are what differs.
#if defined(WITH_F08)
#define USE_BINDING use mpi_f08
#define INCLUDE_BINDING
#define DATATYPE type(MPI_Datatype)
#define COMM type(MPI_Comm)
#define REQUEST type(MPI_Request)
#define WINDOW type(MPI_Win)
#define MESSAGE type(MPI_Message)
#define FILE_HANDLE type(MPI_File)
#define STATUS(name) type(MPI_Status) :: name
#define STATUSES(name, n) type(MPI_Status) :: name(n)
#define SOURCE_OF(status) status%MPI_SOURCE
#define TAG_OF(status) status%MPI_TAG
#define EACH(statuses, i) statuses(i)
#else
#if defined(WITH_MPI)
#define USE_BINDING use mpi
#define INCLUDE_BINDING
#else
#define USE_BINDING
#define INCLUDE_BINDING include 'mpif.h'
#endif
#define DATATYPE integer
#define COMM integer
#define REQUEST integer
#define WINDOW integer
#define MESSAGE integer
#define FILE_HANDLE integer
#define STATUS(name) integer :: name(MPI_STATUS_SIZE)
#define STATUSES(name, n) integer :: name(MPI_STATUS_SIZE, n)
#define SOURCE_OF(status) status(MPI_SOURCE)
#define TAG_OF(status) status(MPI_TAG)
#define EACH(statuses, i) statuses(:, i)
#endif
