// SPDX-License-Identifier: BSD-3-Clause
//
// Removes the constructor calls of types that are not used any more.
#ifndef LACUNA_OPTIMIZER_PASS_TYPES_REMOVE_TYPES_HPP_
#define LACUNA_OPTIMIZER_PASS_TYPES_REMOVE_TYPES_HPP_

#include <llvm/Analysis/OptimizationRemarkEmitter.h>

#include "optimizer/pass/types/resolve.hpp"

namespace lacuna::pass {

// Whether anything was removed.
bool remove_dead_types(llvm::Function& function, const Library& library, Resolver& resolver,
                       llvm::OptimizationRemarkEmitter& remarks);

}  // namespace lacuna::pass

#endif  // LACUNA_OPTIMIZER_PASS_TYPES_REMOVE_TYPES_HPP_
