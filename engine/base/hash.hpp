// SPDX-License-Identifier: BSD-3-Clause
#ifndef LACUNA_ENGINE_BASE_HASH_HPP_
#define LACUNA_ENGINE_BASE_HASH_HPP_

#include <cstddef>
#include <cstdint>

namespace lacuna {

// 2^64 divided by the golden ratio.
inline constexpr uint64_t kGoldenRatio = 0x9E3779B97F4A7C15U;

// The slot of a key in a table of 2^bits: multiplicative (Fibonacci) hashing, Knuth, The Art of
// Computer Programming, vol. 3, section 6.4. One multiplication and one shift.
constexpr size_t hash_slot(uint64_t key, unsigned bits) noexcept {
  return static_cast<size_t>((key * kGoldenRatio) >> (64 - bits));
}

// FNV-1a: hash = (hash ^ byte) * kFnvPrime for each byte, from kFnvOffset on.
inline constexpr uint64_t kFnvOffset = 0xCBF29CE484222325U;
inline constexpr uint64_t kFnvPrime = 0x100000001B3U;

}  // namespace lacuna

#endif  // LACUNA_ENGINE_BASE_HASH_HPP_
