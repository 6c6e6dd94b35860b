// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/messages/send.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/address.hpp"
#include "exec/part.hpp"
#include "interpose/direct/node/arena.hpp"
#include "interpose/direct/node/distance.hpp"
#include "interpose/direct/node/nontemporal_copy.hpp"
#include "interpose/direct/node/peers.hpp"
#include "interpose/library/staging.hpp"
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

// A store asks for its line first, which is what both cores have just passed to each other, and
// waits for it where they are far apart. String instructions, by which the C library copies on some
// CPUs, write whole lines without asking. There all patterns are packed to the side, in blocks that
// stay in the first level, and copied from there. Microseconds of a message, stores / copies,
// between two cores of Zen 5 that are far apart (a word takes 270 ns from one to the other) and, at
// other times, close (57 ns): runs of 512 bytes, 16 KiB 3.4 / 2.7, 0.9 / 0.9; 64 KiB 9.1 / 5.4, 2.0
// / 2.0; 256 KiB 30 / 17, 7.1 / 7.1; 1 MiB 107 / 59, 28 / 29; 4 MiB 365 / 420, 380 / 410. With 2
// pieces from afar 2.1, 4.8, 14 and 49, but nothing overlaps where memory is slow. Asking for the
// lines before the stores, or taking the same region again, gained nothing. Runs of 4 KiB, by
// stores or, run by run, straight by the C library / to the side first: from afar 16 KiB 4.0 / 2.5,
// 64 KiB 9.4 / 5.4, 256 KiB 18.9 / 13.6, 1 MiB 67 / 49, from close by 256 KiB 6.3 / 6.1, 1 MiB 24.8
// / 24.7. Longer ones go straight, which leaves one copy: runs of 16 KiB, 256 KiB 11.9 / 13.5 from
// afar, of 8 KiB 5.3 / 6.0 from close by.
constexpr int64_t kLeastWholePiece = 4 << 10;
constexpr int64_t kMostWhole = 2 << 20;
constexpr int64_t kBlock = 16 << 10;
constexpr double kRunOfItsOwn = 8 << 10;

// Larger ones go through a ring as long as the receiver follows: it stays in the caches of both,
// where a whole region would be written to memory and read from there. Microseconds of 4 and 16 MiB
// with Open MPI alone / whole regions / rings of 64, 128, 256 and 512 KiB, of 4 to 8 pieces,
// between close cores of Zen 5 (medians of several jobs; a guest of which others share the caches):
// runs of 512 bytes 240 / 314 / -, 219, 232, 264 and 1460 / 2290 / 1490, 1390, 1290, 1100; doubles
// at 16 bytes 440 / 560 / 390, 390, 343, 272 and 2600 / 3070 / 2220, 2430, 2330, 1820. From afar,
// 512 KiB: 820 / 340 / 600 and 3130 / 1400 / 2500.
constexpr int64_t kRing = 256 << 10;
constexpr int64_t kRingPiece = 32 << 10;
constexpr int64_t kLeastRounds = 4;  // pieces of it

// By string instructions a ring takes up to 1.2 times as long from close by, and from afar two
// thirds (by stores / so / the one that the clock prefers: runs of 512 bytes, 4 MiB 594 / 540 /
// 373, 16 MiB 2430 / 1570 / 1570; doubles at 16 bytes, 630 / 450 / 430 and 3080 / 2390 / 2100; from
// close by, runs of 512 bytes, 4 MiB 197 / 196 / 200, 16 MiB 1090 / 1240 / 1090; doubles, 267 / 320
// / 259 and 1720 / 1800 / 1690). Past the caches Zen 4 takes a third from afar (16 MiB 7600 /
// 2500). Guests are moved while they run: so each message tries all three, from the second time
// round on, and again after so many rounds.
constexpr int64_t kRoundsOfChoice = 64;

// Whether what is packed to the side and copied from there may be sooner in the region. From afar,
// and where a ring tries it, also long runs.
//
// From close by, messages go straight. Microseconds by the side / straight, Zen 5, rounds of 1 MiB
// (arena.cpp): 12 KiB in runs of 768 bytes 0.76 / 0.72, 16 KiB of 40 bytes 1.33 / 1.26, 48 KiB of
// 1.5 KiB 1.74 / 1.68, 104 KiB of 12 bytes 7.4 / 7.0, 191 KiB 9.6 / 8.8, 64 KiB of 1 KiB 2.18 /
// 2.23, 89 KiB of 92 bytes 3.3 / 3.6, 96 KiB of 3 KiB 2.8 / 2.95, and from afar 12 KiB of 768 bytes
// 2.0 / 3.2, 42 KiB of 44 bytes 4.8 / 7.1, 104 KiB of 11 bytes 11 / 17. Zen 4, from close by,
// rounds of 2 MiB, whose lines come sooner: 64 KiB of 1 KiB 3.2 / 2.8, 256 KiB of 2 KiB 11.5 / 8.7.
// There, to ask for the lines of the next piece, to be written, before a piece is packed gained
// nothing of short runs and lost 1.15 of long ones. Zen 3, with Open MPI alone in the same job: 1
// MiB in runs of 40 bytes 239 / 104, 137 and 108, of 4 KiB 96 / 91, 80 and 114 (Zen 5 28 / 29).
bool may_go_aside(const Plan& plan, bool is_large, Distance distance) noexcept {
  if (!minds_distance(plan)) return false;
  return is_large || distance == Distance::kFar ||
         (distance == Distance::kUnknown && plan.mean_run_bytes() < kRunOfItsOwn);
}

// From afar, each piece takes a line forth and back more: up to this there are fewer. Microseconds
// with 8 / 4 / 3 / 2 pieces, lines asked for by the receiver: 16 KiB 3.57 / 3.55, 3.16, 3.39; 26
// KiB 4.8 / 4.2, 4.2, 4.3; 42 KiB 6.6 / 5.1, 5.0, 5.0; 64 KiB 6.4 / 5.8, 5.9, 6.4; 75 KiB 8.9
// / 7.7, 7.5, 7.6; 104 KiB 13.4 / 14.4, 14.9, 17. From close by 4 are as good, and 1.1 times slower
// from 64 KiB on. A first piece of 2 or 4 KiB, and each twice the one before, gained nothing.
constexpr int64_t kFewerPieces = 4;
constexpr int64_t kMostInFewer = 96 << 10;

// How a piece gets into the region: packed there, or to the side and then copied, by the C library
// or past the caches.
//
// From afar the copies go past the caches: Zen 5 is as quick so, and Zen 4, whose string
// instructions ask for lines, too, several times quicker. Microseconds of a message by string
// instructions / so, with Open MPI alone, where a word takes 1.5 us: runs of 512 bytes, 16 KiB 7.0
// / 3.8, 10.5, 64 KiB 23 / 8.7, 37, 256 KiB 94 / 26, 136, 1 MiB 345 / 133, 530, 4 MiB 1870 / 720,
// 1880; doubles at 16 bytes, 64 KiB 22 / 10, 35, 1 MiB 270 / 102, 540. From close by they take up
// to twice as long. Long runs, too, straight / so, with Intel MPI alone, where a word takes 300 ns:
// 16 KiB, 256 KiB 125 / 22, 27, 4 MiB 2050 / 770, 2100, 16 MiB 8200 / 2300, 9200; 32 KiB, 1 MiB 400
// / 80, 530; and in a ring from close by, as the clock prefers, runs of 8 KiB, 4 MiB 660 / 520,
// 760; of 16 KiB 700 / 560, 680; of 32 KiB 630 / 525, 640.
enum class Way { kStraight, kCopied, kStreamed };

// How a payload goes into its region.
struct Packing {
  int64_t piece;  // is published at once
  int64_t block;  // is packed to the side at once; 0: nothing is
  Way way;        // but in a ring, which tries all
};

Packing packing_of(const Plan& plan, int64_t count, int64_t bytes, Distance distance) noexcept {
  const auto whole = [&](int64_t wanted) {
    return whole_granules(wanted, slice_granule(plan, count, wanted));
  };
  const bool is_far = distance == Distance::kFar && minds_distance(plan);
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

// Bytes of the ring; 0: none, as for transposes, whose pieces are too large.
int64_t ring_of(const Packing& packing, int64_t bytes) noexcept {
  return bytes > kMostWhole && packing.piece * kLeastRounds <= kRing
             ? kRing / packing.piece * packing.piece
             : 0;
}

// Which way pieces go through a ring, each from `done` on, in their order.
class Trial {
 public:
  explicit Trial(int64_t ring) noexcept : ring_(ring) {}

  Way way(int64_t done) noexcept {
    constexpr Way kTried[] = {Way::kStraight, Way::kCopied, Way::kStreamed};
    constexpr auto kTrials = static_cast<int64_t>(std::size(kTried));
    // The first time round, the ring is empty.
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

// Whether the receiver has been through so much. Not if it is elsewhere, as where two ranks send to
// each other before they receive: who waits has begun by the time that the ring is full. Nor if it
// has lost its core; it is waited for no longer than a fraction of what such a message takes.
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

int64_t piece_of(int64_t payload_bytes) noexcept {
  return std::clamp(payload_bytes / kPieces, kLeastPiece, kMostPiece);
}

void write_token(Region* region, int64_t payload_bytes, const Peer& to) noexcept {
  const uint64_t id = announce_token(to);
  region->token = {secret(), own_index(), 0, offset_of(region), payload_bytes, id, {}};
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
