// SPDX-License-Identifier: BSD-3-Clause
//
// An allocator of objects with a static reserve for when `new` fails. It is for objects without
// which a token (direct/arena/region.hpp) would be handed to the program as if it were data.
#ifndef LACUNA_INTERPOSE_MEMORY_RESERVE_HPP_
#define LACUNA_INTERPOSE_MEMORY_RESERVE_HPP_

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>

namespace lacuna {

// May be used by several threads at once.
template <typename T>
class Reserve {
 public:
  // Null if `new` fails and the whole reserve is in use.
  T* make() noexcept {
    if (T* object = new (std::nothrow) T) return object;
    Place* const place = take();
    return place != nullptr ? new (place->bytes) T : nullptr;
  }

  void drop(T* object) noexcept {
    auto* const place = reinterpret_cast<Place*>(object);
    if (std::less<>()(place, places_) || !std::less<>()(place, places_ + kPlaces)) {
      delete object;
      return;
    }
    object->~T();
    lent_.fetch_and(~(uint64_t{1} << (place - places_)), std::memory_order_release);
  }

 private:
  static constexpr size_t kPlaces = 64;
  struct Place {
    alignas(T) std::byte bytes[sizeof(T)];
  };

  Place* take() noexcept {
    uint64_t lent = lent_.load(std::memory_order_relaxed);
    do {
      if (~lent == 0) return nullptr;
    } while (!lent_.compare_exchange_weak(lent, lent | (lent + 1), std::memory_order_acquire));
    return places_ + std::countr_one(lent);
  }

  Place places_[kPlaces] = {};
  std::atomic<uint64_t> lent_{0};  // a bit for each place
};

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_MEMORY_RESERVE_HPP_
