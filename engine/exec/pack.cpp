// SPDX-License-Identifier: BSD-3-Clause
//
// Whole messages: small ones by the plan's few moves; else one element by the plan's single root,
// and several by its repeat root.
#include <cstring>

#include "exec/exec.hpp"
#include "exec/executor.hpp"
#include "exec/in_order.hpp"
#include "exec/threads.hpp"

namespace lacuna {
namespace {

template <bool kPack>
[[gnu::noinline]] void move_more(const Plan& plan, std::byte* mem, int64_t count,
                                 std::byte* packed) {
  if (count <= 0 || plan.is_empty()) return;
  const int64_t total = count * plan.size();
  if (!kPack && !plan.is_disjoint(count)) [[unlikely]]
    return unpack_in_order(plan, mem, count, 0, total, packed);
  if (shared_out<kPack>(plan, mem, count, 0, total, packed)) return;
  mem = address(mem, plan.offset());
  if (plan.is_run(count)) {
    const auto copy_near = plan.copy_near();
    if (copy_near != nullptr && total >= kNearRun && total <= plan.machine().l1_bytes / 3)
      return copy_near(kPack ? packed : mem, kPack ? mem : packed, total);
    // The C library's copy knows the machine's best way for one run of any length.
    std::memcpy(kPack ? packed : mem, kPack ? mem : packed, static_cast<size_t>(total));
    return;
  }
  Executor<kPack>(total).message(plan, mem, count, packed);
}

template <bool kPack>
[[gnu::always_inline]] inline void move_message(const Plan& plan, const void* mem, int64_t count,
                                                const void* packed) {
  if (is_small(plan, count)) [[likely]] {
    move_small<kPack>(plan, mem, count, packed);
  } else {
    move_more<kPack>(plan, address(mem, 0), count, address(packed, 0));
  }
}

}  // namespace

void pack(const Plan& plan, const void* mem, int64_t count, void* packed) noexcept {
  move_message<true>(plan, mem, count, packed);
}

void unpack(const Plan& plan, const void* packed, int64_t count, void* mem) noexcept {
  move_message<false>(plan, mem, count, packed);
}

}  // namespace lacuna
