// SPDX-License-Identifier: BSD-3-Clause
//
// What a rank tells the others of its node, so that they can agree (peers.cpp).
#ifndef LACUNA_INTERPOSE_DIRECT_AGREEMENT_CARD_HPP_
#define LACUNA_INTERPOSE_DIRECT_AGREEMENT_CARD_HPP_

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "interpose/direct/node/region.hpp"

namespace lacuna::direct {

struct Card {
  uint64_t build;  // of lacuna: others do not speak to each other
  uint64_t tools;  // tools_below()
  Secret secret;   // that of the first rank counts
  int64_t arena_bytes;
  int32_t pid;
  int32_t descriptor;
  int32_t willing;
  int32_t rank;           // in MPI_COMM_WORLD
  uint64_t sample_there;  // in its memory, for others to read
  uint64_t threads;       // whether it has some
};

inline bool is_same(const Card& a, const Card& b) noexcept {
  return a.build == b.build && a.tools == b.tools && a.willing != 0 && b.willing != 0;
}

// Of each rank of the node: without asking for memory where they are few, as all must come to the
// end of the agreement, also who is refused some. Nor with much of the stack, which may be small:
// what is large is there once for the process, which agrees once.
template <typename T>
class OfAll {
 public:
  explicit OfAll(int ranks) : many_(ranks > kFew ? static_cast<size_t>(ranks) : 0), ranks_(ranks) {}
  T* data() noexcept { return many_.empty() ? storage_.few : many_.data(); }
  std::span<const T> all() noexcept { return {data(), static_cast<size_t>(ranks_)}; }

 private:
  static constexpr int kFew = 128;
  struct Own {
    T few[kFew];
  };
  struct Shared {
    static inline T few[kFew];
  };
  std::conditional_t<sizeof(T) <= 16, Own, Shared> storage_;
  std::vector<T> many_;
  int ranks_;
};

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_AGREEMENT_CARD_HPP_
