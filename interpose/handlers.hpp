// SPDX-License-Identifier: BSD-3-Clause
//
// Whether a program goes on after an error. Open MPI (4.1.4, 5.0.11) takes a longer message than
// there is room for, where its data are contiguous on both sides and it reads them out of the
// sender's memory, as a whole: it writes past the end, and then says MPI_ERR_TRUNCATE. Into memory
// with gaps it does not. So where that is not the end of the job, what is received has gaps.
#ifndef LACUNA_INTERPOSE_HANDLERS_HPP_
#define LACUNA_INTERPOSE_HANDLERS_HPP_

#include "interpose/next.hpp"

namespace lacuna {

// At the start, when the runtime is known.
void look_at_handlers() noexcept;
// Before a communicator is freed: its handle may come again.
void forget_handlers() noexcept;

// Whether a receive on `comm` of a message that is too long is survived, and would write where it
// must not. Nothing is asked while all handlers are as they were.
bool may_overrun(MPI_Comm comm) noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_HANDLERS_HPP_
