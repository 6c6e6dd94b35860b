// SPDX-License-Identifier: BSD-3-Clause
//
// Warnings about types of a function that are wrong or slow, as remarks (-Rpass-analysis=lacuna).
// Only what is certain: there is no warning for a handle that other code has, or that is stored
// anywhere.
#ifndef LACUNA_OPTIMIZER_PASS_REMARKS_WARNINGS_HPP_
#define LACUNA_OPTIMIZER_PASS_REMARKS_WARNINGS_HPP_

#include <llvm/Analysis/OptimizationRemarkEmitter.h>

#include "optimizer/pass/base/library.hpp"

namespace lacuna::pass {

// Types that are never committed or freed, and arguments that MPI does not allow. Before anything
// is specialized.
void warn_of_errors(llvm::Function& function, const Library& library,
                    llvm::OptimizationRemarkEmitter& remarks);

// Types that each iteration of a loop makes again. After specializing: a removed type costs
// nothing.
void warn_of_loops(llvm::Function& function, llvm::OptimizationRemarkEmitter& remarks);

}  // namespace lacuna::pass

#endif  // LACUNA_OPTIMIZER_PASS_REMARKS_WARNINGS_HPP_
