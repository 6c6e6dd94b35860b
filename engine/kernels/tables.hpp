// SPDX-License-Identifier: BSD-3-Clause
//
// The tables of each instruction set; for registry.cpp alone.
#ifndef LACUNA_ENGINE_KERNELS_TABLES_HPP_
#define LACUNA_ENGINE_KERNELS_TABLES_HPP_

#include <span>

#include "kernels/kernel.hpp"

namespace lacuna::kernels {

// Portable and complete: every shape, every width (reference.cpp).
const KernelTable& reference_table();

// Those the CPU supports, the best first (simd.cpp).
std::span<const KernelTable* const> simd_tables();

}  // namespace lacuna::kernels

#endif  // LACUNA_ENGINE_KERNELS_TABLES_HPP_
