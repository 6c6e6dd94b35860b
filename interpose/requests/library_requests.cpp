// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/requests/library_requests.hpp"

#include <algorithm>
#include <tuple>

#include "interpose/direct/node/peers.hpp"
#include "interpose/library/runtime.hpp"

namespace lacuna {

bool LibraryRequests::comes_before(const Origin& one, const Origin& other) noexcept {
  const auto key = [](const Origin& origin) {
    const PendingRequest* entry = origin.entry;
    const int group = entry == nullptr ? 1 : entry->passed_over ? 0 : 2;
    return std::tuple(group, entry != nullptr ? entry->substituted : 0, origin.index);
  };
  return key(one) < key(other);
}

LibraryRequests::LibraryRequests(const Claims& claims, int count, const MPI_Request* requests,
                                 Completes completes) noexcept
    : count_(count), requests_(const_cast<MPI_Request*>(requests)) {
  if (!claims.any_substituted() && !claims.any_left_out()) return;
  // Open MPI returns a complete request without progress, so the program's other requests would
  // never complete.
  if (completes != Completes::kAll && claims.any_substituted()) direct::let_library_work();
  requests_ = few_requests_;
  origins_ = few_origins_;
  if (count > kFew) {
    constexpr auto kEach = static_cast<int64_t>(sizeof(Origin) + sizeof(MPI_Request));
    memory_ = need_staging(count * kEach, true);
    ok_ = static_cast<bool>(memory_);
    if (!ok_) return;
    origins_ = reinterpret_cast<Origin*>(memory_.data());
    requests_ = reinterpret_cast<MPI_Request*>(origins_ + count);
  }
  for (int i = 0; i < count; ++i) origins_[i] = {i, nullptr, false};
  for (PendingRequest* entry = claims.first(); entry != nullptr; entry = entry->next_claimed) {
    Origin& origin = origins_[entry->index];
    if (entry->substituted != 0) origin.entry = entry;
    origin.is_left_out = entry->left_out;
  }
  if (completes == Completes::kOne) std::sort(origins_, origins_ + count, comes_before);
  for (int i = 0; i < count; ++i) {
    const Origin& origin = origins_[i];
    requests_[i] = origin.is_left_out        ? runtime().request_null
                   : origin.entry != nullptr ? origin.entry->substitute
                                             : requests[origin.index];
  }
}

int LibraryRequests::returned(int index) const noexcept {
  if (origins_ == nullptr || index < 0 || index >= count_) return index;
  const Origin& given = origins_[index];
  for (int i = 0; i < count_ && given.entry == nullptr; ++i)
    if (origins_[i].entry != nullptr) origins_[i].entry->passed_over = true;
  return given.index;
}

void LibraryRequests::write_back(MPI_Request* requests) const noexcept {
  if (origins_ == nullptr) return;
  for (int i = 0; i < count_; ++i) {
    const Origin& origin = origins_[i];
    if (origin.is_left_out) continue;
    (origin.entry != nullptr ? origin.entry->substitute : requests[origin.index]) = requests_[i];
  }
}

}  // namespace lacuna
