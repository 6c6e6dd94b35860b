// SPDX-License-Identifier: BSD-3-Clause
//
// Verify: with LACUNA_VERIFY=1, whatever is packed or unpacked is also packed or unpacked by the
// library, the two are compared, and where they differ that is said and the library's is used.
//
// A type may be gone when its data arrive, so a type of the library's own is kept for each plan.
#ifndef LACUNA_INTERPOSE_OBSERVE_VERIFY_HPP_
#define LACUNA_INTERPOSE_OBSERVE_VERIFY_HPP_

#include <cstddef>
#include <cstdint>

#include "interpose/report/report.hpp"
#include "mpi/header.hpp"
#include "plan/plan.hpp"

namespace lacuna {

// When a type is learned.
void keep_for_verification(const PlanPtr& plan, MPI_Datatype datatype) noexcept;
// In MPI_Finalize: says how much was compared, and frees what was kept.
void stop_verification() noexcept;

// `packed` holds what lacuna has packed; afterwards, what the library packs.
void verify_packed(const Account& account, const Plan& plan, const void* mem, int64_t count,
                   std::byte* packed) noexcept;

// Unpacks both ways into memory of its own. Where they differ, unpacks into `mem` as the library
// does and answers true; otherwise the caller has it still to do.
bool unpack_verified(const Account& account, const Plan& plan, const std::byte* packed,
                     int64_t bytes, int64_t count, void* mem) noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_OBSERVE_VERIFY_HPP_
