// SPDX-License-Identifier: BSD-3-Clause
//
// The sending end of the direct path.
#ifndef LACUNA_INTERPOSE_DIRECT_MESSAGES_SEND_HPP_
#define LACUNA_INTERPOSE_DIRECT_MESSAGES_SEND_HPP_

#include <cstdint>

#include "interpose/direct/arena/region.hpp"
#include "interpose/direct/node/peers.hpp"
#include "plan/plan.hpp"

namespace lacuna::direct {

// Writes the token, and announces it to the peer (announce_token()).
void write_token(Region* region, int64_t payload_bytes, const Peer& to) noexcept;

// Packs `count` elements at `buf` into the region, and publishes each piece as soon as it is
// complete. `is_out`: the token has been sent, so the receiver may already be unpacking.
void publish(Region* region, const Plan& plan, const void* buf, int64_t count,
             bool is_out) noexcept;

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_MESSAGES_SEND_HPP_
