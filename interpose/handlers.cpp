// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/handlers.hpp"

#include <atomic>
#include <cstdint>

#include "interpose/bodies.hpp"
#include "interpose/direct/peers.hpp"
#include "interpose/group.hpp"
#include "interpose/policy.hpp"
#include "interpose/runtime.hpp"
#include "interpose/transfer.hpp"
#include "mpi/header.hpp"

namespace lacuna {
namespace {

constinit std::atomic<bool> g_any_survives{false};  // on some communicator, at some time
// The communicator that was asked about last, and in the lowest bit what was found.
constinit std::atomic<uint64_t> g_last{0};

bool ask(MPI_Comm comm) noexcept {
  const MPI_Errhandler fatal = runtime().errors_are_fatal;
  MPI_Errhandler handler = fatal;
  if (direct::life_of(comm) == 0 && !is_communicator(comm)) return true;  // the library will say so
  if (next_functions().MPI_Comm_get_errhandler(comm, &handler) != MPI_SUCCESS) return true;
  if (handler == fatal) return false;
  let_go(&handler);
  return true;
}

}  // namespace

int around_comm_set_errhandler(const Next& next, MPI_Comm comm, MPI_Errhandler handler) {
  forget_handlers();
  if (handler != runtime().errors_are_fatal) g_any_survives.store(true, std::memory_order_relaxed);
  return next.MPI_Comm_set_errhandler(comm, handler);
}

void look_at_handlers() noexcept {
  if (overruns_short_receives(runtime().flavour) && ask(runtime().comm_world))
    g_any_survives.store(true, std::memory_order_relaxed);
}

void forget_handlers() noexcept { g_last.store(0, std::memory_order_relaxed); }

bool may_overrun() noexcept {
  return overruns_short_receives(runtime().flavour) &&
         g_any_survives.load(std::memory_order_relaxed);
}

bool may_overrun(MPI_Comm comm) noexcept {
  if (!may_overrun()) return false;
  const uint64_t asked = uint64_t{handle_bits(comm)} << 1;
  const uint64_t last = g_last.load(std::memory_order_relaxed);
  if (last >> 1 == asked >> 1) return (last & 1) != 0;
  const bool survives = ask(comm);
  g_last.store(asked | (survives ? 1 : 0), std::memory_order_relaxed);
  return survives;
}

}  // namespace lacuna
