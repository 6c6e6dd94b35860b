// SPDX-License-Identifier: BSD-3-Clause
//
// What the log says when lacuna starts: which options and files are not used as they are, whether
// lacuna and its shared-memory path are on, and why not. Nothing without LACUNA_LOG.
#ifndef LACUNA_INTERPOSE_START_ANNOUNCE_HPP_
#define LACUNA_INTERPOSE_START_ANNOUNCE_HPP_

#include <string_view>

#include "interpose/direct/agreement/agreement.hpp"

namespace lacuna {

struct Next;
struct Table;

// Options that are not understood or have no effect, and files that are not used.
void log_complaints(const Table& table);

// Why the ranks of this node do not use the shared-memory path. `willing`: this rank would.
void log_direct_off(direct::Agreement found, bool willing);

// Why messages between nodes are not pipelined, for the job. Empty: they are.
void log_no_pipelining(std::string_view why);

// One line for the job, so that a log without handled calls still shows that lacuna was on.
// `is_direct`: the shared-memory path is on; `is_inside`: lacuna is inside the library, too.
void log_on(bool is_direct, bool is_inside);

// LACUNA_DISABLE is set.
void log_disabled(const Next& next);
// The library does not have this function.
void log_lacking(const char* function);

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_START_ANNOUNCE_HPP_
