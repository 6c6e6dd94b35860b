// SPDX-License-Identifier: BSD-3-Clause
//
// The library's functions for each of the four send modes.
#ifndef LACUNA_INTERPOSE_MESSAGES_SEND_MODES_HPP_
#define LACUNA_INTERPOSE_MESSAGES_SEND_MODES_HPP_

#include "interpose/functions/bodies.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"

namespace lacuna {

struct SendFunctions {
  template <typename Count>
  using Blocking = int (*)(const void*, Count, MPI_Datatype, int, int, MPI_Comm);
  template <typename Count>
  using WithRequest = int (*)(const void*, Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

  Blocking<int> Next::* blocking;
  Blocking<MPI_Count> Next::* blocking_c;
  WithRequest<int> Next::* nonblocking;
  WithRequest<MPI_Count> Next::* nonblocking_c;
  WithRequest<int> Next::* init;
  WithRequest<MPI_Count> Next::* init_c;
};

// In the order of SendMode.
inline constexpr SendFunctions kSendFunctions[] = {
    {&Next::MPI_Send, &Next::MPI_Send_c, &Next::MPI_Isend, &Next::MPI_Isend_c, &Next::MPI_Send_init,
     &Next::MPI_Send_init_c},
    {&Next::MPI_Ssend, &Next::MPI_Ssend_c, &Next::MPI_Issend, &Next::MPI_Issend_c,
     &Next::MPI_Ssend_init, &Next::MPI_Ssend_init_c},
    {&Next::MPI_Rsend, &Next::MPI_Rsend_c, &Next::MPI_Irsend, &Next::MPI_Irsend_c,
     &Next::MPI_Rsend_init, &Next::MPI_Rsend_init_c},
    {&Next::MPI_Bsend, &Next::MPI_Bsend_c, &Next::MPI_Ibsend, &Next::MPI_Ibsend_c,
     &Next::MPI_Bsend_init, &Next::MPI_Bsend_init_c},
};

inline const SendFunctions& send_functions(SendMode mode) noexcept {
  return kSendFunctions[static_cast<unsigned>(mode)];
}

// Buffered sends are packed only if a packed message needs no more of the attached buffer than the
// program's own.
inline bool may_send(SendMode mode) noexcept {
  return mode != SendMode::kBuffered || buffers_bytes(runtime().flavour);
}

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_MESSAGES_SEND_MODES_HPP_
