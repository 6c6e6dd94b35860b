// SPDX-License-Identifier: BSD-3-Clause
//
// Whether a program goes on after an error. Open MPI (4.1.4, 5.0.11) takes a longer message than
// there is room for, where its data are contiguous on both sides and it reads them out of the
// sender's memory, as a whole: it writes past the end, and then says MPI_ERR_TRUNCATE. Where either
// side has gaps it does not. So where that is not the end of the job, what has gaps keeps them:
// what is received, what is sent (past whose end is written may be the program's), and what
// collectives make of both.
#ifndef LACUNA_INTERPOSE_HANDLERS_HPP_
#define LACUNA_INTERPOSE_HANDLERS_HPP_

#include <cstdint>

#include "interpose/next.hpp"

namespace lacuna {

// At the start, when the runtime is known.
void look_at_handlers() noexcept;
// Before a communicator is freed: its handle may come again.
void forget_handlers() noexcept;

// Whether a receive on `comm` of a message that is too long is survived, and would write where it
// must not. Nothing is asked while all handlers are as they were.
bool may_overrun(MPI_Comm comm) noexcept;
// The same of some communicator.
bool may_overrun() noexcept;

// What goes out before anybody has made room never does. Open MPI's least such size is 1 KiB with
// its headers (btl_self_eager_limit; shared memory's is 4 KiB).
inline constexpr int64_t kNeverOverruns = 512;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_HANDLERS_HPP_
