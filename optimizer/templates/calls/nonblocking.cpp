// SPDX-License-Identifier: BSD-3-Clause
//
// Nonblocking point-to-point, where the pass has proven that the request completes in the same
// function: Isend, Irecv, and what Wait and Waitall do for them.
#include "optimizer/templates/registry.hpp"

using lacuna::compiled::BufferArg;
using lacuna::compiled::is_registered;
using lacuna::compiled::is_small;
using lacuna::compiled::Lookup;
using lacuna::compiled::Outgoing;

LACUNA_ORIGINAL(MPI_Isend);
LACUNA_ORIGINAL(MPI_Irecv);

LACUNA_TEMPLATE(MPI_Isend)
(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
 MPI_Request* request, const BufferArg& arg) {
  if (!arg.takes_to(buf, dest, comm))
    return lacuna_original_MPI_Isend(buf, count, type, dest, tag, comm, request);
  char* const staged = arg.later();
  if (staged == nullptr)
    return lacuna_original_MPI_Isend(buf, count, type, dest, tag, comm, request);
  if (dest != MPI_PROC_NULL) arg.gather(buf, staged);
  const Outgoing out(arg, staged, dest);
  const int code = MPI_Isend(staged, out.count, out.type, dest, tag, comm, request);
  if (code != MPI_SUCCESS) arg.release();
  return code;
}

LACUNA_TEMPLATE(MPI_Irecv)
(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request,
 const BufferArg& arg) {
  if (!arg.takes_from(buf, comm))
    return lacuna_original_MPI_Irecv(buf, count, type, source, tag, comm, request);
  char* const staged = arg.later();
  if (staged == nullptr)
    return lacuna_original_MPI_Irecv(buf, count, type, source, tag, comm, request);
  const int code = MPI_Irecv(staged, arg.units(), arg.unit, source, tag, comm, request);
  if (code != MPI_SUCCESS) {
    arg.release();
  } else if (arg.in_place == nullptr) {
    *arg.pending = 1;
  }
  return code;
}

// For types that are looked up. The pass has filled the staging memory, `pending` and `held` of the
// BufferArg; it and the Lookup are in the caller's frame until the request completes.
LACUNA_LOOKUP(MPI_Isend)
(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
 MPI_Request* request, BufferArg* arg, Lookup* lookup) {
  if (!is_registered(type)) return MPI_Isend(buf, count, type, dest, tag, comm, request);
  arg->pack = nullptr;
  lookup->fill(*arg, type, count, Lookup::kSend, lacuna::compiled::kMostSent);
  return lacuna_template_MPI_Isend(buf, count, type, dest, tag, comm, request, *arg);
}

LACUNA_LOOKUP(MPI_Irecv)
(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request,
 BufferArg* arg, Lookup* lookup) {
  if (!is_registered(type)) return MPI_Irecv(buf, count, type, source, tag, comm, request);
  arg->pack = nullptr;
  lookup->fill(*arg, type, count, Lookup::kReceive, lacuna::compiled::kMostSent);
  return lacuna_template_MPI_Irecv(buf, count, type, source, tag, comm, request, *arg);
}

#if MPI_VERSION >= 4
LACUNA_LOOKUP(MPI_Isend_c)
(const void* buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
 MPI_Request* request, BufferArg* arg, Lookup* lookup) {
  if (!is_small(count)) return MPI_Isend_c(buf, count, type, dest, tag, comm, request);
  return lacuna_lookup_1_MPI_Isend(buf, int(count), type, dest, tag, comm, request, arg, lookup);
}

LACUNA_LOOKUP(MPI_Irecv_c)
(void* buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
 MPI_Request* request, BufferArg* arg, Lookup* lookup) {
  if (!is_small(count)) return MPI_Irecv_c(buf, count, type, source, tag, comm, request);
  return lacuna_lookup_1_MPI_Irecv(buf, int(count), type, source, tag, comm, request, arg, lookup);
}
#endif

// `own` has room for the statuses if the program ignores them: a receive needs them to unpack.
LACUNA_TEMPLATE(MPI_Wait)(MPI_Request* request, MPI_Status* status, MPI_Status* own) {
  return MPI_Wait(request, status == MPI_STATUS_IGNORE ? own : status);
}

LACUNA_TEMPLATE(MPI_Waitall)
(int count, MPI_Request* requests, MPI_Status* statuses, MPI_Status* own) {
  return MPI_Waitall(count, requests, statuses == MPI_STATUSES_IGNORE ? own : statuses);
}

// The status of request `number`.
static inline const MPI_Status& status_of(const MPI_Status* statuses, const MPI_Status* own,
                                          int number) {
  const bool is_ignored = statuses == MPI_STATUSES_IGNORE || statuses == MPI_STATUS_IGNORE;
  return (is_ignored ? own : statuses)[number];
}

// Unpacks what was received.
[[gnu::always_inline]] static inline int unpack_received(int code, const MPI_Status* statuses,
                                                         const MPI_Status* own, int number,
                                                         void* buf, const BufferArg& arg) {
  if (*arg.pending == 0) return 0;
  const MPI_Status& status = status_of(statuses, own, number);
  if (code != MPI_ERR_IN_STATUS || status.MPI_ERROR != MPI_ERR_PENDING) *arg.pending = 0;
  if (code == MPI_SUCCESS || (code == MPI_ERR_IN_STATUS && status.MPI_ERROR == MPI_SUCCESS)) {
    arg.scatter(buf, arg.bytes <= arg.room ? arg.stack : *arg.held, status);
    arg.release();
  }
  return 0;
}

// Gives the memory back that was sent from. After an error the library may still read it, so it is
// not used again.
[[gnu::always_inline]] static inline int give_back_sent(int code, const MPI_Status* statuses,
                                                        const MPI_Status* own, int number,
                                                        const BufferArg& arg) {
  if (*arg.held == nullptr) return 0;
  if (code == MPI_SUCCESS ||
      (code == MPI_ERR_IN_STATUS && status_of(statuses, own, number).MPI_ERROR == MPI_SUCCESS)) {
    arg.release();
  }
  return 0;
}

// After a Wait or Waitall, for request `number`.
LACUNA_TEMPLATE(received)
(int code, const MPI_Status* statuses, const MPI_Status* own, int number, void* buf,
 const BufferArg& arg) {
  return unpack_received(code, statuses, own, number, buf, arg);
}

LACUNA_TEMPLATE(sent)
(int code, const MPI_Status* statuses, const MPI_Status* own, int number, const BufferArg& arg) {
  return give_back_sent(code, statuses, own, number, arg);
}

// The same after Fortran's Wait and Waitall. Open MPI's binding writes statuses and requests only
// if there was no error.
LACUNA_TEMPLATE(received_fortran)
(int code, const MPI_Status* statuses, const MPI_Status* own, int number, void* buf,
 const BufferArg& arg) {
#ifdef OPEN_MPI
  if (code != MPI_SUCCESS) return 0;
#endif
  return unpack_received(code, statuses, own, number, buf, arg);
}

LACUNA_TEMPLATE(sent_fortran)
(int code, const MPI_Status* statuses, const MPI_Status* own, int number, const BufferArg& arg) {
#ifdef OPEN_MPI
  if (code != MPI_SUCCESS) return 0;
#endif
  return give_back_sent(code, statuses, own, number, arg);
}
