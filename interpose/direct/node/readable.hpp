// SPDX-License-Identifier: BSD-3-Clause
//
// Whether memory of the program can be read, found out without a signal.
#ifndef LACUNA_INTERPOSE_DIRECT_NODE_READABLE_HPP_
#define LACUNA_INTERPOSE_DIRECT_NODE_READABLE_HPP_

#include <cstdint>

namespace lacuna::direct {

// One system call for each page.
bool is_readable(const void* begin, int64_t bytes) noexcept;
// Whether is_readable() works on this system.
bool can_check_readable() noexcept;

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_NODE_READABLE_HPP_
