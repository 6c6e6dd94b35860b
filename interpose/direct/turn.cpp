// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/turn.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/address.hpp"
#include "exec/copy.hpp"
#include "exec/exec.hpp"
#include "exec/part.hpp"
#include "interpose/device.hpp"
#include "interpose/direct/arena.hpp"
#include "interpose/direct/peers.hpp"
#include "interpose/log.hpp"
#include "interpose/packing.hpp"

namespace lacuna::direct {
namespace {

// As in send.cpp; a window has room for this many pieces.
constexpr int64_t kLeastPiece = 4 << 10;
constexpr int64_t kMostPiece = 64 << 10;
constexpr int64_t kPieces = 8;
constexpr int64_t kPiecesInWindow = 4;

// The sender's half and the receiver's, on lines of their own.
struct Lane {
  alignas(kLine) std::atomic<int64_t> published;
  int64_t bytes;   // of the whole lot
  int64_t window;  // whole pieces, or the lot
  int64_t offset;  // of the window, from the region's payload
  alignas(kLine) std::atomic<int64_t> consumed;
};

// What a region's payload begins with.
struct Hall {
  alignas(kLine) std::atomic<uint32_t> readers;  // that are not through yet
};

Lane* lanes_of(Region* region) noexcept {
  return reinterpret_cast<Lane*>(payload(region) + sizeof(Hall));
}

int64_t up_to_line(int64_t bytes) noexcept { return (bytes + kLine - 1) / kLine * kLine; }

template <bool kPack>
void move(const Lot& lot, int64_t begin, int64_t end, std::byte* packed, int64_t message) noexcept {
  const Stopwatch watch(lot.account, kPack ? Way::kPack : Way::kUnpack);
  if (lot.plan != nullptr) {
    move_part<kPack>(*lot.plan, lot.memory, lot.count, begin, end, packed, message);
  } else if (kPack) {
    std::memcpy(packed, lot.memory + begin, static_cast<size_t>(end - begin));
  } else {
    std::memcpy(lot.memory + begin, packed, static_cast<size_t>(end - begin));
  }
}

// Pieces of a lot that are worth a turn of the loop.
int64_t granule_of(const Lot& lot, int64_t wanted) noexcept {
  return lot.plan != nullptr ? std::max<int64_t>(1, slice_granule(*lot.plan, lot.count, wanted))
                             : kLine;
}

// What goes to one rank.
struct Outflow {
  const Lot* lot = nullptr;
  Lane* lane = nullptr;
  std::byte* window = nullptr;
  int64_t piece = 0;
  int64_t sent = 0;

  bool over() const noexcept { return sent == lot->bytes; }
  // Whether a piece could go.
  bool step() noexcept {
    const int64_t bytes = std::min(piece, lot->bytes - sent);
    if (sent + bytes - lane->consumed.load(std::memory_order_acquire) > lane->window) return false;
    move<true>(*lot, sent, sent + bytes, window + sent % lane->window, bytes);
    sent += bytes;
    lane->published.store(sent, std::memory_order_release);
    return true;
  }
};

// What comes from one rank. What it sends beyond the room that there is for it is let go.
struct Inflow {
  const Lot* lot = nullptr;
  Region* region = nullptr;
  Lane* lane = nullptr;
  const std::byte* window = nullptr;
  int64_t granule = 0;
  int64_t got = 0;

  bool over() const noexcept { return got == lane->bytes; }
  bool step() noexcept {
    const int64_t there = lane->published.load(std::memory_order_acquire);
    if (there == got) return false;
    // Not across the window's end, and what is left of a granule later, if it is worth it.
    const int64_t wrap = (got / lane->window + 1) * lane->window;
    int64_t end = std::min(there, wrap);
    if (end < lane->bytes && end < wrap && end / granule * granule > got)
      end = end / granule * granule;
    const int64_t fits = std::min(end, lot->bytes);
    if (fits > got) {
      move<false>(*lot, got, fits, const_cast<std::byte*>(window) + got % lane->window,
                  lane->bytes);
    }
    got = end;
    lane->consumed.store(got, std::memory_order_release);
    return true;
  }
  void leave() noexcept {
    auto* hall = reinterpret_cast<Hall*>(payload(region));
    if (hall->readers.fetch_sub(1, std::memory_order_acq_rel) == 1) release(region);
  }
};

void copy_own(const Lot& from, const Lot& to) noexcept {
  if (from.bytes == 0) return;
  const Stopwatch watch(to.account, Way::kUnpack);
  if (from.plan != nullptr && to.plan != nullptr) {
    copy(*from.plan, from.memory, from.count, *to.plan, to.memory, to.count);
  } else if (from.plan != nullptr) {
    move_part<true>(*from.plan, from.memory, from.count, 0, from.bytes, to.memory, from.bytes);
  } else {
    move<false>(to, 0, to.bytes, from.memory, to.bytes);
  }
}

// One call of this rank's.
class Turn {
 public:
  Turn(Room* room, const Lots& out, const Lots& in) noexcept : room_(*room), out_(out), in_(in) {}

  // Room for everything that goes out. False: there is none.
  bool prepare() noexcept try {
    const size_t n = room_.members.size();
    outflows_.resize(n);
    inflows_.resize(n);
    int64_t bytes = static_cast<int64_t>(sizeof(Hall) + n * sizeof(Lane));
    std::vector<int64_t> offsets(n), windows(n);
    for (size_t i = 0; i < n; ++i) {
      if (i == room_.rank) continue;
      const Lot& lot = out_[i];
      const int64_t wanted = std::clamp(lot.bytes / kPieces, kLeastPiece, kMostPiece);
      const int64_t granule = granule_of(lot, wanted);
      outflows_[i].lot = &lot;
      outflows_[i].piece = (wanted + granule - 1) / granule * granule;
      windows[i] = std::min(outflows_[i].piece * kPiecesInWindow, std::max<int64_t>(lot.bytes, 1));
      offsets[i] = bytes;
      bytes += up_to_line(windows[i]);
    }
    region_ = reserve(bytes);
    if (region_ == nullptr) return false;
    new (payload(region_)) Hall{static_cast<uint32_t>(n - 1)};
    for (size_t i = 0; i < n; ++i) {
      Lane* lane = new (lanes_of(region_) + i) Lane;
      if (i == room_.rank) continue;
      lane->published.store(0, std::memory_order_relaxed);
      lane->consumed.store(0, std::memory_order_relaxed);
      lane->bytes = out_[i].bytes;
      lane->window = windows[i];
      lane->offset = offsets[i];
      outflows_[i].lane = lane;
      outflows_[i].window = payload(region_) + offsets[i];
    }
    if (n == 1) release(region_);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }

  Said said(bool wants) const noexcept {
    return {wants ? Vote::kWants : Vote::kYes, offset_of(region_)};
  }
  void give_up() noexcept { release(region_); }

  // An error class.
  int run() noexcept {
    const size_t n = room_.members.size();
    int error_class = MPI_SUCCESS;
    for (size_t i = 0; i < n; ++i) {
      if (i == room_.rank) continue;
      auto* region =
          reinterpret_cast<Region*>(peer_at(room_.members[i])->arena + room_.said[i].offset);
      Lane* lane = lanes_of(region) + room_.rank;
      inflows_[i] = {&in_[i],
                     region,
                     lane,
                     payload(region) + lane->offset,
                     granule_of(in_[i], std::min(lane->window, lane->bytes) / 2),
                     0};
      if (lane->bytes > in_[i].bytes) error_class = MPI_ERR_TRUNCATE;
    }
    Patience patience(room_);
    for (bool over = n == 1; !over;) {
      over = true;
      bool moved = false;
      // To the next rank first, from the one before first: so no two ranks begin with the same.
      for (size_t k = 1; k < n; ++k) {
        Outflow& outflow = outflows_[(room_.rank + k) % n];
        if (!outflow.over()) moved = outflow.step() || moved;
        Inflow& inflow = inflows_[(room_.rank + n - k) % n];
        if (!inflow.over()) moved = inflow.step() || moved;
        over = over && outflow.over() && inflow.over();
      }
      if (!own_done_) {  // while the others' first pieces are on their way
        copy_own(out_[room_.rank], in_[room_.rank]);
        own_done_ = true;
      }
      if (moved) {
        patience.reset();
      } else if (!over && !patience.wait()) {
        return MPI_ERR_OTHER;
      }
    }
    if (!own_done_) copy_own(out_[room_.rank], in_[room_.rank]);
    for (size_t i = 0; i < n; ++i) {
      if (i != room_.rank) inflows_[i].leave();
    }
    return error_class;
  }

 private:
  Room& room_;
  const Lots& out_;
  const Lots& in_;
  Region* region_ = nullptr;
  std::vector<Outflow> outflows_;
  std::vector<Inflow> inflows_;
  bool own_done_ = false;
};

}  // namespace

bool Lots::add(const void* place, MPI_Count count, MPI_Datatype datatype) noexcept try {
  Lot& lot = lots_.emplace_back();
  if (count < 0) return false;
  const TypeRecord* record = type_record(datatype);
  if (record == nullptr) return false;
  if (count == 0 || (record->size_bytes == 0 && record->note == Note::kEmpty)) return true;
  if (record->plan == nullptr && record->note != Note::kContiguous &&
      !record->has_packed_form.load(std::memory_order_acquire)) {
    return false;
  }
  const void* first = nullptr;
  if (!locate(place, count, *record, &lot.bytes, &first) || may_be_on_device(first)) return false;
  lot.plan = record->plan;
  lot.memory = address(const_cast<void*>(place), lot.plan != nullptr ? 0 : record->true_lb);
  lot.count = count;
  lot.account = account_of(*record);
  if (lot.plan == nullptr || (count == 1 && record->single_run)) return true;
  has_gaps_ = true;
  log_type(*record, Note::kDirect, lot.bytes);
  return true;
} catch (...) {
  return false;
}

bool take_turn(Room* room, bool willing, const Lots& out, const Lots& in,
               int* error_class) noexcept {
  const size_t n = room->members.size();
  Turn turn(room, out, in);
  const bool same =
      willing && out.size() == n && in.size() == n && out[room->rank].bytes == in[room->rank].bytes;
  const bool ready = same && turn.prepare();
  bool alive = true;
  if (!vote(room, ready ? turn.said(out.has_gaps() || in.has_gaps()) : Said{}, &alive)) {
    if (ready) turn.give_up();
    *error_class = MPI_ERR_OTHER;
    return !alive;
  }
  *error_class = turn.run();
  return true;
}

}  // namespace lacuna::direct
