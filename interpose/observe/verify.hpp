// SPDX-License-Identifier: BSD-3-Clause
//
// Verify: with LACUNA_VERIFY=1, whatever is packed or unpacked is also packed or unpacked by the
// library, and compared. A difference is logged, and the library's bytes are used.
//
// The program may free a type before its data arrive, so an MPI type of lacuna's own is kept for
// each plan.
#ifndef LACUNA_INTERPOSE_OBSERVE_VERIFY_HPP_
#define LACUNA_INTERPOSE_OBSERVE_VERIFY_HPP_

#include <cstddef>
#include <cstdint>

#include "interpose/report/report.hpp"
#include "mpi/header.hpp"
#include "plan/plan.hpp"

namespace lacuna {

// Called when a type is analysed.
void keep_for_verification(const PlanPtr& plan, MPI_Datatype datatype) noexcept;
// In MPI_Finalize: logs how much was compared, and frees what was kept.
void stop_verification() noexcept;

// `packed` holds what lacuna has packed; afterwards, what the library packs.
void verify_packed(const Account& account, const Plan& plan, const void* mem, int64_t count,
                   std::byte* packed) noexcept;

// Unpacks both ways into memory of its own. If they differ, it unpacks into `mem` by the library
// and returns true; else the caller has still to unpack.
bool unpack_verified(const Account& account, const Plan& plan, const std::byte* packed,
                     int64_t bytes, int64_t count, void* mem) noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_OBSERVE_VERIFY_HPP_
