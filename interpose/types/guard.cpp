// SPDX-License-Identifier: BSD-3-Clause
//
// Open MPI adds the parts of a type one by one. The type counts as contiguous while each part
// begins where the one before has ended; the first must begin at its own displacement
// (opal_datatype_add). A part whose type begins one element later, placed one element earlier, does
// not. No later step finds out that the result is contiguous all the same.
//
// The types are kept, by basic type and length: a program's messages have few lengths.
#include "interpose/types/guard.hpp"

#include <atomic>
#include <mutex>

#include "base/hash.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/policy/policy.hpp"

namespace lacuna {
namespace detail {
constinit bool g_guards = false;
}

namespace {

struct Guarded {
  std::atomic<bool> is_made{false};  // from then on, the other members do not change
  MPI_Datatype basic;
  MPI_Count count = 0;
  MPI_Datatype type;
};

constexpr unsigned kBits = 12;
constexpr size_t kTries = 8;  // places for one basic type and length
constinit Guarded g_types[(size_t{1} << kBits) + kTries] = {};
constinit std::mutex g_making;

// Its entry, or a free one for it. Null: all places are in use.
Guarded* place_of(MPI_Datatype basic, MPI_Count count) noexcept {
  const uint64_t bits = handle_bits(basic) ^ (static_cast<uint64_t>(count) << 20);
  Guarded* place = &g_types[hash_slot(bits, kBits)];
  for (const Guarded* const end = place + kTries; place != end; ++place) {
    if (!place->is_made.load(std::memory_order_acquire)) return place;
    if (place->basic == basic && place->count == count) return place;
  }
  return nullptr;
}

bool make(MPI_Datatype basic, MPI_Count count, MPI_Datatype* type) noexcept {
  const Next& next = next_functions();
  MPI_Count lb = 0;
  MPI_Count extent = 0;
  if (!fits_int(count) || next.MPI_Type_get_extent_x(basic, &lb, &extent) != MPI_SUCCESS)
    return false;
  int length = 1;
  auto later = static_cast<MPI_Aint>(extent);
  MPI_Datatype part = runtime().datatype_null;
  if (next.MPI_Type_create_hindexed(1, &length, &later, basic, &part) != MPI_SUCCESS) return false;
  length = static_cast<int>(count);
  const MPI_Aint earlier = -later;
  const int code = next.MPI_Type_create_hindexed(1, &length, &earlier, part, type);
  next.MPI_Type_free(&part);
  if (code != MPI_SUCCESS) return false;
  if (next.MPI_Type_commit(type) == MPI_SUCCESS) return true;
  next.MPI_Type_free(type);
  return false;
}

}  // namespace

namespace detail {

// Does not wait for another thread: this may be a callback, in which the library holds locks.
bool guard(Wire* wire) noexcept {
  Guarded* place = place_of(wire->type, wire->count);
  if (place == nullptr) return false;
  if (!place->is_made.load(std::memory_order_acquire)) {
    const std::unique_lock<std::mutex> lock(g_making, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    place = place_of(wire->type, wire->count);
    if (place == nullptr) return false;
    if (!place->is_made.load(std::memory_order_relaxed)) {
      if (!make(wire->type, wire->count, &place->type)) return false;
      place->basic = wire->type;
      place->count = wire->count;
      place->is_made.store(true, std::memory_order_release);
    }
  }
  *wire = {place->type, 1};
  return true;
}

}  // namespace detail

void start_guard() noexcept { detail::g_guards = overruns_short_receives(runtime().flavour); }

void stop_guard() noexcept {
  if (!guards()) return;
  for (Guarded& guarded : g_types) {
    if (guarded.is_made.exchange(false)) next_functions().MPI_Type_free(&guarded.type);
  }
}

}  // namespace lacuna
