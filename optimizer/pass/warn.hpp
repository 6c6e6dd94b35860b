// SPDX-License-Identifier: BSD-3-Clause
//
// What is wrong or slow with the types of a function, as remarks (-Rpass-analysis=lacuna). Only
// what is sure: a handle that anybody else has, or that is stored anywhere, is not spoken of.
#ifndef LACUNA_OPTIMIZER_PASS_WARN_HPP_
#define LACUNA_OPTIMIZER_PASS_WARN_HPP_

#include <llvm/Analysis/OptimizationRemarkEmitter.h>

#include "optimizer/pass/library.hpp"

namespace lacuna {

// Of the program as it was written: types that are never committed or freed, and arguments that MPI
// does not allow.
void warn_of_errors(llvm::Function& function, const Library& library,
                    llvm::OptimizationRemarkEmitter& remarks);

// Of what is left of it: types that each turn of a loop makes anew, and equal.
void warn_of_loops(llvm::Function& function, llvm::OptimizationRemarkEmitter& remarks);

}  // namespace lacuna

#endif  // LACUNA_OPTIMIZER_PASS_WARN_HPP_
