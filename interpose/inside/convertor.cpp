// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/inside/convertor.hpp"

#include <algorithm>
#include <atomic>

#include "plan/plan.hpp"

namespace lacuna::inside {

constinit Convertors g_convertors;
constinit std::atomic<Complaint> g_complaint{nullptr};

namespace {

constexpr ConvertorLayout kLayout4And5{
    .flags = 20,
    .local_size = 24,
    .desc = 40,
    .count = 56,
    .base = 72,
    .advance = 88,
    .converted = 120,
    .is_sending = 0x00040000,
    .is_receiving = 0x00020000,
    .is_homogeneous = 0x00080000,
    .is_completed = 0x08000000,
    // sender converts, contiguous, checksum, memory of a device (three bits)
    .is_left_to_library = 0x00010000 | 0x00100000 | 0x00200000 | 0x00C00000 | 0x10000000,
};

struct alignas(64) Counter {
  std::atomic<int64_t> fragments{0};
};
constinit Counter g_counters[2];

constexpr size_t index(Direction way) noexcept { return static_cast<size_t>(way); }

void count_fragment(Direction way) noexcept {
  std::atomic<int64_t>& number = g_counters[index(way)].fragments;
  number.store(number.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

// Once a convertor has been taken.
const ConvertorLayout& layout() noexcept {
  return *g_convertors.layout.load(std::memory_order_acquire);
}

Message message_of(const Convertor& convertor, const MovedType& type) noexcept {
  return {&type, convertor.base(), static_cast<int64_t>(convertor.count()),
          static_cast<int64_t>(convertor.local_size())};
}

// How much of a fragment to send: up to the end of a basic element, as the library does. Receivers
// must take any other end, too, as contiguous data end anywhere; but Open MPI 5.0 then loses bytes
// of some types.
int64_t up_to_element(int64_t begin, int64_t bytes, int64_t unit) noexcept {
  const int64_t beyond = (begin + bytes) % unit;
  return beyond < bytes ? bytes - beyond : bytes;
}

// Instead of a copy, the address of the data up to the end of an element that is one run. False: it
// is none.
bool lend(const Message& message, int64_t position, iovec* piece) noexcept {
  const Plan& plan = *message.type->plan;
  if (!plan.is_run(1)) return false;
  const int64_t element = position / plan.size();
  const int64_t within = position % plan.size();
  piece->iov_base = address(message.mem, plan.offset() + element * plan.extent() + within);
  piece->iov_len = static_cast<size_t>(plan.size() - within);
  return true;
}

template <Direction kWay>
int32_t advance(void* at, iovec* pieces, uint32_t* count, size_t* bytes) noexcept {
  const Convertor convertor(at, layout());
  // It is there: the convertor keeps its type alive (moved_type.hpp).
  const MovedType* type = g_types.find(convertor.desc());
  if (type == nullptr) return -1;
  const Message message = message_of(convertor, *type);
  const auto begin = static_cast<int64_t>(convertor.converted());
  int64_t position = begin;
  uint32_t used = 0;
  for (; used < *count && position < message.bytes; ++used) {
    iovec& piece = pieces[used];
    if (kWay == Direction::kPack && piece.iov_base == nullptr) {
      if (!lend(message, position, &piece)) return -1;
    } else {
      // As unsigned numbers: UCX asks for up to SIZE_MAX bytes.
      const auto left = static_cast<size_t>(message.bytes - position);
      auto moved = static_cast<int64_t>(std::min(piece.iov_len, left));
      if (kWay == Direction::kPack && moved < message.bytes - position)
        moved = up_to_element(position, moved, type->unit_bytes);
      move<kWay>(message, position, moved, piece.iov_base);
      piece.iov_len = static_cast<size_t>(moved);
    }
    position += static_cast<int64_t>(piece.iov_len);
  }
  count_fragment(kWay);
  *count = used;
  *bytes = static_cast<size_t>(position - begin);
  convertor.set_converted(static_cast<uint64_t>(position));
  if (position < message.bytes) return 0;
  convertor.complete();
  return 1;
}

// Compares the pieces that the library has moved from `begin` to `end`. False: one differs. Open
// MPI leaves the length of a last piece that has more room than data as it was.
bool compare_pieces(MovedType* type, Direction way, const Message& message, int64_t begin,
                    int64_t end, const iovec* pieces, uint32_t count) noexcept {
  for (uint32_t i = 0; i < count && begin < end; ++i) {
    const auto left = static_cast<size_t>(end - begin);
    const auto bytes = static_cast<int64_t>(std::min(pieces[i].iov_len, left));
    if (!compare(type, way, message, begin, bytes, pieces[i].iov_base)) return false;
    begin += bytes;
  }
  return true;
}

// The library moves the fragment, lacuna compares it. If it is the same, lacuna goes on from there.
template <Direction kWay>
int32_t advance_compared(void* at, iovec* pieces, uint32_t* count, size_t* bytes) noexcept {
  const Convertor convertor(at, layout());
  MovedType* type = g_types.find(convertor.desc());
  const auto own =
      type == nullptr
          ? nullptr
          : reinterpret_cast<Advance>(type->own[index(kWay)].load(std::memory_order_acquire));
  if (own == nullptr) return -1;
  const auto begin = static_cast<int64_t>(convertor.converted());
  const int32_t code = own(at, pieces, count, bytes);
  if (code < 0) return code;
  const Message message = message_of(convertor, *type);
  const Trust before = type->trusted(kWay);
  const auto end = static_cast<int64_t>(convertor.converted());
  if (before == Trust::kUntried &&
      !compare_pieces(type, kWay, message, begin, end, pieces, *count)) {
    if (const Complaint complain = g_complaint.load(std::memory_order_acquire))
      complain(kWay, convertor.desc());
  }
  const Trust now = type->trusted(kWay);
  if (now != Trust::kUntried) convertor.set_function(now == Trust::kSame ? advance<kWay> : own);
  return code;
}

// From now on lacuna moves this convertor's data, if their type was found to be the same meanwhile:
// a persistent request keeps its convertor.
void take_again(const Convertor& convertor) noexcept {
  for (const Direction way : {Direction::kPack, Direction::kUnpack}) {
    const bool packs = way == Direction::kPack;
    const Advance compared =
        packs ? advance_compared<Direction::kPack> : advance_compared<Direction::kUnpack>;
    if (convertor.function() != compared) continue;
    MovedType* type = g_types.find(convertor.desc());
    if (type != nullptr && type->trusted(way) == Trust::kSame)
      convertor.set_function(packs ? advance<Direction::kPack> : advance<Direction::kUnpack>);
  }
}

bool is_ours(Advance found) noexcept {
  return found == static_cast<Advance>(advance<Direction::kPack>) ||
         found == static_cast<Advance>(advance<Direction::kUnpack>);
}

}  // namespace

const ConvertorLayout* layout_of(std::string_view library_version) noexcept {
  for (const std::string_view known : {"Open MPI v4.1.", "Open MPI v5.0."}) {
    if (library_version.starts_with(known)) return &kLayout4And5;
  }
  return nullptr;
}

void take(void* at, Direction way) noexcept {
  const ConvertorLayout& layout = inside::layout();
  const Convertor convertor(at, layout);
  const uint32_t wanted =
      layout.is_homogeneous | (way == Direction::kPack ? layout.is_sending : layout.is_receiving);
  const uint32_t asked = layout.is_homogeneous | layout.is_sending | layout.is_receiving |
                         layout.is_completed | layout.is_left_to_library;
  if ((convertor.flags() & asked) != wanted) return;
  const uint64_t bytes = convertor.local_size();
  if (bytes < g_convertors.least_bytes || bytes > INT64_MAX) return;
  const Advance own = convertor.function();
  const auto& known = g_convertors.own_advance[index(way)];
  if (own == nullptr || (own != known[0] && own != known[1])) return;
  MovedType* type = g_types.find(convertor.desc());
  if (type == nullptr || (way == Direction::kPack && type->unit_bytes == 0)) return;
  const Message message = message_of(convertor, *type);
  int64_t expected = 0;
  if (__builtin_mul_overflow(message.count, type->plan->size(), &expected) ||
      expected != message.bytes) {
    return;
  }
  // The library's order of writing decides what stays in a byte that occurs twice.
  if (way == Direction::kUnpack && !type->plan->is_disjoint(message.count)) return;
  const Trust trust = type->trusted(way);
  if (trust == Trust::kDiffers) return;
  if (trust == Trust::kSame) {
    convertor.set_function(way == Direction::kPack ? advance<Direction::kPack>
                                                   : advance<Direction::kUnpack>);
    return;
  }
  type->own[index(way)].store(reinterpret_cast<void*>(own), std::memory_order_release);
  convertor.set_function(way == Direction::kPack ? advance_compared<Direction::kPack>
                                                 : advance_compared<Direction::kUnpack>);
}

int32_t set_position(void* at, size_t* position, SetPosition own) noexcept {
  const ConvertorLayout* layout = g_convertors.layout.load(std::memory_order_acquire);
  if (layout == nullptr) return own(at, position);
  const Convertor convertor(at, *layout);
  take_again(convertor);
  if (!is_ours(convertor.function())) return own(at, position);
  convertor.set_converted(*position);
  return 0;
}

int64_t fragments(Direction way) noexcept {
  return g_counters[index(way)].fragments.load(std::memory_order_relaxed);
}

}  // namespace lacuna::inside
