// SPDX-License-Identifier: BSD-3-Clause
//
// Whether memory of the program's can be read, asked without a signal.
#ifndef LACUNA_INTERPOSE_DIRECT_NODE_READABLE_HPP_
#define LACUNA_INTERPOSE_DIRECT_NODE_READABLE_HPP_

#include <cstdint>

namespace lacuna::direct {

// A call of the system for each page.
bool is_readable(const void* begin, int64_t bytes) noexcept;
// Whether the system says so at all.
bool tells_readable() noexcept;

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_NODE_READABLE_HPP_
