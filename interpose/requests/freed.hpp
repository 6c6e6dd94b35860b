// SPDX-License-Identifier: BSD-3-Clause
//
// Requests that the program has freed while they were incomplete. The library still needs their
// packed data, and received data must still be unpacked. So their entries are kept here until the
// library says that they are complete; later calls test them.
//
// A program learns by other messages that such a request has completed. So every call that may tell
// it tests them before it returns (after_calls.hpp), and none returns while another thread is
// unpacking.
#ifndef LACUNA_INTERPOSE_REQUESTS_FREED_HPP_
#define LACUNA_INTERPOSE_REQUESTS_FREED_HPP_

#include "interpose/functions/bodies.hpp"
#include "interpose/library/gate.hpp"

namespace lacuna {

struct Incoming;
struct Next;
struct PendingRequest;

// MPI_Request_free: takes over a claimed entry; the program's handle is gone.
void keep_freed(PendingRequest* entry) noexcept;

// Call before a library call that waits until no request is left on `comm`: it would wait for these
// for ever. Waits as long as the library would.
void finish_freed_requests_on(MPI_Comm comm) noexcept;
// MPI_Comm_disconnect; calls the above first if the library waits in it.
int disconnect_after_freed(const Next& next, MPI_Comm* comm);

// Writes a mark into the staging of a receive before it is posted. leave_freed_requests() sees by
// it whether data have come, as messages overwrite their first bytes first.
void mark(const Incoming& incoming) noexcept;
// For MPI_Finalize. leave_freed_requests(), before the library's: gives incomplete requests back to
// the library. finish_left_requests(), after it: unpacks what they have received.
void leave_freed_requests() noexcept;
void finish_left_requests() noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_REQUESTS_FREED_HPP_
