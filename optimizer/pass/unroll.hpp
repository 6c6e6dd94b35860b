// SPDX-License-Identifier: BSD-3-Clause
//
// Loops that make an array of types, `for (int i = 0; i < 3; ++i) MPI_Type_vector(..., &types[i])`:
// a handle is a value only where each turn is written out, so LLVM is asked to do that where it is
// sure to succeed, up to as many turns as a constructor's array has elements that are looked at.
#ifndef LACUNA_OPTIMIZER_PASS_UNROLL_HPP_
#define LACUNA_OPTIMIZER_PASS_UNROLL_HPP_

#include <llvm/IR/PassManager.h>

namespace lacuna {

// Marks the loops; before raising.
void unroll_makers(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
// Takes the marks from loops that are left: LLVM would warn of them.
void forget_loops(llvm::Function& function);

}  // namespace lacuna

#endif  // LACUNA_OPTIMIZER_PASS_UNROLL_HPP_
