// SPDX-License-Identifier: BSD-3-Clause
//
// Requests that the program has freed while they were under way. The library still needs their
// packed data, and what a receive brings has yet to be unpacked: so they live on here until the
// library says that they are complete, which later calls ask.
//
// A program learns by other messages that one of them has completed. So every call that may tell it
// looks here before it returns (behind.hpp), and none returns while another thread is unpacking.
#ifndef LACUNA_INTERPOSE_REQUESTS_FREED_HPP_
#define LACUNA_INTERPOSE_REQUESTS_FREED_HPP_

#include "interpose/library/bodies.hpp"
#include "interpose/library/gate.hpp"

namespace lacuna {

struct Incoming;
struct Next;
struct PendingRequest;

// MPI_Request_free: takes a claimed entry over; the program's handle is gone.
void keep_freed(PendingRequest* entry) noexcept;

// Before a call in which the library waits until no request is left on `comm`: it would wait for
// these for ever, as they end here. Waits for as long as the library would.
void finish_freed_requests_on(MPI_Comm comm) noexcept;
// MPI_Comm_disconnect, after that where the library waits in it.
int disconnect_after_freed(const Next& next, MPI_Comm* comm);

// Marks the staging of a receive before the library hears of it, so that leave_freed_requests() can
// tell whether anything of a message, which begins with its first bytes, is there.
void mark(const Incoming& incoming) noexcept;
// In MPI_Finalize. The library gets back what is not complete, and completes it as it would have;
// what receives have brought when it is done is then put where it belongs.
void leave_freed_requests() noexcept;
void finish_left_requests() noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_REQUESTS_FREED_HPP_
