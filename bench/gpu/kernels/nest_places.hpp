// SPDX-License-Identifier: BSD-3-Clause
//
// Where the words of a nest are, on the device and, for the tests, on the host.
#ifndef LACUNA_BENCH_GPU_KERNELS_NEST_PLACES_HPP_
#define LACUNA_BENCH_GPU_KERNELS_NEST_PLACES_HPP_

#include "bench/gpu/kernels/nests.hpp"

#if defined(__CUDACC__)
#define LACUNA_BENCH_HD __host__ __device__
#else
#define LACUNA_BENCH_HD
#endif

namespace lacuna::bench {

// The places of word `index`. Number: how indices are divided, 32 bits by hand, 64 as yaksa.
template <typename Word, typename Number>
LACUNA_BENCH_HD void locate(const DeviceNest& nest, int loops, Number index, int64_t* mem,
                            int64_t* packed) {
  constexpr auto kWord = static_cast<int64_t>(sizeof(Word));
  int64_t m = nest.mem;
  int64_t p = nest.packed;
  if (nest.starts != nullptr) {
    const auto all = static_cast<Number>(nest.bytes / kWord);
    const int64_t inside = static_cast<int64_t>(index % all) * kWord;
    index /= all;
    int64_t low = 0;
    int64_t high = nest.entries;
    while (high - low > 1) {
      const int64_t middle = (low + high) / 2;
      if (nest.starts[middle] <= inside) {
        low = middle;
      } else {
        high = middle;
      }
    }
    m += nest.at[low] + inside - nest.starts[low];
    p += inside;
  } else {
    const auto words = static_cast<Number>(nest.bytes / kWord);
    const int64_t inside = static_cast<int64_t>(index % words) * kWord;
    index /= words;
    m += inside;
    p += inside;
    if (nest.at != nullptr) {
      const auto entries = static_cast<Number>(nest.entries);
      const Number e = index % entries;
      index /= entries;
      m += nest.at[e];
      p += static_cast<int64_t>(e) * nest.entry_packed;
    }
  }
  for (int k = loops - 1; k >= 0; --k) {
    const auto count = static_cast<Number>(nest.counts[k]);
    const Number i = k == 0 ? index : index % count;
    index /= count;
    m += static_cast<int64_t>(i) * nest.mem_strides[k];
    p += static_cast<int64_t>(i) * nest.packed_strides[k];
  }
  *mem = m;
  *packed = p;
}

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_GPU_KERNELS_NEST_PLACES_HPP_
