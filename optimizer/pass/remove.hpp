// SPDX-License-Identifier: BSD-3-Clause
//
// Removes the construction of types that nobody uses any more.
#ifndef LACUNA_OPTIMIZER_PASS_REMOVE_HPP_
#define LACUNA_OPTIMIZER_PASS_REMOVE_HPP_

#include <llvm/Analysis/OptimizationRemarkEmitter.h>

#include "optimizer/pass/type.hpp"

namespace lacuna {

// Whether anything was removed.
bool remove_dead_types(llvm::Function& function, const Library& library, Resolver& resolver,
                       llvm::OptimizationRemarkEmitter& remarks);

}  // namespace lacuna

#endif  // LACUNA_OPTIMIZER_PASS_REMOVE_HPP_
