// SPDX-License-Identifier: BSD-3-Clause
//
// What happens to a module at the two places of the pipeline (plugin.cpp).
#ifndef LACUNA_OPTIMIZER_PASS_STAGES_HPP_
#define LACUNA_OPTIMIZER_PASS_STAGES_HPP_

#include <llvm/IR/PassManager.h>

namespace lacuna {

llvm::PreservedAnalyses raise_all(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
// `is_last`: no other files follow.
llvm::PreservedAnalyses specialize_all(llvm::Module& module, llvm::ModuleAnalysisManager& analyses,
                                       bool is_last);

}  // namespace lacuna

#endif  // LACUNA_OPTIMIZER_PASS_STAGES_HPP_
