// SPDX-License-Identifier: BSD-3-Clause
//
// Packing and unpacking that is counted, timed or verified.
#include "interpose/types/packing.hpp"

#include "interpose/observe/verify.hpp"
#include "interpose/types/compiled.hpp"

namespace lacuna::detail {
void watched_pack(const Account& account, const Plan& plan, const void* mem, int64_t count,
                  std::byte* packed) noexcept {
  {
    if (plan.small_moves().is_compiled() && is_small(plan, count)) count_compiled_move();
    const Stopwatch watch(account, Way::kPack);
    pack(plan, mem, count, packed);
  }
  if (is_watched(kVerified)) verify_packed(account, plan, mem, count, packed);
}

void watched_unpack(const Account& account, const Plan& plan, const std::byte* packed,
                    int64_t bytes, int64_t count, void* mem) noexcept {
  if (bytes > count * plan.size()) bytes = count * plan.size();
  if (is_watched(kVerified) && unpack_verified(account, plan, packed, bytes, count, mem)) return;
  const bool is_whole = bytes == count * plan.size();
  if (is_whole && plan.small_moves().is_compiled() && is_small(plan, count)) count_compiled_move();
  const Stopwatch watch(account, Way::kUnpack);
  if (is_whole) return unpack(plan, packed, count, mem);
  unpack_slice(plan, packed, count, 0, bytes, mem);
}

}  // namespace lacuna::detail
