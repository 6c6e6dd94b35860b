// SPDX-License-Identifier: BSD-3-Clause
//
// The pass plugin: where lacuna stands in LLVM's pipeline.
//
//   before everything   handles become values (raise.hpp)
//   ... LLVM inlines, propagates, simplifies: the first partial evaluation
//   before the loop optimizations   types are found, templates chosen and inlined, dead types
//   removed,
//                       handles lowered again; the second partial evaluation is LLVM's, too
//
// With link-time optimization, the same twice: in each file, and over all of the program.
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>

#include "optimizer/pass/stages.hpp"

namespace {

using llvm::ModulePassManager;
using llvm::OptimizationLevel;

struct Early : llvm::PassInfoMixin<Early> {
  static llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) {
    return lacuna::raise_all(module, analyses);
  }
};

// Of one file. With these flags it is to be linked with others before it is done.
struct Late : llvm::PassInfoMixin<Late> {
  static llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) {
    const bool is_linked_later = module.getModuleFlag("ThinLTO") != nullptr ||
                                 module.getModuleFlag("EnableSplitLTOUnit") != nullptr;
    return lacuna::specialize_all(module, analyses, !is_linked_later);
  }
};

// Of all files together.
struct Last : llvm::PassInfoMixin<Last> {
  static llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) {
    return lacuna::specialize_all(module, analyses, true);
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
