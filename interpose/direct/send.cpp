// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/send.hpp"

#include <algorithm>
#include <cstring>

#include "base/address.hpp"
#include "exec/part.hpp"
#include "interpose/direct/arena.hpp"
#include "interpose/direct/peers.hpp"
#include "interpose/staging.hpp"
#include "plan/pattern.hpp"

namespace lacuna::direct {
namespace {

// Of the payload: enough pieces that the receiver is never far behind, large enough that a piece is
// worth the line that both ranks look at, and small enough to be found in a cache. Between two
// cores of a Granite Rapids guest, microseconds with pieces of 16, 64 and 256 KiB: 4096 runs of 40
// bytes 19, 21, 28; 65536 rows of 8 bytes 334, 321, 443; the face of 256^3 74, 60, 75. With pieces
// of 2, 4 and 16 KiB: 16 KiB of 8-byte runs 5.2, 5.5, 8.0; 64 KiB of them 14.1, 13.1, 14.9. With 2
// and 4 KiB on Emerald Rapids, over the time of as many bytes without gaps (Intel MPI, two runs):
// 1897 listed floats 2.8, 2.9 and 3.1, 3.5; 3225 of them 3.0, 3.1 and 3.1, 3.5; else no difference.
constexpr int64_t kLeastPiece = 2 << 10;
constexpr int64_t kMostPiece = 64 << 10;
constexpr int64_t kPieces = 8;

// A transpose writes many lines at once, none of which is in this core's cache: they are fetched
// faster one after the other, so it is packed to the side first and then copied (microseconds:
// 1024^2 doubles 4100 -> 2400, 181^2 43 -> 36, 91^2 13.7 -> 12.2; the same on the receiving side
// gained nothing). Pieces of large ones are larger, as one of few columns reads little of each row.
constexpr int64_t kStagedTranspose = 64 << 10;
constexpr int64_t kLargeTranspose = 1 << 20;
constexpr int64_t kTransposePiece = 128 << 10;

}  // namespace

int64_t piece_of(int64_t payload_bytes) noexcept {
  return std::clamp(payload_bytes / kPieces, kLeastPiece, kMostPiece);
}

void write_token(Region* region, int64_t payload_bytes, const Peer& to) noexcept {
  region->token = {secret(),      own_index(),        0, offset_of(region),
                   payload_bytes, announce_token(to), {}};
}

void publish(Region* region, const Plan& plan, const void* buf, int64_t count) noexcept {
  const int64_t bytes = region->token.bytes;
  const bool crosses =
      bytes >= kStagedTranspose && pattern_of(plan.root(count)) == Pattern::kTransposed;
  const int64_t wanted = crosses && bytes >= kLargeTranspose ? kTransposePiece : piece_of(bytes);
  const int64_t piece = whole_granules(wanted, slice_granule(plan, count, wanted));
  const Staging aside = crosses ? borrow_staging(piece, true) : Staging();
  std::byte* const mem = address(buf, 0);
  for (int64_t begin = 0; begin < bytes; begin += piece) {
    const int64_t end = std::min(bytes, begin + piece);
    std::byte* const to = payload(region) + begin;
    move_part<true>(plan, mem, count, begin, end, aside ? aside.data() : to, end - begin);
    if (aside) std::memcpy(to, aside.data(), static_cast<size_t>(end - begin));
    region->published.store(end, std::memory_order_release);
  }
}

}  // namespace lacuna::direct
