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
      : unit_(static_cast<uint64_t>(geometry.unit)),
        sets_(static_cast<uint64_t>(geometry.sets())),
        ways_(static_cast<size_t>(geometry.ways)),
        tags_(sets_ * ways_) {}

  // Whether the unit with this address was held. Afterwards it is the most recently used one.
  bool use(uint64_t address) {
    const uint64_t tag = tag_of(address);
    uint64_t* const first = set_of(address);
    uint64_t* const last = first + ways_;
    uint64_t* const found = std::find(first, last, tag);
    const bool is_hit = found != last;
    std::copy_backward(first, is_hit ? found : last - 1, is_hit ? found + 1 : last);
    *first = tag;
    return is_hit;
  }
  // A non-temporal store evicts its line.
  void evict(uint64_t address) {
    uint64_t* const first = set_of(address);
    uint64_t* const last = first + ways_;
    uint64_t* const found = std::find(first, last, tag_of(address));
    if (found == last) return;
    std::copy(found + 1, last, found);
    last[-1] = kEmpty;
  }

 private:
  static constexpr uint64_t kEmpty = 0;
  uint64_t tag_of(uint64_t address) const { return address / unit_ + 1; }
  uint64_t* set_of(uint64_t address) { return tags_.data() + address / unit_ % sets_ * ways_; }

  uint64_t unit_;
  uint64_t sets_;
  size_t ways_;
  std::vector<uint64_t> tags_;  // set by set; in a set, the most recently used first
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
  }

  // One access, which crosses no line (in a TLB: no page) of any level.
  void use(uint64_t address, bool is_write) {
    for (size_t i = 0; i < levels_.size(); ++i) {
      if (levels_[i].use(address)) return;
      ++(is_write ? misses_[i].writes : misses_[i].reads);
    }
  }
  void evict(uint64_t address) {
    for (Lru& level : levels_) level.evict(address);
  }

  const std::vector<Misses>& misses() const { return misses_; }
  // Resets the counts of misses, not the contents.
  void reset_misses() { std::fill(misses_.begin(), misses_.end(), Misses{}); }

 private:
  std::vector<Lru> levels_;
  std::vector<Misses> misses_;
};

}  // namespace lacuna::costs

#endif  // LACUNA_COSTS_MISSES_LRU_HPP_
