// SPDX-License-Identifier: BSD-3-Clause
//
// The hand-written halves of the wrappers, called by the generated ones (functions.ini names them).
// Counts are MPI_Count for both forms of a function. None throws; a body that runs out of memory
// before it has done anything declines.
#ifndef LACUNA_INTERPOSE_FUNCTIONS_BODIES_HPP_
#define LACUNA_INTERPOSE_FUNCTIONS_BODIES_HPP_

#include <cstdint>

#include "interpose/functions/answer.hpp"
#include "interpose/library/gate.hpp"
#include "mpi/header.hpp"

namespace lacuna {

struct Next;

// start/init.cpp and start/sessions.cpp; `next` is where the call is passed on.
int around_init(const Next& next, int* argc, char*** argv);
int around_init_thread(const Next& next, int* argc, char*** argv, int required, int* provided);
int around_finalize(const Next& next);
int around_session_init(const Next& next, MPI_Info info, MPI_Errhandler handler,
                        MPI_Session* session);
int around_session_finalize(const Next& next, MPI_Session* session);

// types/record.cpp
int around_type_commit(const Next& next, MPI_Datatype* datatype);
int around_type_free(const Next& next, MPI_Datatype* datatype);

// messages/pack.cpp; Count is int or MPI_Count.
template <typename Count>
Answer handle_pack(const void* inbuf, MPI_Count incount, MPI_Datatype datatype, void* outbuf,
                   MPI_Count outsize, Count* position, MPI_Comm comm);
template <typename Count>
Answer handle_unpack(const void* inbuf, MPI_Count insize, Count* position, void* outbuf,
                     MPI_Count outcount, MPI_Datatype datatype, MPI_Comm comm);

// messages/blocking.cpp
enum class SendMode : uint8_t { kStandard, kSynchronous, kReady, kBuffered };
Answer handle_send(SendMode mode, const void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                   int tag, MPI_Comm comm);
Answer handle_recv(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                   MPI_Comm comm, MPI_Status* status);
Answer handle_mrecv(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message,
                    MPI_Status* status);
Answer handle_sendrecv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
                       int sendtag, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                       int source, int recvtag, MPI_Comm comm, MPI_Status* status);
Answer handle_sendrecv_replace(void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                               int sendtag, int source, int recvtag, MPI_Comm comm,
                               MPI_Status* status);

// direct/messages/probe.cpp; MPI_Probe and MPI_Mprobe have no flag.
Answer handle_probe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status);
Answer handle_mprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                     MPI_Status* status);

// messages/nonblocking.cpp
Answer handle_isend(SendMode mode, const void* buf, MPI_Count count, MPI_Datatype datatype,
                    int dest, int tag, MPI_Comm comm, MPI_Request* request);
Answer handle_irecv(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                    MPI_Comm comm, MPI_Request* request);
Answer handle_imrecv(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message,
                     MPI_Request* request);
int missing_isendrecv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
                      int sendtag, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                      int source, int recvtag, MPI_Comm comm, MPI_Request* request);
Answer handle_isendrecv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
                        int sendtag, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                        int source, int recvtag, MPI_Comm comm, MPI_Request* request);
Answer handle_isendrecv_replace(void* buf, MPI_Count count, MPI_Datatype datatype, int dest,
                                int sendtag, int source, int recvtag, MPI_Comm comm,
                                MPI_Request* request);
Answer handle_request_free(MPI_Request* request);
Answer handle_cancel(MPI_Request* request);

// messages/persistent.cpp
Answer handle_send_init(SendMode mode, const void* buf, MPI_Count count, MPI_Datatype datatype,
                        int dest, int tag, MPI_Comm comm, MPI_Request* request);
Answer handle_recv_init(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                        MPI_Comm comm, MPI_Request* request);
Answer handle_start(MPI_Request* request);
Answer handle_startall(int count, MPI_Request* requests);

// rma/
Answer handle_put(const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                  MPI_Datatype target_datatype, MPI_Win win);
Answer handle_get(void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                  MPI_Datatype target_datatype, MPI_Win win);
Answer handle_accumulate(const void* origin_addr, MPI_Count origin_count,
                         MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                         MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op,
                         MPI_Win win);
Answer handle_get_accumulate(const void* origin_addr, MPI_Count origin_count,
                             MPI_Datatype origin_datatype, void* result_addr,
                             MPI_Count result_count, MPI_Datatype result_datatype, int target_rank,
                             MPI_Aint target_disp, MPI_Count target_count,
                             MPI_Datatype target_datatype, MPI_Op op, MPI_Win win);
Answer handle_rput(const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                   int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                   MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request);
Answer handle_rget(void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                   int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                   MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request);
Answer handle_raccumulate(const void* origin_addr, MPI_Count origin_count,
                          MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                          MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op,
                          MPI_Win win, MPI_Request* request);
Answer handle_rget_accumulate(const void* origin_addr, MPI_Count origin_count,
                              MPI_Datatype origin_datatype, void* result_addr,
                              MPI_Count result_count, MPI_Datatype result_datatype, int target_rank,
                              MPI_Aint target_disp, MPI_Count target_count,
                              MPI_Datatype target_datatype, MPI_Op op, MPI_Win win,
                              MPI_Request* request);
Answer handle_win_fence(int assert, MPI_Win win);
Answer handle_win_complete(MPI_Win win);
Answer handle_win_unlock(int rank, MPI_Win win);
Answer handle_win_unlock_all(MPI_Win win);
Answer handle_win_flush(int rank, MPI_Win win);
Answer handle_win_flush_all(MPI_Win win);
Answer handle_win_flush_local(int rank, MPI_Win win);
Answer handle_win_flush_local_all(MPI_Win win);
Answer handle_win_free(MPI_Win* win);

// requests/one.cpp
Answer handle_wait(MPI_Request* request, MPI_Status* status);
Answer handle_test(MPI_Request* request, int* flag, MPI_Status* status);
Answer handle_request_get_status(MPI_Request request, int* flag, MPI_Status* status);

// requests/many.cpp
Answer handle_waitall(int count, MPI_Request* requests, MPI_Status* statuses);
Answer handle_waitany(int count, MPI_Request* requests, int* index, MPI_Status* status);
Answer handle_waitsome(int incount, MPI_Request* requests, int* outcount, int* indices,
                       MPI_Status* statuses);
Answer handle_testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses);
Answer handle_testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status);
Answer handle_testsome(int incount, MPI_Request* requests, int* outcount, int* indices,
                       MPI_Status* statuses);
Answer handle_request_get_status_all(int count, const MPI_Request* requests, int* flag,
                                     MPI_Status* statuses);
Answer handle_request_get_status_any(int count, const MPI_Request* requests, int* index, int* flag,
                                     MPI_Status* status);
Answer handle_request_get_status_some(int incount, const MPI_Request* requests, int* outcount,
                                      int* indices, MPI_Status* statuses);

// requests/stand_ins.cpp: replace functions of MPI 4.1 that an older library lacks
int missing_get_status_any(int count, const MPI_Request* requests, int* index, int* flag,
                           MPI_Status* status);
int missing_get_status_all(int count, const MPI_Request* requests, int* flag, MPI_Status* statuses);
int missing_get_status_some(int incount, const MPI_Request* requests, int* outcount, int* indices,
                            MPI_Status* statuses);

// requests/freed.cpp
namespace detail {
void finish_freed_requests() noexcept;
}

inline bool any_freed_requests() noexcept {
  return g_gate.freed.load(std::memory_order_acquire) != 0;
}

// Finishes requests that the program has freed and that have completed since.
inline void finish_freed_requests() noexcept {
  if (any_freed_requests()) detail::finish_freed_requests();
}

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_FUNCTIONS_BODIES_HPP_
