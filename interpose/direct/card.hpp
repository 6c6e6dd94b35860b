// SPDX-License-Identifier: BSD-3-Clause
//
// What a rank tells the others of its node, so that they can agree (peers.cpp).
#ifndef LACUNA_INTERPOSE_DIRECT_CARD_HPP_
#define LACUNA_INTERPOSE_DIRECT_CARD_HPP_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "interpose/direct/region.hpp"

namespace lacuna::direct {

struct Card {
  uint64_t build;  // of lacuna: no two builds speak to each other
  uint64_t tools;  // tools_below()
  Secret secret;   // that of the first rank counts
  int64_t arena_bytes;
  int32_t pid;
  int32_t descriptor;
  int32_t willing;
  int32_t rank;           // in MPI_COMM_WORLD
  uint64_t sample_there;  // in its memory, for others to read
};

inline uint64_t build_id() noexcept {
  constexpr char kBuild[] = __DATE__ __TIME__;
  uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const char c : kBuild) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211U;
  return hash;
}

inline bool is_same(const Card& a, const Card& b) noexcept {
  return a.build == b.build && a.tools == b.tools && a.willing != 0 && b.willing != 0;
}

// Of each rank of the node: without asking for memory where they are few, as all must come to the
// end of the agreement, also who is refused some.
template <typename T>
class OfAll {
 public:
  explicit OfAll(int ranks) : many_(ranks > kFew ? static_cast<size_t>(ranks) : 0), ranks_(ranks) {}
  T* data() noexcept { return many_.empty() ? few_ : many_.data(); }
  std::span<const T> all() noexcept { return {data(), static_cast<size_t>(ranks_)}; }

 private:
  static constexpr int kFew = 128;
  T few_[kFew];
  std::vector<T> many_;
  int ranks_;
};

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_CARD_HPP_
