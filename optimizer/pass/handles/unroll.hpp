// SPDX-License-Identifier: BSD-3-Clause
//
// Loops that make an array of types, `for (int i = 0; i < 3; ++i) MPI_Type_vector(..., &types[i])`.
// A handle in the array becomes a value only if the loop is unrolled, so loops with a known, small
// number of iterations are marked for full unrolling.
#ifndef LACUNA_OPTIMIZER_PASS_HANDLES_UNROLL_HPP_
#define LACUNA_OPTIMIZER_PASS_HANDLES_UNROLL_HPP_

#include <llvm/IR/PassManager.h>

namespace lacuna::pass {

// Marks the loops; before raising.
void unroll_makers(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
// Removes the marks of loops that were not unrolled: LLVM would warn of them.
void forget_loops(llvm::Function& function);

}  // namespace lacuna::pass

#endif  // LACUNA_OPTIMIZER_PASS_HANDLES_UNROLL_HPP_
