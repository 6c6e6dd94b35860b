// SPDX-License-Identifier: BSD-3-Clause
//
// Card: what a rank tells the other ranks of its node, so that they can agree (agreement.cpp).
#ifndef LACUNA_INTERPOSE_DIRECT_AGREEMENT_CARD_HPP_
#define LACUNA_INTERPOSE_DIRECT_AGREEMENT_CARD_HPP_

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "interpose/direct/arena/region.hpp"

namespace lacuna::direct {

struct Card {
  uint64_t build;  // of lacuna; ranks with different builds do not agree
  uint64_t tools;  // tools_below(); must be the same in all ranks
  Secret secret;   // the first rank's becomes the secret of the node
  int64_t arena_bytes;
  int32_t pid;
  int32_t descriptor;
  int32_t willing;
  int32_t rank;           // in MPI_COMM_WORLD
  uint64_t sample_there;  // address of the memory that others try to read
  int32_t threads;        // 1: MPI_THREAD_MULTIPLE
  int32_t asks_nodes;     // 1: OtherNodes::kAsked
};

inline bool is_same(const Card& a, const Card& b) noexcept {
  return a.build == b.build && a.tools == b.tools && a.willing != 0 && b.willing != 0;
}

// One T for each rank of the node. Up to 128 ranks need no allocation: a rank that is out of memory
// must also get through the agreement. Large T are static, because stacks may be small; a process
// agrees once.
template <typename T>
class PerRank {
 public:
  explicit PerRank(int ranks)
      : many_(ranks > kFew ? static_cast<size_t>(ranks) : 0), ranks_(ranks) {}
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
