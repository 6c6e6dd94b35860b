// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/inside/fragment.hpp"

#include <algorithm>
#include <cstring>

#include "base/address.hpp"
#include "exec/exec.hpp"
#include "plan/plan.hpp"

namespace lacuna::inside {
namespace {

constexpr int64_t kPieceBytes = 512;  // on the stack
constexpr int64_t kMostPieces = 128;

}  // namespace

template <Direction kWay>
void move(const Message& message, int64_t begin, int64_t bytes, void* packed) noexcept {
  const Plan& plan = *message.type->plan;
  const int64_t end = begin + bytes;
  if constexpr (kWay == Direction::kPack) {
    pack_slice(plan, message.mem, message.count, begin, end, packed);
  } else {
    unpack_slice(plan, packed, message.count, begin, end, message.mem, end < message.bytes);
  }
}

template void move<Direction::kPack>(const Message&, int64_t, int64_t, void*) noexcept;
template void move<Direction::kUnpack>(const Message&, int64_t, int64_t, void*) noexcept;

bool is_same(const Message& message, int64_t begin, int64_t bytes, const void* packed) noexcept {
  std::byte piece[kPieceBytes];
  // The last piece ends where the fragment does.
  const int64_t last = std::max<int64_t>(0, bytes - kPieceBytes);
  const int64_t step = std::max(kPieceBytes, last / kMostPieces);
  for (int64_t at = 0;; at = std::min(at + step, last)) {
    const int64_t length = std::min(kPieceBytes, bytes - at);
    move<Direction::kPack>(message, begin + at, length, piece);
    if (std::memcmp(piece, address(packed, at), static_cast<size_t>(length)) != 0) return false;
    if (at == last) return true;
  }
}

bool compare(MovedType* type, Direction way, const Message& message, int64_t begin, int64_t bytes,
             const void* packed) noexcept {
  if (bytes < std::min(kLeastCompared, message.bytes)) return true;
  const bool same = is_same(message, begin, bytes, packed);
  type->settle(way, same);
  return same;
}

}  // namespace lacuna::inside
