// SPDX-License-Identifier: BSD-3-Clause
//
// Threads: a few that wait to help with large messages, LACUNA_THREADS - 1 of them (none unless the
// user asks). They are started by the first message that is large enough, take no signals, and
// never call back into the program.
//
// Nobody waits for them to come: the caller works through the parts itself, helpers take what is
// left. When another thread of the program has them, when a thread cannot be made, or after the
// library's end, the caller is alone. A forked child has none of its parent's threads and starts
// its own.
#ifndef LACUNA_ENGINE_EXEC_THREADS_HPP_
#define LACUNA_ENGINE_EXEC_THREADS_HPP_

#include <cstdint>

#include "exec/part.hpp"
#include "plan/plan.hpp"

namespace lacuna {

// LACUNA_THREADS.
int64_t thread_limit() noexcept;

// Calls work(context, i) for each i in [0, parts) on this thread and up to `helpers` others, and
// returns when all calls have. False: there was nobody to help, and nothing has been called.
bool run_with_help(int64_t helpers, int64_t parts, void (*work)(void* context, int64_t part),
                   void* context) noexcept;

// As move_part, split among threads. False: not worth it or nobody to help, and nothing is moved.
// Not for unpacking into a type that has a byte of memory twice: in_order.hpp does that.
template <bool kPack>
bool move_in_parts(const Plan& plan, std::byte* mem, int64_t count, int64_t begin, int64_t end,
                   std::byte* packed) noexcept;

// The question that every message asks first: two threads must both have enough to do.
template <bool kPack>
inline bool shared_out(const Plan& plan, std::byte* mem, int64_t count, int64_t begin, int64_t end,
                       std::byte* packed) noexcept {
  return end - begin >= 2 * plan.machine().parallel_bytes &&
         move_in_parts<kPack>(plan, mem, count, begin, end, packed);
}

}  // namespace lacuna

#endif  // LACUNA_ENGINE_EXEC_THREADS_HPP_
