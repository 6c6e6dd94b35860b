// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/device/moves.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "interpose/device/arenas.hpp"
#include "interpose/device/context.hpp"
#include "interpose/library/error_handlers.hpp"
#include "interpose/library/next.hpp"
#include "interpose/observe/log.hpp"

namespace lacuna::device {
namespace {

constinit thread_local Context* t_context = nullptr;
constinit thread_local bool t_has_failed = false;

// Logged once.
bool fail() noexcept {
  static constinit std::atomic<bool> is_told{false};
  if (!is_watched(kLogged) || is_told.exchange(true)) return false;
  try {
    const char* const why = mover() != nullptr ? mover()->last_error() : "";
    log_line("data on a device could not be moved" +
             (*why != '\0' ? std::string(": ") + why : std::string()) +
             "; the call returns MPI_ERR_OTHER");
  } catch (...) {
  }
  return false;
}

// Null: the data are no longer where they were when the call was accepted.
Context* context_at(const void* data) noexcept {
  DevicePlace place;
  return where_is(data, &place) == Where::kDevice ? context_of(place) : nullptr;
}

Context* context_at_any(const void* one, const void* other) noexcept {
  Context* const context = one != nullptr ? context_at(one) : context_at(other);
  const bool are_two = one != nullptr && other != nullptr && context_at(other) != context;
  return are_two ? nullptr : context;
}

// The context that moves a slice, and where its packed data are for that. Null: there is none.
Context* context_for(const Slice& slice, Packed* place) noexcept {
  const bool is_shared = is_in_arena(slice.packed);
  const PackedMemory* lent = is_shared ? nullptr : packed_memory_at(slice.packed);
  // A persistent request may start again after a reset: then its memory is the host's alone.
  if (lent != nullptr && !lent->is_on_device() && !lent->owner->is_alive()) lent = nullptr;
  Context* const context = lent != nullptr ? lent->owner : context_at(slice.data.first());
  const bool is_reached = lent != nullptr || user_of_window(slice.packed) == context ||
                          (!is_shared && context_at(slice.packed) == context);
  *place = is_shared ? Packed::kInArena : is_reached ? Packed::kReached : Packed::kElsewhere;
  return context;
}

}  // namespace

bool move_slices(bool packs, std::span<const Slice> slices) noexcept {
  while (!slices.empty()) {
    Packed places[Context::kMostAtOnce];
    Context* const context = context_for(slices[0], &places[0]);
    size_t count = 1;
    while (count < std::min(slices.size(), Context::kMostAtOnce) &&
           context_for(slices[count], &places[count]) == context)
      ++count;
    if (context == nullptr || !context->move(packs, slices.first(count), {places, count}))
      return fail();
    slices = slices.subspan(count);
  }
  return true;
}

bool prepare(const DevicePlace& place, const PlanPtr& plan, int64_t count) noexcept {
  t_context = context_of(place);
  return t_context != nullptr && t_context->is_free() &&
         (!plan || t_context->make_plan(plan, count));
}

bool prepare_also(const DevicePlace& place, const PlanPtr& plan, int64_t count) noexcept {
  const Context* const before = t_context;
  return prepare(place, plan, count) && t_context == before;
}

namespace {

constinit std::atomic<int64_t> g_device_memory_from{std::numeric_limits<int64_t>::max()};

Staging borrow(Context* context, int64_t bytes, Lies where) noexcept {
  PackedMemory* const lent = context != nullptr ? context->lend(bytes, where) : nullptr;
  return lent != nullptr ? Staging(&lent->buffer) : Staging();
}

}  // namespace

Staging borrow_pinned(int64_t bytes) noexcept { return borrow(t_context, bytes, Lies::kOnHost); }

Staging borrow_for_library(int64_t bytes) noexcept {
  if (bytes < g_device_memory_from.load(std::memory_order_relaxed)) return borrow_pinned(bytes);
  Staging found = borrow(t_context, bytes, Lies::kOnDevice);
  return found ? std::move(found) : borrow_pinned(bytes);
}

Staging borrow_between(const void* from, const void* to, int64_t bytes) noexcept {
  Context* const context = context_at_any(from, to);
  const bool is_inside = from != nullptr && to != nullptr;
  Staging found = is_inside ? borrow(context, bytes, Lies::kOnDevice) : Staging();
  return found ? std::move(found) : borrow(context, bytes, Lies::kOnHost);
}

void use_device_memory_from(int64_t bytes) noexcept {
  g_device_memory_from.store(bytes, std::memory_order_relaxed);
}

bool is_device_memory(const std::byte* packed) noexcept {
  const PackedMemory* const lent = packed_memory_at(packed);
  return lent != nullptr && lent->is_on_device();
}

bool read_packed(const std::byte* packed, int64_t bytes, void* to) noexcept {
  const PackedMemory* const lent = packed_memory_at(packed);
  if (lent != nullptr && lent->is_on_device())
    return lent->owner->copy(to, packed, bytes) || fail();
  std::memcpy(to, packed, static_cast<size_t>(bytes));
  return true;
}

bool reaches(const OnDevice& data, const std::byte* in_arena, int64_t bytes) noexcept {
  Context* const context = context_at(data.first());
  return context != nullptr && context->reaches(in_arena, bytes);
}

WindowPlace window_for(const OnDevice& data, const std::byte* in_arena, int64_t bytes,
                       const direct::Peer& to) noexcept {
  if (!are_windows_on()) return {};
  Context* const context = context_at(data.first());
  const bool is_run = data.plan == nullptr || data.plan->is_run(data.count);
  return context != nullptr ? place_in_own_window(in_arena, bytes, to, context, is_run)
                            : WindowPlace();
}

std::byte* find_in_window(uint32_t sender, uint64_t window, std::byte* in_arena, int64_t bytes,
                          const void* on_device) noexcept {
  const int64_t offset = in_arena - direct::peer_at(sender)->arena.begin;
  Context* const context = on_device != nullptr ? context_at(on_device) : nullptr;
  if (context != nullptr) {
    std::byte* const there = place_in_window(sender, window, offset, bytes, context);
    if (there != nullptr) return there;
  }
  if (copy_from_window(sender, window, offset, bytes, in_arena)) return in_arena;
  fail();
  return nullptr;
}

void received_from(uint32_t sender, const void* on_device) noexcept {
  if (!are_windows_on()) return;
  Context* const context = context_at(on_device);
  if (context != nullptr) meet_window(sender, context);
}

bool pack(const Plan& plan, const void* mem, int64_t count, int64_t bytes,
          std::byte* packed) noexcept {
  t_has_failed = !move_slice(true, {{&plan, count, const_cast<void*>(mem)}, 0, bytes, packed});
  return !t_has_failed;
}

bool unpack(const Plan& plan, const std::byte* packed, int64_t bytes, int64_t count,
            void* mem) noexcept {
  return move_slice(false, {{&plan, count, mem}, 0, bytes, const_cast<std::byte*>(packed)});
}

bool copy(void* to, const void* from, int64_t bytes, const void* on_device) noexcept {
  Context* const context = context_at(on_device);
  return (context != nullptr && context->copy(to, from, bytes)) || fail();
}

bool take_failure() noexcept { return std::exchange(t_has_failed, false); }

int raise_failure(MPI_Comm comm) {
  t_has_failed = false;
  return raise_error(comm, MPI_ERR_OTHER);
}

namespace {

// What the library says; nothing: it has no such function.
std::optional<bool> ask_library() noexcept {
  using Query = int (*)();
  static const auto query = reinterpret_cast<Query>(mpi_data_symbol("MPIX_Query_cuda_support"));
  static const bool knows = query != nullptr && query() != 0;
  return query != nullptr ? std::optional<bool>(knows) : std::nullopt;
}

}  // namespace

bool library_knows_devices() noexcept { return ask_library().value_or(true); }

bool library_says_it_knows_devices() noexcept { return ask_library().value_or(false); }

}  // namespace lacuna::device
