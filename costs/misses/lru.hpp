// SPDX-License-Identifier: BSD-3-Clause
//
// An exact simulation of caches and TLBs with LRU replacement. Virtual addresses are used as if
// they were physical, and a written line is fetched first (write-allocate).
#ifndef LACUNA_COSTS_MISSES_LRU_HPP_
#define LACUNA_COSTS_MISSES_LRU_HPP_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace lacuna::costs {

// `bytes` in sets of `ways` units (lines, or pages); a TLB is a single set.
struct Geometry {
  int64_t bytes = 0;  // 0: there is none
  int64_t ways = 1;
  int64_t unit = 64;

  int64_t sets() const { return std::max<int64_t>(bytes / (ways * unit), 1); }
};

class Lru {
 public:
  explicit Lru(const Geometry& geometry)
      : sets_(static_cast<uint64_t>(geometry.sets())),
        ways_(static_cast<size_t>(geometry.ways)),
        kept_(sets_ * ways_) {}

  // Whether the unit of that number was held. Afterwards it is the most recently used one.
  bool use(uint64_t unit) {
    const uint64_t mark = unit + 1;  // 0: empty
    uint64_t* const first = kept_.data() + unit % sets_ * ways_;
    uint64_t* const last = first + ways_;
    uint64_t* const found = std::find(first, last, mark);
    const bool is_hit = found != last;
    std::copy_backward(first, is_hit ? found : last - 1, is_hit ? found + 1 : last);
    *first = mark;
    return is_hit;
  }

 private:
  uint64_t sets_;
  size_t ways_;
  std::vector<uint64_t> kept_;  // of each set, the most recently used first
};

struct Misses {
  int64_t reads = 0;
  int64_t writes = 0;

  int64_t all() const { return reads + writes; }
};

// A hierarchy: each level is looked up only when the one before it misses.
class Levels {
 public:
  explicit Levels(const std::vector<Geometry>& geometries) : misses_(geometries.size()) {
    for (const Geometry& one : geometries) levels_.emplace_back(one);
    unit_ = geometries.empty() ? 1 : geometries.front().unit;
  }

  // An access within one unit.
  void use(uint64_t address, bool is_write) {
    const uint64_t unit = address / static_cast<uint64_t>(unit_);
    for (size_t i = 0; i < levels_.size(); ++i) {
      if (levels_[i].use(unit)) return;
      ++(is_write ? misses_[i].writes : misses_[i].reads);
    }
  }

  const std::vector<Misses>& misses() const { return misses_; }
  // Resets the counts of misses, not the contents.
  void count_anew() { std::fill(misses_.begin(), misses_.end(), Misses{}); }

 private:
  int64_t unit_;
  std::vector<Lru> levels_;
  std::vector<Misses> misses_;
};

}  // namespace lacuna::costs

#endif  // LACUNA_COSTS_MISSES_LRU_HPP_
