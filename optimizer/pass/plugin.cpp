// SPDX-License-Identifier: BSD-3-Clause
//
// The entry of the plugin: it adds two stages (stages.hpp) to LLVM's pipeline.
//
//   first                     Early: handles become values
//   LLVM inlines and propagates constants
//   before the loop passes    Late: types are found, calls specialized, dead types removed
//   LLVM goes on with what was inlined
//
// With link-time optimization both stages run twice: on each file, and on the whole program.
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>

#include "optimizer/pass/stages.hpp"

namespace {

using llvm::ModulePassManager;
using llvm::OptimizationLevel;

struct Early : llvm::PassInfoMixin<Early> {
  static llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) {
    return lacuna::pass::raise_all(module, analyses);
  }
};

// For one file. A module with these flags will be optimized again when it is linked.
struct Late : llvm::PassInfoMixin<Late> {
  static llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) {
    const bool is_linked_later = module.getModuleFlag("ThinLTO") != nullptr ||
                                 module.getModuleFlag("EnableSplitLTOUnit") != nullptr;
    return lacuna::pass::specialize_all(module, analyses, !is_linked_later);
  }
};

// For all files together, when linking.
struct Last : llvm::PassInfoMixin<Last> {
  static llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) {
    return lacuna::pass::specialize_all(module, analyses, true);
  }
};

template <class Pass>
void add(ModulePassManager& passes, OptimizationLevel level) {
  if (level != OptimizationLevel::O0) passes.addPass(Pass());
}

void register_passes(llvm::PassBuilder& builder) {
  builder.registerPipelineStartEPCallback(add<Early>);
  builder.registerOptimizerEarlyEPCallback(add<Late>);
  builder.registerFullLinkTimeOptimizationEarlyEPCallback(add<Early>);
  builder.registerFullLinkTimeOptimizationLastEPCallback(add<Last>);
}

}  // namespace

extern "C" [[gnu::visibility("default")]] llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "lacuna", "0.1", register_passes};
}
