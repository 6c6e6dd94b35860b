// SPDX-License-Identifier: BSD-3-Clause
//
// Open MPI (4.1.4, 5.0.11) takes a message that is longer than its receive whole, where the data
// are contiguous on both sides and it reads them out of the sender's memory: it writes past the
// end, and then says MPI_ERR_TRUNCATE. Where either side has gaps it does not. What lacuna packs
// had gaps, and must not lose what they protect: lacuna's memory where it is received, the
// program's where it is sent. No error handler tells whether that matters: each rank has its own,
// and may change it while a message is under way.
//
// So packed data go as a guarded type: contiguous, of the same signature, and not known to be so.
#ifndef LACUNA_INTERPOSE_TYPES_GUARD_HPP_
#define LACUNA_INTERPOSE_TYPES_GUARD_HPP_

#include <cstdint>

#include "interpose/types/record.hpp"

namespace lacuna {

namespace detail {
LACUNA_HIDDEN extern bool g_guards;
bool guard(Wire* wire) noexcept;
}  // namespace detail

// When the runtime is known, and before MPI ends.
void start_guard() noexcept;
void stop_guard() noexcept;

// Whether the library needs that.
inline bool guards() noexcept { return detail::g_guards; }

// The packed data of a message, of basic types. False: to be declined, as there is no such type.
inline bool guard(Wire* wire) noexcept { return !guards() || detail::guard(wire); }

// What goes out before anybody has made room is never written past the end. Open MPI's least such
// size is 1 KiB with its headers (btl_self_eager_limit; shared memory's is 4 KiB).
inline constexpr int64_t kNeverOverruns = 512;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_TYPES_GUARD_HPP_
