// SPDX-License-Identifier: BSD-3-Clause
//
// How much memory lacuna may use in a process with memory limits (RLIMIT_AS, RLIMIT_DATA, as batch
// systems set them): a sixteenth of what the limits leave at the first call. Packed data have one
// such share, and the arenas of the direct path another. So a program that needs nearly all of its
// limit still runs with lacuna.
#ifndef LACUNA_INTERPOSE_MEMORY_LIMITS_HPP_
#define LACUNA_INTERPOSE_MEMORY_LIMITS_HPP_

#include <cstdint>

namespace lacuna {

// Bytes; INT64_MAX if there is no limit.
int64_t most_own_bytes() noexcept;     // of memory that only this process maps
int64_t most_shared_bytes() noexcept;  // of memory that others map, too

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_MEMORY_LIMITS_HPP_
