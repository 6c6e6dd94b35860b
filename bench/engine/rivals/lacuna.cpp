// SPDX-License-Identifier: BSD-3-Clause
//
// lacuna: through the C API of the shared library, as a program uses it; and by the C++ below it
// with the kernels of one instruction set, which the C API does not choose. slices.cpp has the
// slices.
#include "bench/engine/rival.hpp"
#include "bench/engine/rivals/by_plan.hpp"
#include "bench/engine/rivals/through_api.hpp"

namespace lacuna::bench {
std::unique_ptr<Rival> lacuna_rival() { return std::make_unique<ThroughApi>(); }

std::unique_ptr<Rival> lacuna_again_rival() { return std::make_unique<ThroughApi>("lacuna-again"); }

std::unique_ptr<Rival> lacuna_isa_rival(const std::string& isa) {
  const KernelTable* const table = find_table(isa);
  return std::make_unique<ByPlan>("lacuna-" + isa, [table](const Problem& problem) {
    return table != nullptr ? make_plan(problem.type(), *table) : nullptr;
  });
}

}  // namespace lacuna::bench
