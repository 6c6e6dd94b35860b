// SPDX-License-Identifier: BSD-3-Clause
//
// One plan for many calls: a matrix is packed transposed, block of columns after block of columns.
// C++20, no MPI. A plan costs as much as describing the type, not as much as moving its bytes; it
// is immutable, and any number of threads may use it.
#include <cstdint>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <vector>

#include "lacuna/lacuna.h"

namespace {

void check(lacuna_status status) {
  if (status != LACUNA_OK) throw std::runtime_error(lacuna_last_error());
}

struct Destroy {
  void operator()(lacuna_type* type) const { lacuna_type_destroy(type); }
  void operator()(lacuna_plan* plan) const { lacuna_plan_destroy(plan); }
};
using Type = std::unique_ptr<lacuna_type, Destroy>;
using Plan = std::unique_ptr<lacuna_plan, Destroy>;

// A column of an n x n matrix whose extent is one element, so that the next one begins beside it.
Plan column_plan(int64_t n) {
  lacuna_type* handle = nullptr;
  check(lacuna_type_named("double", &handle));
  const Type element(handle);
  check(lacuna_type_vector(n, 1, n, element.get(), &handle));
  const Type column(handle);
  check(lacuna_type_resized(0, sizeof(double), column.get(), &handle));
  const Type next_to_each_other(handle);
  lacuna_plan* plan = nullptr;
  check(lacuna_plan_create(next_to_each_other.get(), &plan));
  return Plan(plan);
}

}  // namespace

int main() {
  constexpr int64_t kN = 512;
  constexpr int64_t kBlock = 64;
  std::vector<double> matrix(kN * kN);
  for (size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<double>(i);
  std::vector<double> transposed(matrix.size());

  const Plan plan = column_plan(kN);
  int64_t bytes = 0;
  check(lacuna_packed_size(plan.get(), kBlock, &bytes));
  for (int64_t column = 0; column < kN; column += kBlock) {
    check(lacuna_pack(plan.get(), matrix.data() + column, kBlock, transposed.data() + column * kN));
  }
  std::cout << kN / kBlock << " calls of " << bytes << " bytes with one plan\n";

  for (size_t i = 0; i < transposed.size(); ++i) {
    if (transposed[i] != matrix[i % kN * kN + i / kN]) return 1;
  }
  return 0;
}
