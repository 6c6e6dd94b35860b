// SPDX-License-Identifier: BSD-3-Clause
//
// The sending end of the direct path.
#ifndef LACUNA_INTERPOSE_DIRECT_MESSAGES_SEND_HPP_
#define LACUNA_INTERPOSE_DIRECT_MESSAGES_SEND_HPP_

#include <cstdint>

#include "interpose/direct/node/peers.hpp"
#include "interpose/direct/node/region.hpp"
#include "plan/plan.hpp"

namespace lacuna::direct {

// How much of a payload is packed at a time.
int64_t piece_of(int64_t payload_bytes) noexcept;
// So much of it, up to where it can be taken up again without a search.
inline int64_t whole_granules(int64_t bytes, int64_t granule) noexcept {
  return (bytes + granule - 1) / granule * granule;
}

// Tells the peer, too, that it will come.
void write_token(Region* region, int64_t payload_bytes, const Peer& to) noexcept;

// Packs `count` elements at `buf` into the region, piece by piece, each published as soon as it is
// there. `is_out`: so is the token, and the receiver may follow.
void publish(Region* region, const Plan& plan, const void* buf, int64_t count,
             bool is_out) noexcept;

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_MESSAGES_SEND_HPP_
