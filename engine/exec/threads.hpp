// SPDX-License-Identifier: BSD-3-Clause
//
// Helper threads for large messages, LACUNA_THREADS - 1 of them (none unless the user asks). They
// are started by the first message that is large enough, block all signals, and never call back
// into the program.
//
// The caller never waits for a helper to begin: it works through the parts itself, and helpers take
// the rest. It works alone if another thread of the program uses the helpers, a thread cannot be
// made, or the library has ended. A forked child has none of its parent's threads and starts its
// own.
#ifndef LACUNA_ENGINE_EXEC_THREADS_HPP_
#define LACUNA_ENGINE_EXEC_THREADS_HPP_

#include <cstdint>

#include "exec/part.hpp"
#include "plan/plan.hpp"

namespace lacuna {

// The value of LACUNA_THREADS.
int64_t thread_limit() noexcept;

// Calls work(context, i) for each i in [0, parts) on this thread and up to `helpers` others, and
// returns when all calls have returned. False: there was no helper, and nothing has been called.
bool run_with_help(int64_t helpers, int64_t parts, void (*work)(void* context, int64_t part),
                   void* context) noexcept;

// As move_part, split among threads. False: too small or no helper, and nothing is moved. Not for
// unpacking into types in which a byte of memory occurs twice (in_order.hpp).
template <bool kPack>
bool move_in_parts(const Plan& plan, std::byte* mem, int64_t count, int64_t begin, int64_t end,
                   std::byte* packed) noexcept;

// The check that every message makes first: there must be enough work for two threads.
template <bool kPack>
inline bool shared_out(const Plan& plan, std::byte* mem, int64_t count, int64_t begin, int64_t end,
                       std::byte* packed) noexcept {
  return end - begin >= 2 * plan.machine().parallel_bytes &&
         move_in_parts<kPack>(plan, mem, count, begin, end, packed);
}

}  // namespace lacuna

#endif  // LACUNA_ENGINE_EXEC_THREADS_HPP_
