// SPDX-License-Identifier: BSD-3-Clause
//
// Open MPI (4.1.4, 5.0.11) may write past the end of a receive that is shorter than its message,
// before it returns MPI_ERR_TRUNCATE: if the data are contiguous on both sides, and it reads them
// out of the sender's memory. It does not if either side has gaps. What lacuna packs had gaps, so
// packing would take away this protection: of lacuna's buffer if it packs the receive, of the
// program's if it packs the send. Error handlers do not tell whether the program goes on after such
// an error: each rank has its own, and may change it while a message is in flight.
//
// So packed data are of a guarded type: contiguous, with the same signature, and not recognised as
// contiguous.
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

// Whether the library needs guarded types.
inline bool guards() noexcept { return detail::g_guards; }

// Makes `wire`, packed data as elements of a basic type, one element of a guarded type, if the
// library needs that. False: there is no such type, and the call must be declined.
inline bool guard(Wire* wire) noexcept { return !guards() || detail::guard(wire); }

// Eager messages are never written past the end. Open MPI's lowest eager limit is 1 KiB with its
// headers (btl_self_eager_limit; shared memory's is 4 KiB).
inline constexpr int64_t kNeverOverruns = 512;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_TYPES_GUARD_HPP_
