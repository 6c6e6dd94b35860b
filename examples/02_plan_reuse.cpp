// SPDX-License-Identifier: BSD-3-Clause
//
// One plan for many calls: a matrix is packed transposed, block of columns after block of columns.
// C++20, no MPI. A plan costs as much as describing the type, not as much as moving its bytes; it
// is immutable, and any number of threads may use it.
#include <cstdint>
#include <iostream>
#include <vector>

#include "lacuna/lacuna.hpp"

int main() {
  constexpr int64_t kN = 512;
  constexpr int64_t kBlock = 64;
  std::vector<double> matrix(kN * kN);
  for (size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<double>(i);
  std::vector<double> transposed(matrix.size());

  // A column whose extent is one element, so that the next one begins beside it.
  using lacuna::Type;
  const Type column = Type::vector(kN, 1, kN, Type::named("double"));
  const lacuna::Plan plan(Type::resized(0, sizeof(double), column));
  for (int64_t first = 0; first < kN; first += kBlock)
    plan.pack(matrix.data() + first, kBlock, transposed.data() + first * kN);
  std::cout << kN / kBlock << " calls of " << plan.packed_size(kBlock) << " bytes with one plan\n";

  for (size_t i = 0; i < transposed.size(); ++i) {
    if (transposed[i] != matrix[i % kN * kN + i / kN]) return 1;
  }
  return 0;
}
