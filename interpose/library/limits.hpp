// SPDX-License-Identifier: BSD-3-Clause
//
// What lacuna may take where a process has limits for its memory (RLIMIT_AS, RLIMIT_DATA, which
// batch systems set): a sixteenth of what they leave when this is first asked, once for packed data
// and once for arenas. A program that goes near its limits gets there with lacuna, too.
#ifndef LACUNA_INTERPOSE_LIBRARY_LIMITS_HPP_
#define LACUNA_INTERPOSE_LIBRARY_LIMITS_HPP_

#include <cstdint>

namespace lacuna {

// Bytes; INT64_MAX where nothing is limited.
int64_t most_own_bytes() noexcept;     // of memory that only this process maps
int64_t most_shared_bytes() noexcept;  // of memory that others map, too

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_LIBRARY_LIMITS_HPP_
