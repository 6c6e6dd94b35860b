// SPDX-License-Identifier: BSD-3-Clause
//
// Cache: OMPI's rival (Ogawa & Matsuoka 1996, 4.1), LACUNA_PERSISTENT_CACHE=1. A blocking send or
// receive whose arguments were seen before is a start and a wait of a persistent request that was
// made for them.
//
// It stands between lacuna and the library, as a tool below lacuna would: where it is wanted, it
// takes the places of MPI_Send and MPI_Recv in the tables of next symbols, so that it sees what
// lacuna passes on and the packed messages that lacuna makes, and costs nothing where it is not.
#ifndef LACUNA_INTERPOSE_START_CACHE_HPP_
#define LACUNA_INTERPOSE_START_CACHE_HPP_

#include <cstdint>

#include "mpi/header.hpp"

namespace lacuna {

struct Next;

// Before any gate is open. Once begun, the cache stays in its place for the rest of the process,
// and does nothing while lacuna is off.
void start_cache() noexcept;
// Frees what it has made. No gate is open.
void stop_cache() noexcept;

// The communicator is about to be freed: requests would keep it alive.
int around_comm_free(const Next& next, MPI_Comm* comm);
int around_comm_disconnect(const Next& next, MPI_Comm* comm);

// So far in this process.
int64_t calls_by_cache() noexcept;
int64_t requests_of_cache() noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_START_CACHE_HPP_
