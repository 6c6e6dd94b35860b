// SPDX-License-Identifier: BSD-3-Clause
//
// The two stages of the pass, which plugin.cpp enters into LLVM's pipeline.
#ifndef LACUNA_OPTIMIZER_PASS_STAGES_HPP_
#define LACUNA_OPTIMIZER_PASS_STAGES_HPP_

#include <llvm/IR/PassManager.h>

namespace lacuna::pass {

// Early: raises calls to functions that return handles as values.
llvm::PreservedAnalyses raise_all(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
// Late: specializes calls, removes dead types, lowers what is left.
// `is_last`: the module will not be linked with others in another late stage.
llvm::PreservedAnalyses specialize_all(llvm::Module& module, llvm::ModuleAnalysisManager& analyses,
                                       bool is_last);

}  // namespace lacuna::pass

#endif  // LACUNA_OPTIMIZER_PASS_STAGES_HPP_
