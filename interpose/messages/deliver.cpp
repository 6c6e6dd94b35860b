// SPDX-License-Identifier: BSD-3-Clause
//
// The end of a receive: what has come is unpacked, or fetched where it is a token, and what is
// wrong with it is raised.
#include "interpose/direct/messages/receive.hpp"
#include "interpose/library/communicator.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/messages/message.hpp"
#include "interpose/policy/policy.hpp"
#include "interpose/types/packing.hpp"

namespace lacuna {

namespace {

int bring(Incoming& incoming, MPI_Status* status) noexcept {
  int code = MPI_SUCCESS;
  if (incoming.led) {
    status->MPI_SOURCE = incoming.source;
    status->MPI_TAG = incoming.tag;
  }
  if (incoming.landed >= 0) {
    direct::set_bytes(status, incoming.landed);
    return incoming.failed;
  }
  if (incoming.whole) {
    direct::Token token;
    if (direct::read_token(incoming, &token) && direct::land(token, incoming, status, &code))
      return code;
    direct::cut_whole(incoming, status);
    return MPI_ERR_TRUNCATE;
  }
  const Next& next = next_functions();
  const bool staged = static_cast<bool>(incoming.staging);
  if (!staged && !incoming.by_content && direct::bytes_of(*status) != direct::kTokenBytes)
    return MPI_SUCCESS;
  int cancelled = 0;
  if (!incoming.by_content &&
      (next.MPI_Test_cancelled(status, &cancelled) != MPI_SUCCESS || cancelled != 0)) {
    return MPI_SUCCESS;
  }
  const int64_t received = incoming.by_content ? direct::kTokenBytes : direct::bytes_of(*status);
  // MPICH returns MPI_SUCCESS where an error handler of the program's has been told that the
  // message is too long. It counts all of one that has brought nothing.
  if (staged && received > incoming.bytes) return MPI_SUCCESS;
  if (received <= 0) return MPI_SUCCESS;
  if (received == direct::kTokenBytes && is_open(kDirectSwitch)) {
    direct::Token token;
    if (direct::read_token(incoming, &token)) {
      const Stopwatch watch(incoming.account, Way::kUnpack);
      if (direct::land(token, incoming, status, &code)) return code;
    }
  }
  if (staged && incoming.by_library) {
    return direct::hand_over(incoming.staging.data(), received, incoming);
  }
  if (staged) {
    unpack_for(incoming.account, *incoming.plan, incoming.staging.data(), received, incoming.count,
               incoming.buf);
  }
  return MPI_SUCCESS;
}

}  // namespace

int deliver(Incoming& incoming, MPI_Status* status) noexcept {
  const int error_class = incoming.failed = bring(incoming, status);
  incoming.untold.tell(incoming.landed >= 0);
  return error_class;
}

int OwnStatus::finish(Incoming& incoming, int code) {
  if (!is_written()) return code;
  const int error_class = code == MPI_SUCCESS ? deliver(incoming, &own_) : MPI_SUCCESS;
  tell();
  return error_class == MPI_SUCCESS ? code : raise_error(incoming.comm, error_class);
}

// A communicator may be gone before what was received on it: libraries that then do not know its
// handler go to that of the world.
int raise_error(MPI_Comm comm, int error_class) {
  if (!is_communicator(comm)) comm = runtime().comm_world;
  next_functions().MPI_Comm_call_errhandler(comm, error_class);
  return error_class;
}

bool let_go(MPI_Errhandler* handler) noexcept {
  if (*handler == runtime().errors_are_fatal || *handler == runtime().errors_return) return false;
  next_functions().MPI_Errhandler_free(handler);
  return true;
}

// Open MPI's handlers hear of the request's own error, on its communicator; MPICH's of what the
// call returns, on none.
int raise_error_of_many(MPI_Comm comm, int error_class, int told) {
  if (runtime().flavour != Flavour::kOpenMpi)
    return raise_error(tells_none_of_several(runtime().flavour) ? hears_of_none() : comm, told);
  raise_error(comm, error_class);
  return told;
}

}  // namespace lacuna
