// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/messages/send.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/address.hpp"
#include "exec/part.hpp"
#include "interpose/direct/arena/arena.hpp"
#include "interpose/direct/arena/distance.hpp"
#include "interpose/direct/arena/nontemporal_copy.hpp"
#include "interpose/direct/node/peers.hpp"
#include "interpose/memory/staging.hpp"
#include "plan/pattern.hpp"

namespace lacuna::direct {
namespace {

// Numbers for all constants here: docs/experiments/2026-11-27-direct-message-pieces.md.
//
// A transpose writes to many lines at once, none of which is in this core's cache. So it is packed
// into a buffer first, and copied from there line by line. Pieces of large transposes are larger,
// as a piece of few columns reads little of each row.
constexpr int64_t kStagedTranspose = 64 << 10;
constexpr int64_t kLargeTranspose = 1 << 20;
constexpr int64_t kTransposePiece = 128 << 10;

// A store fetches its line first, which waits if the other core is far and has just read it. On
// some CPUs the C library copies by string instructions, which write whole lines without fetching
// them. There data are packed into a buffer in L1, in blocks, and copied from there. If the
// distance is unknown, runs of kLongRun and more go straight, which saves a copy.
constexpr int64_t kLeastWholePiece = 4 << 10;
constexpr int64_t kMostWhole = 2 << 20;
constexpr int64_t kBlock = 16 << 10;
constexpr double kLongRun = 8 << 10;

// Messages of more than kMostWhole go through a ring as long as the receiver keeps up: a ring stays
// in the caches of both cores, where a whole region goes to DRAM and back
// (docs/experiments/2026-11-27-direct-message-ring.md).
constexpr int64_t kRing = 256 << 10;
constexpr int64_t kRingPiece = 32 << 10;
constexpr int64_t kLeastRounds = 4;  // pieces in a ring, at least

// Which copy into a ring is fastest depends on the CPU and on the distance, which changes if a
// guest is moved. So each message tries all three from its second round on, and again every
// kRoundsOfChoice rounds.
constexpr int64_t kRoundsOfChoice = 64;

// Whether to pack into a buffer and copy from there, instead of straight into the region: between
// far cores, for large messages (where the ring tries it), and where the distance is unknown and
// runs are short. Between close cores straight is as fast or faster.
bool may_go_aside(const Plan& plan, bool is_large, Distance distance) noexcept {
  if (!depends_on_distance(plan)) return false;
  return is_large || distance == Distance::kFar ||
         (distance == Distance::kUnknown && plan.mean_run_bytes() < kLongRun);
}

// Between far cores each piece costs more, so messages up to kMostInFewer have fewer.
constexpr int64_t kFewerPieces = 4;
constexpr int64_t kMostInFewer = 96 << 10;

// How a piece gets into the region: packed there, or packed into a buffer and copied, by the C
// library or by non-temporal stores. Between far cores these are as fast as string instructions on
// Zen 5, and faster on Zen 4, where string instructions read the lines. Between close cores they
// are slower (docs/experiments/2026-11-27-direct-message-ring.md).
enum class Way { kStraight, kCopied, kStreamed };

// How a payload is packed into its region.
struct Packing {
  int64_t piece;  // bytes between two updates of `published`
  int64_t block;  // bytes of the buffer; 0: none
  Way way;        // in a ring all ways are tried
};

Packing packing_of(const Plan& plan, int64_t count, int64_t bytes, Distance distance) noexcept {
  const auto whole = [&](int64_t wanted) {
    return whole_granules(wanted, slice_granule(plan, count, wanted));
  };
  const bool is_far = distance == Distance::kFar && depends_on_distance(plan);
  const Way copied = is_far ? Way::kStreamed : Way::kCopied;
  if (bytes >= kStagedTranspose && pattern_of(plan.root(count)) == Pattern::kTransposed) {
    const int64_t piece = whole(bytes >= kLargeTranspose ? kTransposePiece : piece_of(bytes));
    return {piece, piece, copied};
  }
  const bool is_large = bytes > kMostWhole;
  if (bytes < kLeastWholePiece || !may_go_aside(plan, is_large, distance))
    return {whole(is_large ? kRingPiece : piece_of(bytes)), 0, Way::kStraight};
  if (distance == Distance::kFar && bytes <= kMostInFewer) {
    const int64_t piece = whole(std::max(bytes / kFewerPieces, kLeastWholePiece));
    return {piece, piece, copied};
  }
  const int64_t piece = whole(is_large ? kRingPiece : std::max(piece_of(bytes), kLeastWholePiece));
  return {piece, piece <= kBlock ? piece : std::min(piece, whole(kBlock)),
          is_large && !is_far ? Way::kStraight : copied};
}

// Bytes of the ring. 0: none, as the message is small, or its pieces are large (transposes).
int64_t ring_of(const Packing& packing, int64_t bytes) noexcept {
  return bytes > kMostWhole && packing.piece * kLeastRounds <= kRing
             ? kRing / packing.piece * packing.piece
             : 0;
}

// Chooses the way of each piece that goes through a ring. `done`: where the piece begins.
class Trial {
 public:
  explicit Trial(int64_t ring) noexcept : ring_(ring) {}

  Way way(int64_t done) noexcept {
    constexpr Way kTried[] = {Way::kStraight, Way::kCopied, Way::kStreamed};
    constexpr auto kTrials = static_cast<int64_t>(std::size(kTried));
    // Not in the first round, in which nothing waits for the receiver.
    const int64_t trial = done / ring_ % kRoundsOfChoice - 1;
    if (done % ring_ != 0 || trial < 0 || trial > kTrials) return way_;
    const auto now = Clock::now();
    if (trial > 0 && (trial == 1 || now - began_ < least_)) {
      least_ = now - began_;
      best_ = way_;
    }
    began_ = now;
    way_ = trial < kTrials ? kTried[trial] : best_;
    return way_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  int64_t ring_;
  Way way_ = Way::kStraight;
  Way best_ = Way::kStraight;
  Clock::time_point began_;
  Clock::duration least_{};
};

// Whether the receiver has consumed so many bytes. Gives up after a bounded spin: the receiver may
// not be in its receive yet (two ranks that send to each other first), or may have lost its core.
// The spin is a fraction of what such a message takes.
bool is_through(const Region& region, int64_t bytes) noexcept {
  constexpr int kSpinsToBegin = 500;
  constexpr int kSpins = 5000;
  const int most = region.consumed.load(std::memory_order_acquire) > 0 ? kSpins : kSpinsToBegin;
  for (int i = 0; i < most; ++i) {
    if (region.consumed.load(std::memory_order_acquire) >= bytes) return true;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  return false;
}

}  // namespace

void write_token(Region* region, int64_t payload_bytes, const Peer& to) noexcept {
  const uint64_t id = announce_token(to);
  region->token = {secret(), own_index(), 0, offset_of(region), payload_bytes, id, 0, {}};
  region->id.store(id, std::memory_order_release);
}

void publish(Region* region, const Plan& plan, const void* buf, int64_t count,
             bool is_out) noexcept {
  const int64_t bytes = region->token.bytes;
  const Packing packing = packing_of(plan, count, bytes, distance_to(region->token.id));
  int64_t ring = is_out ? ring_of(packing, bytes) : 0;
  if (ring > 0) {
    region->ring = ring;
    region->ring_end.store(bytes, std::memory_order_relaxed);
  }
  const bool goes_aside = packing.way != Way::kStraight || (ring > 0 && packing.block > 0);
  const Staging side =
      goes_aside ? borrow_staging(std::min(packing.block, bytes), true) : Staging();
  Trial trial(ring);
  std::byte* const mem = address(buf, 0);
  for (int64_t done = 0; done < bytes;) {
    const int64_t end = std::min(bytes, done + packing.piece);
    if (ring > 0 && !is_through(*region, end - ring)) {
      region->ring_end.store(done, std::memory_order_relaxed);
      ring = 0;
    }
    std::byte* const start = payload(region) - (ring > 0 ? done / ring * ring : 0);
    const Way way = !side ? Way::kStraight : ring > 0 ? trial.way(done) : packing.way;
    const int64_t block = way != Way::kStraight ? packing.block : end - done;
    while (done < end) {
      const int64_t begin = std::exchange(done, std::min(end, done + block));
      std::byte* const to = start + begin;
      move_part<true>(plan, mem, count, begin, done, way != Way::kStraight ? side.data() : to,
                      done - begin);
      if (way == Way::kCopied) std::memcpy(to, side.data(), static_cast<size_t>(done - begin));
      if (way == Way::kStreamed) stream_copy(to, side.data(), done - begin);
    }
    region->published.store(end, std::memory_order_release);
  }
}

}  // namespace lacuna::direct
