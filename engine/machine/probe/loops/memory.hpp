// SPDX-License-Identifier: BSD-3-Clause
//
// Region: memory for measurements, with pages of a known kind. Permutation: an order that no
// prefetcher follows.
#ifndef LACUNA_ENGINE_MACHINE_PROBE_LOOPS_MEMORY_HPP_
#define LACUNA_ENGINE_MACHINE_PROBE_LOOPS_MEMORY_HPP_

#include <cstddef>
#include <cstdint>

namespace lacuna::probe {

enum class Pages {
  kSmall,    // never huge ones, so that each page needs its own TLB entry
  kHuge,     // huge ones where the system gives them, so that the TLB hardly matters
  kDefault,  // what a program gets without madvise
};

class Region {
 public:
  // Maps and touches. Small pages are touched in random order, so that adjacent virtual pages are
  // not adjacent in physical memory: some CPUs keep such pages in one TLB entry.
  Region(size_t bytes, Pages pages);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  char* data() const { return data_; }  // null if memory was refused
  size_t bytes() const { return bytes_; }
  // How much of it is in huge pages, from /proc/self/smaps.
  size_t huge_bytes() const;

 private:
  char* data_ = nullptr;
  size_t bytes_ = 0;
};

// A pseudorandom order of [0, n). Each position is computed, so that it needs no memory.
class Permutation {
 public:
  explicit Permutation(uint64_t n, uint64_t seed = 0);
  uint64_t operator()(uint64_t i) const {  // the i-th, i < n
    do {
      i = mixed(i);
    } while (i >= n_);
    return i;
  }

 private:
  // Each statement is a bijection of [0, 2^bits), so the whole is.
  uint64_t mixed(uint64_t x) const {
    x = (x * 0xd1342543de82ef95u + offset_) & mask_;
    x ^= x >> shift_;
    x = (x * 0xaf251af3b0f025b5u) & mask_;
    x ^= x >> shift_;
    x = (x * 0x9e3779b97f4a7c15u) & mask_;
    x ^= x >> shift_;
    return x;
  }

  uint64_t n_;
  uint64_t mask_;
  uint64_t offset_;
  unsigned shift_;
};

}  // namespace lacuna::probe

#endif  // LACUNA_ENGINE_MACHINE_PROBE_LOOPS_MEMORY_HPP_
