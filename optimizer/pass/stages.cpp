// SPDX-License-Identifier: BSD-3-Clause
#include "optimizer/pass/stages.hpp"

#include <llvm/Analysis/OptimizationRemarkEmitter.h>
#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "optimizer/pass/base/library.hpp"
#include "optimizer/pass/base/options.hpp"
#include "optimizer/pass/calls/alltoallw.hpp"
#include "optimizer/pass/calls/lookup.hpp"
#include "optimizer/pass/calls/registry.hpp"
#include "optimizer/pass/calls/site.hpp"
#include "optimizer/pass/handles/fortran.hpp"
#include "optimizer/pass/handles/raise.hpp"
#include "optimizer/pass/handles/unroll.hpp"
#include "optimizer/pass/remarks/pair_remarks.hpp"
#include "optimizer/pass/remarks/unsupported.hpp"
#include "optimizer/pass/remarks/warnings.hpp"
#include "optimizer/pass/types/remove_types.hpp"
#include "optimizer/pass/types/resolve.hpp"

namespace lacuna::pass {

namespace {

constexpr unsigned kMostOfMaker = 1000;  // instructions of a function that is always inlined

bool is_ours(const llvm::Function& function) {
  return function.getName().starts_with("lacuna_template_") ||
         function.getName().starts_with(kLookup) || function.getName().starts_with("lacuna.kernel");
}

bool is_raised(const llvm::Function& function) {
  return function.getName().starts_with("lacuna.raised.") ||
         function.getName().starts_with(kFortran);
}

bool is_eligible(const llvm::Function& function) {
  return !function.isDeclaration() && !function.hasOptNone() &&
         !function.callsFunctionThatReturnsTwice() && !function.isPresplitCoroutine() &&
         !is_ours(function) && !function.hasFnAttribute("lacuna-off");
}

bool uses_mpi(const llvm::Module& module) {
  return uses_fortran(module) ||
         llvm::any_of(module.functions(), [](const llvm::Function& function) {
           return function.isDeclaration() && !function.use_empty() &&
                  (producer(function.getName()) != nullptr || mover(function.getName()) != nullptr);
         });
}

// Whether a module makes types, possibly in raised calls of other files that were linked to it. If
// not, there is nothing to specialize, and the templates need not be loaded.
bool makes_types(const llvm::Module& module) {
  return uses_fortran(module) ||
         llvm::any_of(module.functions(), [](const llvm::Function& function) {
           const Producer* row = producer(function.getName());
           return !function.use_empty() &&
                  (is_raised(function) || (row != nullptr && !row->text.empty()));
         });
}

bool wants_remarks(const llvm::Module& module) {
  const llvm::LLVMContext& context = module.getContext();
  const llvm::DiagnosticHandler* handler = context.getDiagHandlerPtr();
  return context.getLLVMRemarkStreamer() != nullptr ||
         (handler != nullptr && handler->isAnyRemarkEnabled());
}

// Whether calls of a function are to be raised. Not if it only calls MPI_Comm_rank or
// MPI_Comm_size: raised, it would be shorter, and LLVM might inline it where it would not without
// lacuna.
bool calls_producer(const llvm::Function& function) {
  bool makes = false, calls_known = false, moves = false;
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    const llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
    if (callee == nullptr) continue;
    const bool is_known = producer(callee->getName()) != nullptr;
    makes = makes || (is_known && callee->getName().starts_with("MPI_Type_"));
    calls_known = calls_known || is_known;
    moves = moves || mover(callee->getName()) != nullptr;
  }
  return makes || (calls_known && moves);
}

// Whether a function makes types for its callers and does nothing else with them. It is then always
// inlined, so that the callers see the type: LLVM might consider it too large, because of the many
// arguments of raised calls.
bool is_maker(const llvm::Function& function, const llvm::Type* handle_type) {
  const bool gives = function.getReturnType() == handle_type ||
                     llvm::any_of(function.args(), [](const llvm::Argument& argument) {
                       return argument.getType()->isPointerTy();
                     });
  // Fortran has no static procedures: other files may call all of them.
  const bool is_seen =
      function.hasLocalLinkage() || function.hasLinkOnceLinkage() ||
      (function.hasExactDefinition() && llvm::any_of(llvm::instructions(function), [](auto& each) {
         const Producer* row = raised(&each);
         return row != nullptr && !row->text.empty() &&
                is_fortran(llvm::cast<llvm::CallBase>(each));
       }));
  // Not one that only calls MPI_Comm_rank: LLVM decides whether to inline that.
  const bool makes = llvm::any_of(llvm::instructions(function), [](auto& each) {
    const Producer* row = raised(&each);
    return row != nullptr && row->name.starts_with("MPI_Type_");
  });
  return gives && makes && is_seen && !function.hasFnAttribute(llvm::Attribute::NoInline) &&
         function.getInstructionCount() <= kMostOfMaker &&
         llvm::none_of(llvm::instructions(function), [&](const llvm::Instruction& instruction) {
           const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
           const llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
           return callee == &function || (call != nullptr && mover(*call) != nullptr);
         });
}

llvm::FunctionAnalysisManager& function_analyses(llvm::Module& module,
                                                 llvm::ModuleAnalysisManager& analyses) {
  return analyses.getResult<llvm::FunctionAnalysisManagerModuleProxy>(module).getManager();
}

// Promotes the BufferArgs of inlined templates to registers, and folds constants.
void simplify(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  analyses.invalidate(function, llvm::PreservedAnalyses::none());
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  analyses.invalidate(function, passes.run(function, analyses));
}

// Inlines kernels, and the function by which they copy runs whose length is not known.
bool inline_kernels(llvm::Function& function) {
  bool any = false;
  for (llvm::SmallVector<llvm::CallBase*, 8> calls; true; calls.clear(), any = true) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
      if (callee != nullptr && !callee->hasFnAttribute(llvm::Attribute::NoInline) &&
          (callee->getName().starts_with("lacuna.kernel") ||
           callee->getName() == "lacuna_template_copy")) {
        calls.push_back(call);
      }
    }
    if (calls.empty()) return any;
    for (llvm::CallBase* call : calls) {
      llvm::InlineFunctionInfo info;
      llvm::InlineFunction(*call, info);
    }
  }
}

void verify(llvm::Module& module) {
  if (options::verifies() && llvm::verifyModule(module, &llvm::errs()))
    llvm::report_fatal_error("lacuna has left a module that is not well-formed");
}

void remove_unused(llvm::Module& module) {
  for (bool again = true; again;) {
    again = false;
    for (llvm::Function& function : llvm::make_early_inc_range(module)) {
      if ((is_ours(function) || is_raised(function) || function.getName().starts_with(kOriginal)) &&
          function.use_empty() && (function.hasLocalLinkage() || function.isDeclaration())) {
        function.eraseFromParent();
        again = true;
      }
    }
  }
}

// For a module that makes no types: its calls look types up by other files' functions.
llvm::PreservedAnalyses call_lookups_of_other_files(llvm::Module& module) {
  if (options::templates().empty()) return llvm::PreservedAnalyses::all();
  bool any = false;
  for (llvm::Function& function : module) {
    if (is_eligible(function)) any = call_shared_lookups(function) || any;
  }
  return any ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

// Fallbacks that are left are in functions that are not inlined (LACUNA_LOOKUP): they call C's.
void call_originals(llvm::Module& module) {
  for (llvm::Function& function : llvm::make_early_inc_range(module)) {
    if (!function.getName().starts_with(kOriginal)) continue;
    const llvm::StringRef name = function.getName().drop_front(kOriginal.size());
    function.replaceAllUsesWith(
        module.getOrInsertFunction(name, function.getFunctionType()).getCallee());
    function.eraseFromParent();
  }
}

}  // namespace

llvm::PreservedAnalyses raise_all(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) {
  options::recall(module);
  if (options::mode() == options::Mode::kOff || !uses_mpi(module))
    return llvm::PreservedAnalyses::all();
  options::keep(module);
  const auto library = makes_types(module) ? Library::load(module) : nullptr;
  if (library == nullptr) return llvm::PreservedAnalyses::all();
  llvm::FunctionAnalysisManager& functions = function_analyses(module, analyses);
  bool changed = false;
  for (llvm::Function& function : module) {
    if (!is_eligible(function)) continue;
    const bool of_fortran = raise_fortran(function, *library);
    if (!of_fortran && !calls_producer(function)) continue;
    // So that the lengths of arrays are constants where they can be.
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
    passes.addPass(llvm::EarlyCSEPass());
    functions.invalidate(function, passes.run(function, functions));
    unroll_makers(function, functions);
    raise(function, library->handle_type);
    if (is_maker(function, library->handle_type)) {
      function.addFnAttr(llvm::Attribute::AlwaysInline);
    }
    functions.invalidate(function, llvm::PreservedAnalyses::none());
    changed = true;
  }
  verify(module);
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

llvm::PreservedAnalyses specialize_all(llvm::Module& module, llvm::ModuleAnalysisManager& analyses,
                                       bool is_last) {
  if (options::mode() == options::Mode::kOff) return llvm::PreservedAnalyses::all();
  const bool has_raised = llvm::any_of(module.functions(), is_raised);
  if (!has_raised && !(wants_remarks(module) && uses_mpi(module)))
    return is_last ? call_lookups_of_other_files(module) : llvm::PreservedAnalyses::all();
  // When linking, kernels of the files are ordinary functions by now, and may have been changed.
  for (llvm::Function& function : module) {
    if (function.getName().starts_with("lacuna.kernel")) function.setName("lacuna.linked");
  }
  llvm::FunctionAnalysisManager& functions = function_analyses(module, analyses);
  auto library = Library::load(module);
  if (library != nullptr && !library->link()) library = nullptr;
  if (library != nullptr) {
    Resolver resolver(*library);
    for (llvm::Function& function : module) {
      if (!is_eligible(function)) continue;
      forget_loops(function);
      split_results(function);
      llvm::SmallVector<std::pair<llvm::CallBase*, const Mover*>, 16> sites;
      for (llvm::Instruction& instruction : llvm::instructions(function)) {
        auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        const Mover* row = call == nullptr ? nullptr : mover(*call);
        // Not the fallback of a template that was inlined before linking.
        if (row != nullptr && !call->hasMetadata(kFallback)) sites.emplace_back(call, row);
      }
      llvm::OptimizationRemarkEmitter remarks(&function);
      remark_on_pairs(function, *library, remarks);
      remark_on_unsupported(function, *library, resolver, remarks);
      warn_of_errors(function, *library, remarks);
      Specializer specializer(*library, resolver, remarks, is_last);
      bool changed = false;
      for (auto [call, row] : sites) specializer.prove(*call, *row);
      for (auto [call, row] : sites) changed = specializer.specialize(*call, *row) || changed;
      changed = specializer.finish() || changed;
      Made made;
      changed = specialize_alltoallw(function, *library, resolver, remarks, made) || changed;
      if (changed) {
        simplify(function, functions);
        if (inline_kernels(function)) simplify(function, functions);
        split_results(function);
        remove_dead_types(function, *library, resolver, remarks);
        functions.invalidate(function, llvm::PreservedAnalyses::none());
      }
      warn_of_loops(function, remarks);
      if (is_last) register_kernels(function, *library, resolver, remarks, made);
      for (llvm::Function* each : made) {
        inline_kernels(*each);
        simplify(*each, functions);
      }
    }
  }
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) lower(function);
  }
  if (const llvm::Function* note = module.getFunction("lacuna_template_enter");
      note != nullptr && !note->use_empty()) {
    share_lookups(module);
  }
  remove_unused(module);
  call_originals(module);
  verify(module);
  return llvm::PreservedAnalyses::none();
}

}  // namespace lacuna::pass
