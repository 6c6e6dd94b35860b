// SPDX-License-Identifier: BSD-3-Clause
//
// Packing and unpacking that is counted, timed or verified.
#include "interpose/types/packing.hpp"

#include "interpose/device/moves.hpp"
#include "interpose/observe/verify.hpp"
#include "interpose/types/compiled.hpp"

namespace lacuna::detail {

bool watched_pack(const Account& account, const Plan& plan, const void* mem, int64_t count,
                  std::byte* packed) noexcept {
  if (account.on_device) {
    const Stopwatch watch(account, Way::kPack);
    if (is_watched(kReported)) report_device_bytes(account, count * plan.size());
    return device::pack(plan, mem, count, count * plan.size(), packed);
  }
  {
    if (plan.small_moves().is_compiled() && is_small(plan, count)) count_compiled_move();
    const Stopwatch watch(account, Way::kPack);
    pack(plan, mem, count, packed);
  }
  if (is_watched(kVerified)) verify_packed(account, plan, mem, count, packed);
  return true;
}

bool watched_unpack(const Account& account, const Plan& plan, const std::byte* packed,
                    int64_t bytes, int64_t count, void* mem) noexcept {
  if (bytes > count * plan.size()) bytes = count * plan.size();
  if (account.on_device) {
    const Stopwatch watch(account, Way::kUnpack);
    if (is_watched(kReported)) report_device_bytes(account, bytes);
    return device::unpack(plan, packed, bytes, count, mem);
  }
  if (is_watched(kVerified) && unpack_verified(account, plan, packed, bytes, count, mem))
    return true;
  const bool is_whole = bytes == count * plan.size();
  if (is_whole && plan.small_moves().is_compiled() && is_small(plan, count)) count_compiled_move();
  const Stopwatch watch(account, Way::kUnpack);
  if (is_whole)
    unpack(plan, packed, count, mem);
  else
    unpack_slice(plan, packed, count, 0, bytes, mem);
  return true;
}

}  // namespace lacuna::detail
