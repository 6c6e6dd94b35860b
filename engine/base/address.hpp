// SPDX-License-Identifier: BSD-3-Clause
#ifndef LACUNA_ENGINE_BASE_ADDRESS_HPP_
#define LACUNA_ENGINE_BASE_ADDRESS_HPP_

#include <cstddef>
#include <cstdint>

namespace lacuna {

// base + offset, where base may be null (absolute addresses) and the sum may lie outside any array.
inline std::byte* address(const void* base, int64_t offset) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(base) +
                                      static_cast<uintptr_t>(offset));
}

}  // namespace lacuna

#endif  // LACUNA_ENGINE_BASE_ADDRESS_HPP_
