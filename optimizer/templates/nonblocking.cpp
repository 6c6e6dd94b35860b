// SPDX-License-Identifier: BSD-3-Clause
//
// Nonblocking point-to-point, where the pass has proven that the request completes in the same
// function: Isend, Irecv, and what Wait and Waitall do for them.
#include "optimizer/templates/noted.hpp"

using lacuna::Asked;
using lacuna::is_noted;
using lacuna::is_small;
using lacuna::Outgoing;
using lacuna::Part;

LACUNA_ORIGINAL(MPI_Isend);
LACUNA_ORIGINAL(MPI_Irecv);

LACUNA_TEMPLATE(MPI_Isend)
(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
 MPI_Request* request, const Part& part) {
  if (!part.takes(buf))
    return lacuna_original_MPI_Isend(buf, count, type, dest, tag, comm, request);
  char* const staged = part.later();
  if (staged == nullptr)
    return lacuna_original_MPI_Isend(buf, count, type, dest, tag, comm, request);
  if (dest != MPI_PROC_NULL) part.gather(buf, staged);
  const Outgoing out(part, staged, dest);
  const int code = MPI_Isend(staged, out.count, out.type, dest, tag, comm, request);
  if (code != MPI_SUCCESS) part.release();
  return code;
}

LACUNA_TEMPLATE(MPI_Irecv)
(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request,
 const Part& part) {
  if (!part.takes_from(buf, comm))
    return lacuna_original_MPI_Irecv(buf, count, type, source, tag, comm, request);
  char* const staged = part.later();
  if (staged == nullptr)
    return lacuna_original_MPI_Irecv(buf, count, type, source, tag, comm, request);
  const int code = MPI_Irecv(staged, part.units(), part.unit, source, tag, comm, request);
  if (code != MPI_SUCCESS) {
    part.release();
  } else if (part.in_place == nullptr) {
    *part.pending = 1;
  }
  return code;
}

// The same for types that are looked up. The pass has said where in the frame packed data may
// stand, and where it is told what is under way; the frame has what is asked, too, until the
// request completes.
LACUNA_ASKS(MPI_Isend)
(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
 MPI_Request* request, Part* part, Asked* asked) {
  if (!is_noted(type)) return MPI_Isend(buf, count, type, dest, tag, comm, request);
  part->pack = nullptr;
  asked->fill(*part, type, count, Asked::kSend, lacuna::kMostSent);
  return lacuna_template_MPI_Isend(buf, count, type, dest, tag, comm, request, *part);
}

LACUNA_ASKS(MPI_Irecv)
(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request,
 Part* part, Asked* asked) {
  if (!is_noted(type)) return MPI_Irecv(buf, count, type, source, tag, comm, request);
  part->pack = nullptr;
  asked->fill(*part, type, count, Asked::kReceive, lacuna::kMostSent);
  return lacuna_template_MPI_Irecv(buf, count, type, source, tag, comm, request, *part);
}

#if MPI_VERSION >= 4
LACUNA_ASKS(MPI_Isend_c)
(const void* buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
 MPI_Request* request, Part* part, Asked* asked) {
  if (!is_small(count)) return MPI_Isend_c(buf, count, type, dest, tag, comm, request);
  return lacuna_asks_2_MPI_Isend(buf, int(count), type, dest, tag, comm, request, part, asked);
}

LACUNA_ASKS(MPI_Irecv_c)
(void* buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
 MPI_Request* request, Part* part, Asked* asked) {
  if (!is_small(count)) return MPI_Irecv_c(buf, count, type, source, tag, comm, request);
  return lacuna_asks_2_MPI_Irecv(buf, int(count), type, source, tag, comm, request, part, asked);
}
#endif

// `own` has room for the statuses that the program does not want.
LACUNA_TEMPLATE(MPI_Wait)(MPI_Request* request, MPI_Status* status, MPI_Status* own) {
  return MPI_Wait(request, status == MPI_STATUS_IGNORE ? own : status);
}

LACUNA_TEMPLATE(MPI_Waitall)(int count, MPI_Request* requests, MPI_Status* statuses,
                             MPI_Status* own) {
  return MPI_Waitall(count, requests, statuses == MPI_STATUSES_IGNORE ? own : statuses);
}

// What came of the request of that number.
static inline const MPI_Status& status_of(const MPI_Status* statuses, const MPI_Status* own,
                                          int number) {
  const bool is_ignored = statuses == MPI_STATUSES_IGNORE || statuses == MPI_STATUS_IGNORE;
  return (is_ignored ? own : statuses)[number];
}

// Unpacks what has come.
[[gnu::always_inline]] static inline int unpack_received(int code, const MPI_Status* statuses,
                                                         const MPI_Status* own, int number,
                                                         void* buf, const Part& part) {
  if (*part.pending == 0) return 0;
  const MPI_Status& status = status_of(statuses, own, number);
  if (code != MPI_ERR_IN_STATUS || status.MPI_ERROR != MPI_ERR_PENDING) *part.pending = 0;
  if (code == MPI_SUCCESS || (code == MPI_ERR_IN_STATUS && status.MPI_ERROR == MPI_SUCCESS)) {
    part.scatter(buf, part.bytes <= part.room ? part.stack : *part.held, status);
    part.release();
  }
  return 0;
}

// Gives back what was sent from. After an error the library may still read it: then it stays as it
// is, and is lost.
[[gnu::always_inline]] static inline int give_back_sent(int code, const MPI_Status* statuses,
                                                        const MPI_Status* own, int number,
                                                        const Part& part) {
  if (*part.held == nullptr) return 0;
  if (code == MPI_SUCCESS ||
      (code == MPI_ERR_IN_STATUS && status_of(statuses, own, number).MPI_ERROR == MPI_SUCCESS)) {
    part.release();
  }
  return 0;
}

// After a Wait or Waitall, for the request of that number.
LACUNA_TEMPLATE(received)
(int code, const MPI_Status* statuses, const MPI_Status* own, int number, void* buf,
 const Part& part) {
  return unpack_received(code, statuses, own, number, buf, part);
}

LACUNA_TEMPLATE(sent)
(int code, const MPI_Status* statuses, const MPI_Status* own, int number, const Part& part) {
  return give_back_sent(code, statuses, own, number, part);
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

LACUNA_TEMPLATE(sent_fortran)
(int code, const MPI_Status* statuses, const MPI_Status* own, int number, const Part& part) {
#ifdef OPEN_MPI
  if (code != MPI_SUCCESS) return 0;
#endif
  return give_back_sent(code, statuses, own, number, part);
}
