// SPDX-License-Identifier: BSD-3-Clause
//
// Unpacking run by run in the order of the stream, for types in which a byte of memory occurs
// twice: the last value stays, as in MPI libraries. (MPI forbids to receive into such types.)
#ifndef LACUNA_ENGINE_EXEC_IN_ORDER_HPP_
#define LACUNA_ENGINE_EXEC_IN_ORDER_HPP_

#include <cstddef>
#include <cstdint>

#include "plan/plan.hpp"

namespace lacuna {

// Bytes [begin, end), begin < end, of the stream of `count` elements at `mem`, as unpack_slice.
void unpack_in_order(const Plan& plan, std::byte* mem, int64_t count, int64_t begin, int64_t end,
                     const std::byte* packed) noexcept;

}  // namespace lacuna

#endif  // LACUNA_ENGINE_EXEC_IN_ORDER_HPP_
