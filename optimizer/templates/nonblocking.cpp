// SPDX-License-Identifier: BSD-3-Clause
//
// Nonblocking point-to-point, where the pass has proven that the request completes in the same
// function: Isend, Irecv, and what Wait and Waitall do for them.
#include "optimizer/templates/part.hpp"

using lacuna::Part;

LACUNA_ORIGINAL(MPI_Isend);
LACUNA_ORIGINAL(MPI_Irecv);

LACUNA_TEMPLATE(MPI_Isend)
(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
 MPI_Request* request, const Part& part) {
  if (!part.takes_for_later(buf))
    return lacuna_original_MPI_Isend(buf, count, type, dest, tag, comm, request);
  if (dest != MPI_PROC_NULL) part.gather(buf, part.later());
  return MPI_Isend(part.later(), part.units(), part.unit, dest, tag, comm, request);
}

LACUNA_TEMPLATE(MPI_Irecv)
(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request,
 const Part& part) {
  if (!part.takes_for_later(buf))
    return lacuna_original_MPI_Irecv(buf, count, type, source, tag, comm, request);
  const int code = MPI_Irecv(part.later(), part.units(), part.unit, source, tag, comm, request);
  if (code == MPI_SUCCESS && part.in_place == nullptr) *part.pending = 1;
  return code;
}

// `own` has room for the statuses that the program does not want.
LACUNA_TEMPLATE(MPI_Wait)(MPI_Request* request, MPI_Status* status, MPI_Status* own) {
  return MPI_Wait(request, status == MPI_STATUS_IGNORE ? own : status);
}

LACUNA_TEMPLATE(MPI_Waitall)(int count, MPI_Request* requests, MPI_Status* statuses,
                             MPI_Status* own) {
  return MPI_Waitall(count, requests, statuses == MPI_STATUSES_IGNORE ? own : statuses);
}

static inline int unpack_received(int code, const MPI_Status* statuses, const MPI_Status* own,
                                  int number, void* buf, const Part& part) {
  if (*part.pending == 0) return 0;
  const bool is_ignored = statuses == MPI_STATUSES_IGNORE || statuses == MPI_STATUS_IGNORE;
  const MPI_Status& status = (is_ignored ? own : statuses)[number];
  if (code != MPI_ERR_IN_STATUS || status.MPI_ERROR != MPI_ERR_PENDING) *part.pending = 0;
  if (code == MPI_SUCCESS || (code == MPI_ERR_IN_STATUS && status.MPI_ERROR == MPI_SUCCESS)) {
    part.scatter(buf, part.stack, status);
  }
  return 0;
}

// After either: unpacks what has come for the request of that number.
LACUNA_TEMPLATE(received)
(int code, const MPI_Status* statuses, const MPI_Status* own, int number, void* buf,
 const Part& part) {
  return unpack_received(code, statuses, own, number, buf, part);
}

// The same after Fortran's. Open MPI's binding gives statuses and requests back only if all went
// well.
LACUNA_TEMPLATE(received_fortran)
(int code, const MPI_Status* statuses, const MPI_Status* own, int number, void* buf,
 const Part& part) {
#ifdef OPEN_MPI
  if (code != MPI_SUCCESS) return 0;
#endif
  return unpack_received(code, statuses, own, number, buf, part);
}
