// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/requests/asked.hpp"

#include <algorithm>
#include <tuple>

#include "interpose/direct/node/peers.hpp"

namespace lacuna {

bool Asked::comes_before(const Place& one, const Place& other) noexcept {
  const auto key = [](const Place& place) {
    const PendingRequest* entry = place.entry;
    const int group = entry == nullptr ? 1 : entry->passed_over ? 0 : 2;
    return std::tuple(group, entry != nullptr ? entry->substituted : 0, place.index);
  };
  return key(one) < key(other);
}

Asked::Asked(const Claims& claims, int count, const MPI_Request* requests, Gives gives) noexcept
    : count_(count), requests_(const_cast<MPI_Request*>(requests)) {
  if (!claims.any_substituted()) return;
  // Open MPI returns a complete request without progress, so the program's other requests would
  // never complete.
  if (gives != Gives::kAll) direct::let_library_work();
  requests_ = few_requests_;
  places_ = few_places_;
  if (count > kFew) {
    memory_ = std::malloc(static_cast<size_t>(count) * (sizeof(Place) + sizeof(MPI_Request)));
    ok_ = memory_ != nullptr;
    if (!ok_) return;
    places_ = static_cast<Place*>(memory_);
    requests_ = reinterpret_cast<MPI_Request*>(places_ + count);
  }
  for (int i = 0; i < count; ++i) places_[i] = {i, nullptr};
  for (PendingRequest* entry = claims.first(); entry != nullptr; entry = entry->next_claimed)
    if (entry->substituted != 0) places_[entry->index].entry = entry;
  if (gives == Gives::kOne) std::sort(places_, places_ + count, comes_before);
  for (int i = 0; i < count; ++i) {
    const Place& place = places_[i];
    requests_[i] = place.entry != nullptr ? place.entry->substitute : requests[place.index];
  }
}

int Asked::given(int index) const noexcept {
  if (places_ == nullptr || index < 0 || index >= count_) return index;
  const Place& given = places_[index];
  for (int i = 0; i < count_ && given.entry == nullptr; ++i)
    if (places_[i].entry != nullptr) places_[i].entry->passed_over = true;
  return given.index;
}

void Asked::write_back(MPI_Request* requests) const noexcept {
  if (places_ == nullptr) return;
  for (int i = 0; i < count_; ++i) {
    const Place& place = places_[i];
    (place.entry != nullptr ? place.entry->substitute : requests[place.index]) = requests_[i];
  }
}

}  // namespace lacuna
