// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/messages/receive.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/address.hpp"
#include "exec/exec.hpp"
#include "exec/part.hpp"
#include "interpose/device/moves.hpp"
#include "interpose/direct/arena/arena.hpp"
#include "interpose/direct/arena/distance.hpp"
#include "interpose/direct/arena/prefetch.hpp"
#include "interpose/direct/messages/arriving_message.hpp"
#include "interpose/direct/node/peers.hpp"
#include "interpose/direct/node/readable.hpp"
#include "interpose/direct/pipeline/pieces.hpp"
#include "interpose/direct/pipeline/pipeline.hpp"
#include "interpose/direct/rooms/waiter.hpp"
#include "interpose/library/device.hpp"
#include "interpose/library/from_bottom.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/policy/policy.hpp"
#include "interpose/types/packing.hpp"

namespace lacuna::direct {
namespace {

// Waits until more than `have` bytes are published. Returns how many, or -1: the sender has died.
// The sender is inside its send, so this is short unless it has lost its core.
int64_t wait_for_more(const Region& region, int64_t have, Waiter* waiter) noexcept {
  for (;;) {
    const int64_t published = region.published.load(std::memory_order_acquire);
    if (published > have) return published;
    if (!waiter->wait()) return -1;
  }
}

// Unpacks pieces as they are published. `put(begin, end, before)` moves bytes [begin, end) of the
// payload, which lie in the region at begin - before.
template <typename Put>
bool follow(Region* region, int64_t bytes, int64_t granule, Waiter* waiter,
            const Put& put) noexcept {
  for (int64_t done = 0; done < bytes;) {
    int64_t there = wait_for_more(*region, done, waiter);
    if (there < 0) return false;
    int64_t ring_end = region->ring_end.load(std::memory_order_relaxed);
    // How much to unpack at a time, at least; a ring may be too small for that.
    const int64_t turn = done < ring_end && granule > region->ring / 2 ? 1 : granule;
    if (there < bytes && there / turn * turn <= done) {
      there = wait_for_more(*region, std::min(bytes, done + turn) - 1, waiter);
      if (there < 0) return false;
      ring_end = region->ring_end.load(std::memory_order_relaxed);
    }
    there = there < bytes ? there / turn * turn : bytes;
    if (done < ring_end) {
      const int64_t before = done / region->ring * region->ring;
      there = std::min({there, ring_end, before + region->ring});
      put(done, there, before);
      region->consumed.store(there, std::memory_order_release);
    } else {
      put(done, there, 0);
    }
    done = there;
    waiter->reset();
  }
  return true;
}

// Lets the library pack (or unpack) `count` elements of a receive from `first` on, in calls whose
// counts fit an int.
template <bool kPack>
int move_by_library(const Incoming& incoming, int64_t first, int64_t count, int64_t extent,
                    std::byte* packed) noexcept {
  constexpr int64_t kMostBytes = int64_t{1} << 30;
  const Next& next = next_functions();
  const MPI_Comm self = runtime().probe_comm;
  const int64_t size = incoming.bytes / incoming.count;
  const int64_t most = size <= kMostBytes ? kMostBytes / size : 1;
  if (!fits_int(size)) return MPI_ERR_OTHER;
  while (count > 0) {
    const PackedFrom from(address(incoming.buf, first * extent), incoming.type.handle());
    const auto now = static_cast<int>(std::min(count, most));
    const auto bytes = static_cast<int>(now * size);
    int position = 0;
    const int code =
        kPack ? next.MPI_Pack(from.mem(), now, from.type(), packed, bytes, &position, self)
              : next.MPI_Unpack(packed, bytes, &position, from.mem(), now, from.type(), self);
    if (code != MPI_SUCCESS) return code;
    if (position != bytes) return MPI_ERR_OTHER;
    first += now;
    count -= now;
    packed += bytes;
  }
  return MPI_SUCCESS;
}

const void* first_byte(const Incoming& incoming) noexcept {
  return incoming.plan == nullptr ? dense(incoming)
                                  : address(incoming.buf, incoming.plan->offset());
}

}  // namespace

// Not by a message to this rank itself: MPICH 4.0.2 does not receive more than 8 KiB into pair
// types (policy.cpp).
int unpack_by_library(const std::byte* data, int64_t bytes, const Incoming& incoming) noexcept {
  if (incoming.account.on_device) {
    return unpack_for(incoming.account, *incoming.plan, data, bytes, incoming.count, incoming.buf)
               ? MPI_SUCCESS
               : MPI_ERR_OTHER;
  }
  MPI_Count lb = 0;
  MPI_Count extent = 0;
  if (next_functions().MPI_Type_get_extent_x(incoming.type.handle(), &lb, &extent) != MPI_SUCCESS)
    return MPI_ERR_OTHER;
  const int64_t size = incoming.bytes / incoming.count;
  const int64_t whole = bytes / size;
  const int64_t rest = bytes % size;
  auto* const packed = const_cast<std::byte*>(data);
  const int code = move_by_library<false>(incoming, 0, whole, extent, packed);
  if (code != MPI_SUCCESS || rest == 0) return code;
  // A part of an element: its other bytes must stay as they are.
  const Staging last = need_staging(size, false);
  if (!last || move_by_library<true>(incoming, whole, 1, extent, last.data()) != MPI_SUCCESS)
    return MPI_ERR_OTHER;
  std::memcpy(last.data(), data + whole * size, static_cast<size_t>(rest));
  return move_by_library<false>(incoming, whole, 1, extent, last.data());
}

bool pack_by_library(const Incoming& incoming, int64_t count, std::byte* packed) noexcept {
  if (incoming.account.on_device)
    return pack_for(incoming.account, *incoming.plan, incoming.buf, count, packed);
  MPI_Count lb = 0;
  MPI_Count extent = 0;
  return next_functions().MPI_Type_get_extent_x(incoming.type.handle(), &lb, &extent) ==
             MPI_SUCCESS &&
         move_by_library<true>(incoming, 0, count, extent, packed) == MPI_SUCCESS;
}

// Types with gaps are left to the library, as are types that could not be decoded.
bool measure(Incoming* incoming) noexcept {
  const Next& next = next_functions();
  MPI_Count size = 0;
  MPI_Count lb = 0;
  MPI_Count extent = 0;
  if (next.MPI_Type_size_x(incoming->type.handle(), &size) != MPI_SUCCESS ||
      next.MPI_Type_get_extent_x(incoming->type.handle(), &lb, &extent) != MPI_SUCCESS ||
      __builtin_mul_overflow(static_cast<int64_t>(incoming->count), static_cast<int64_t>(size),
                             &incoming->bytes)) {
    return false;
  }
  incoming->by_library = incoming->by_library || size != extent;
  return true;
}

bool has_room_for_pieces(Incoming* incoming) noexcept {
  const int64_t least = runtime().always ? 0 : kLeastPipelined;
  return (incoming->bytes >= 0 || measure(incoming)) && incoming->bytes >= least;
}

namespace {

// How many elements a token fills, the last one perhaps in part. The receive has at least as many.
int64_t elements_of_token(const Incoming& incoming) noexcept {
  const int64_t size = incoming.bytes / incoming.count;
  return (kTokenBytes + size - 1) / size;
}

bool read_by_library(const Incoming& incoming, Token* token) noexcept {
  const int64_t count = elements_of_token(incoming);
  Staging packed = need_staging(incoming.bytes / incoming.count * count, false);
  if (!packed || !pack_by_library(incoming, count, packed.data())) return false;
  packed.wipe_at_end(kTokenBytes);  // a call that does not wait may leave the message incomplete
  std::memcpy(token, packed.data(), sizeof(*token));
  return true;
}

}  // namespace

bool begins_with_secret(const std::byte* packed) noexcept {
  static_assert(offsetof(Token, secret) == 0);
  return std::memcmp(packed, &secret(), sizeof(Secret)) == 0;
}

namespace {

Region* region_of(const Token& token) noexcept {
  return enter_region(peer_at(token.sender)->arena, token.offset, 0);
}

// Checks all fields: it may be an old copy of a token that was overwritten in part.
bool is_token(const Token& token) noexcept {
  if (token.secret != secret()) return false;
  if (is_pipelined(token)) return is_expected(token);
  if (token.id >> kReceiverShift != own_index()) return false;
  const Peer* peer = peer_at(token.sender);
  constexpr auto kHead = static_cast<int64_t>(sizeof(Region));
  return peer != nullptr && token.offset >= kFrontBytes && token.offset % kLine == 0 &&
         token.offset < peer->arena.bytes - kHead && token.bytes > 0 &&
         token.bytes <= peer->arena.bytes - kHead - token.offset;
}

// Old copies of tokens stay in memory, and may be sent by programs as data. A token is outstanding
// if its region still has its id and has not been marked done.
bool is_outstanding(const Region& region, const Token& token) noexcept {
  return region.done.load(std::memory_order_acquire) == 0 &&
         region.id.load(std::memory_order_acquire) == token.id;
}

}  // namespace

bool is_outstanding(const Token& token) noexcept {
  if (!is_token(token)) return false;
  if (is_pipelined(token)) return true;
  const Region* const region = region_of(token);
  return region != nullptr && is_outstanding(*region, token);
}

namespace {

// Whether the first `bytes` of a receive's data, in `count` elements, can be read. Gaps need not be
// readable: a program may have protected the pages there.
bool are_readable(const Incoming& incoming, int64_t count, int64_t bytes) noexcept try {
  const Plan& plan = *incoming.plan;
  const void* const buf = incoming.buf;
  const int64_t size = incoming.bytes / incoming.count;
  const DataSpan span = data_span(plan.type(), count);
  if (is_readable(address(buf, span.low), span.bytes())) return true;
  bool all = true;
  for (int64_t i = 0; all && i < count; ++i) {
    const int64_t left = bytes - i * size;
    for_each_run(plan.layout().element, [&](int64_t at, int64_t packed, int64_t run) {
      all = all && (packed >= left || is_readable(address(buf, i * plan.extent() + at),
                                                  std::min(run, left - packed)));
    });
  }
  return all;
} catch (const std::bad_alloc&) {
  return false;
}

// Whether the receive has a readable buffer: one with MPI_PROC_NULL as source, for example, need
// not have one.
bool may_be_read(Incoming& incoming) noexcept {
  MPI_Count lb = 0;
  MPI_Count extent = 0;
  if ((incoming.bytes < 0 && !measure(&incoming)) || incoming.bytes < kTokenBytes) return false;
  if (may_be_on_device(first_byte(incoming))) return true;
  if (incoming.plan != nullptr)
    return are_readable(incoming, elements_of_token(incoming), kTokenBytes);
  return next_functions().MPI_Type_get_extent_x(incoming.type.handle(), &lb, &extent) ==
             MPI_SUCCESS &&
         is_readable(first_byte(incoming), elements_of_token(incoming) * extent);
}

}  // namespace

bool read_token(Incoming& incoming, Token* token) noexcept {
  if (incoming.by_content && !may_be_read(incoming)) return false;
  if (incoming.whole) {
    if (incoming.bytes > 0 && !incoming.by_library)
      incoming.by_library = may_be_on_device(first_byte(incoming));
    std::memcpy(token, incoming.whole.data(), sizeof(*token));
    return is_token(*token);
  }
  if (incoming.staging) {
    if (incoming.bytes < kTokenBytes) return false;
    if (!incoming.account.on_device)
      std::memcpy(token, incoming.staging.data(), sizeof(*token));
    else if (!device::read_packed(incoming.staging.data(), sizeof(*token), token))
      return false;
    return is_token(*token);
  }
  if (incoming.bytes < 0 && !measure(&incoming)) return false;
  if (incoming.bytes < kTokenBytes) return false;
  if (!incoming.by_library) incoming.by_library = may_be_on_device(first_byte(incoming));
  if (incoming.by_library) return read_by_library(incoming, token) && is_token(*token);
  if (incoming.plan == nullptr) {
    std::memcpy(token, dense(incoming), sizeof(*token));
  } else {
    pack_slice(*incoming.plan, incoming.buf, incoming.count, 0, kTokenBytes, token);
  }
  return is_token(*token);
}

bool finds_token(Incoming& incoming) noexcept {
  Token token;
  return may_be_read(incoming) && read_token(incoming, &token) && is_outstanding(token);
}

bool can_move_alone(Incoming* incoming) noexcept {
  if ((incoming->bytes < 0 && !measure(incoming)) || incoming->bytes == 0) return false;
  incoming->by_library = incoming->by_library || may_be_on_device(first_byte(*incoming));
  if (incoming->by_library) return false;
  if (incoming->plan == nullptr) return is_readable(dense(*incoming), incoming->bytes);
  return are_readable(*incoming, incoming->count, incoming->bytes);
}

bool move_payload_alone(Incoming& incoming) noexcept {
  Token token;
  int code = MPI_SUCCESS;
  return incoming.bytes >= kTokenBytes && read_token(incoming, &token) &&
         move_payload(token, incoming, nullptr, &code);
}

void set_bytes(MPI_Status* status, int64_t bytes) noexcept {
  next_functions().MPI_Status_set_elements_x(status, runtime().byte, bytes);
}

void set_landed(int64_t bytes, Incoming& incoming, MPI_Status* status) noexcept {
  incoming.payload_bytes =
      counts_all_of_truncated(runtime().flavour) ? bytes : std::min(bytes, incoming.bytes);
  if (status != nullptr) set_bytes(status, incoming.payload_bytes);
}

void deliver_truncated(Incoming& incoming, MPI_Status* status) noexcept {
  const std::byte* data = incoming.whole.data();
  const int64_t bytes = incoming.bytes;
  if (bytes > 0 && incoming.by_library) {
    unpack_by_library(data, bytes, incoming);
  } else if (bytes > 0 && incoming.plan == nullptr) {
    std::memcpy(dense(incoming), data, static_cast<size_t>(bytes));
  } else if (bytes > 0) {
    move_part<false>(*incoming.plan, address(incoming.buf, 0), incoming.count, 0, bytes,
                     const_cast<std::byte*>(data), bytes);
  }
  set_landed(kTokenBytes, incoming, status);
}

bool move_payload(const Token& token, Incoming& incoming, MPI_Status* status, int* code) noexcept {
  if (is_pipelined(token)) {
    if (!is_expected(token)) return false;
    set_landed(token.bytes, incoming, status);
    *code = receive_pieces(token, incoming);
    return true;
  }
  const Peer& peer = *peer_at(token.sender);
  Region* const region = region_of(token);
  if (region == nullptr) {  // the system refuses access: the payload is lost, and not the token
    set_landed(0, incoming, status);
    *code = MPI_ERR_OTHER;
    return true;
  }
  // First, as the measurement needs a line that this core has not read yet.
  const Distance news = sample_distance(*region, token.sender);
  if (!is_outstanding(*region, token)) return false;
  std::byte* data = payload(region);
  const bool is_entered = enter_region(peer.arena, token.offset, token.bytes) != nullptr;
  const int64_t bytes = std::min(token.bytes, incoming.bytes);
  set_landed(token.bytes, incoming, status);
  const void* const on_device = incoming.account.on_device ? first_byte(incoming) : nullptr;
  std::optional<device::WindowUse> window_use;
  if (is_entered && region->window != 0) {
    window_use.emplace();
    data = device::find_in_window(token.sender, region->window, data, token.bytes, on_device);
  } else if (on_device != nullptr) {
    device::received_from(token.sender, on_device);
  }
  // When all have arrived, former windows may be given back that no thread is in.
  peer.arrived.fetch_add(1, std::memory_order_relaxed);
  Waiter waiter(Wait::kPieces, peer);
  bool ok = true;
  *code = token.bytes > incoming.bytes ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
  if (!is_entered || data == nullptr) {
    ok = false;
  } else if (bytes == 0) {
    // Nothing fits.
  } else if (incoming.by_library) {
    // `consumed` is never updated here, so the sender leaves the ring and overwrites nothing.
    ok = wait_for_more(*region, bytes - 1, &waiter) >= 0;
    if (ok && unpack_by_library(data, bytes, incoming) != MPI_SUCCESS) *code = MPI_ERR_OTHER;
  } else if (incoming.plan == nullptr) {
    ok = follow(region, bytes, 1, &waiter, [&](int64_t begin, int64_t end, int64_t before) {
      std::memcpy(dense(incoming) + begin, data + begin - before, static_cast<size_t>(end - begin));
    });
  } else {
    const Plan& plan = *incoming.plan;
    const int64_t granule = slice_granule(plan, incoming.count, token.bytes / 8);
    std::byte* const mem = address(incoming.buf, 0);
    const bool prefetches = should_prefetch(plan, token.bytes) &&
                            distance_from(token.sender, token.id) == Distance::kFar;
    ok = follow(region, bytes, granule, &waiter, [&](int64_t begin, int64_t end, int64_t before) {
      if (prefetches) prefetch_lines(data + begin - before, end - begin);
      move_part<false>(plan, mem, incoming.count, begin, end, data + begin - before, bytes);
    });
  }
  // The sender is still packing what does not fit: free the region only afterwards, as another of
  // its threads may reserve it.
  if (bytes < token.bytes) wait_for_more(*region, token.bytes - 1, &waiter);
  window_use.reset();
  release(region, done_with(news));
  if (!ok) *code = MPI_ERR_OTHER;
  return true;
}

}  // namespace lacuna::direct
