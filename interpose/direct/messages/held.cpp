// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/messages/held.hpp"

#include "base/hash.hpp"
#include "interpose/library/next.hpp"

namespace lacuna::direct {

bool matches(const Held& held, int source, int tag, MPI_Comm comm) noexcept {
  return handle_bits(held.comm) == handle_bits(comm) &&
         (source == MPI_ANY_SOURCE || source == held.status.MPI_SOURCE) &&
         (tag == MPI_ANY_TAG || tag == held.status.MPI_TAG);
}

size_t HeldMessages::bucket_of(MPI_Comm comm, int source) noexcept {
  const uint64_t key = uint64_t{handle_bits(comm)} * 31 + static_cast<uint32_t>(source);
  return static_cast<size_t>(key * kGoldenRatio >> 32) % kBuckets;
}

Held* HeldMessages::find(int source, int tag, MPI_Comm comm) const noexcept {
  const auto fits = [&](const Held& held) { return matches(held, source, tag, comm); };
  return source == MPI_ANY_SOURCE ? all_.find(fits)
                                  : by_sender_[bucket_of(comm, source)].find(fits);
}

void HeldMessages::add(Held* held) noexcept {
  all_.append(held);
  by_sender_[bucket_of(held->comm, held->status.MPI_SOURCE)].append(held);
}

void HeldMessages::remove(Held* held) noexcept {
  all_.remove(held);
  by_sender_[bucket_of(held->comm, held->status.MPI_SOURCE)].remove(held);
}

}  // namespace lacuna::direct
