// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/inside/moved_type.hpp"

#include <mutex>
#include <utility>

namespace lacuna::inside {

constinit TypeTable g_types;

namespace {

constinit std::mutex g_writing;

// Structures whose fragments were the same, by their hash: a program that makes an equal type for
// each message has them compared once.
constexpr size_t kKnown = 256;
constinit std::atomic<uint64_t> g_same[2][kKnown] = {};

std::atomic<uint64_t>& known(Direction way, uint64_t structure) noexcept {
  return g_same[static_cast<size_t>(way)][structure % kKnown];
}

}  // namespace

void MovedType::reset(PlanPtr new_plan, uint64_t new_structure, int64_t unit) noexcept {
  plan = std::move(new_plan);
  structure = new_structure;
  unit_bytes = unit;
  for (auto& each : trust) each.store(Trust::kUntried, std::memory_order_relaxed);
  for (auto& each : own) each.store(nullptr, std::memory_order_relaxed);
}

Trust MovedType::trusted(Direction way) noexcept {
  const Trust found = trust[static_cast<size_t>(way)].load(std::memory_order_acquire);
  if (found != Trust::kUntried || structure == 0 ||
      known(way, structure).load(std::memory_order_relaxed) != structure) {
    return found;
  }
  settle(way, true);
  return Trust::kSame;
}

void MovedType::settle(Direction way, bool same) noexcept {
  auto& entry = trust[static_cast<size_t>(way)];
  if (!same) return entry.store(Trust::kDiffers, std::memory_order_release);
  Trust untried = Trust::kUntried;
  if (entry.compare_exchange_strong(untried, Trust::kSame, std::memory_order_acq_rel))
    known(way, structure).store(structure, std::memory_order_relaxed);
}

void TypeTable::add(uintptr_t handle, MovedType* type) noexcept {
  const std::lock_guard<std::mutex> lock(g_writing);
  for (Slot& slot : buckets_[bucket(handle)].slots) {
    if (slot.handle.load(std::memory_order_relaxed) != 0) continue;
    slot.type.store(type, std::memory_order_relaxed);
    slot.handle.store(handle, std::memory_order_release);
    return;
  }
}

void TypeTable::remove(uintptr_t handle) noexcept {
  const std::lock_guard<std::mutex> lock(g_writing);
  for (Slot& slot : buckets_[bucket(handle)].slots) {
    if (slot.handle.load(std::memory_order_relaxed) == handle)
      slot.handle.store(0, std::memory_order_release);
  }
}

}  // namespace lacuna::inside
