// SPDX-License-Identifier: BSD-3-Clause
#include "optimizer/pass/calls/lookup.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "optimizer/interface.hpp"
#include "optimizer/pass/calls/registry.hpp"
#include "optimizer/pass/calls/site.hpp"
#include "optimizer/pass/handles/fortran.hpp"
#include "optimizer/pass/handles/raise.hpp"

namespace lacuna::pass {

namespace {

// With LACUNA_CHECK=1: how many types of a call are compared.
constexpr uint64_t kMostChecked = 8;

// Whether files share the function: only blocking messages between two ranks, where programs use
// derived types most. Sharing all would add half as much code to each file that registers types.
bool is_shared(const Mover& row) {
  return row.peer >= 0 && row.request < 0 && row.name == row.form;
}

// Whether a declared function has the prototype of the table.
bool is_as_in_mpi(const llvm::Function& function, const Mover& row) {
  const llvm::FunctionType* type = function.getFunctionType();
  if (!function.isDeclaration() || type->isVarArg() || type->getNumParams() != row.parameters ||
      !type->getReturnType()->isIntegerTy(32)) {
    return false;
  }
  const llvm::Type* handle = type->getParamType(unsigned(row.comm));
  return (handle->isPointerTy() || handle->isIntegerTy(32)) &&
         llvm::all_of(row.triples, [&](const Triple& triple) {
           return type->getParamType(triple.buffer)->isPointerTy() &&
                  type->getParamType(triple.count)->isIntegerTy(32) &&
                  type->getParamType(triple.type) == handle;
         });
}

}  // namespace

bool Specializer::look_up(llvm::CallBase& call, const Mover& row, llvm::StringRef why) {
  if (!may_look_up_ || !uses_registry()) return false;
  const bool of_fortran = is_fortran(call);
  llvm::Function* body = library_.module().getFunction((kLookup + row.name).str());
  if (body == nullptr) return false;
  if (row.request >= 0 && completions_.find(&call) == completions_.end()) return false;
  const bool only_reports = options::mode() == options::Mode::kReport;
  remarks_.emit([&] {
    return llvm::OptimizationRemark("lacuna", "Asks", &call)
           << llvm::ore::NV("Function", row.name)
           << (only_reports ? " can look its type up at run time: "
                            : " looks its type up at run time: ")
           << llvm::ore::NV("Reason", why);
  });
  if (only_reports) return true;
  split_normal_edge(call);
  llvm::IRBuilder<> builder(&call);
  if (options::checks()) check_lookup(call, row, builder);
  llvm::SmallVector<llvm::Value*, 2> kept;  // arguments that must live until the request completes
  if (row.request >= 0) {
    llvm::IRBuilder<> entry(&*call.getFunction()->getEntryBlock().getFirstInsertionPt());
    kept = {lookup_buffer_arg(call, row),
            entry.CreateAlloca(llvm::ArrayType::get(entry.getInt64Ty(), interface::kLookupWords))};
  }
  if (of_fortran) {
    look_up_fortran(call, row, *body, kept);
    return true;
  }
  llvm::SmallVector<llvm::Value*, 16> args(call.args());
  args.append(kept);
  llvm::CallBase* made = same_kind(call, body, args, builder);
  call.replaceAllUsesWith(made);
  call.eraseFromParent();
  return true;
}

// Calls C's function if a type is registered and no buffer is a sentinel; otherwise the call stays.
void Specializer::look_up_fortran(llvm::CallBase& call, const Mover& row, llvm::Function& body,
                                  llvm::ArrayRef<llvm::Value*> kept) {
  llvm::IRBuilder<> builder(&call);
  llvm::SmallVector<llvm::CallInst*, 2> found;
  llvm::Value* is_known = builder.getFalse();
  for (const Triple& triple : row.triples) {
    llvm::Value* type = c_type(call.getArgOperand(triple.type), library_, builder);
    found.push_back(builder.CreateCall(library_.template_of("is_registered"), {type}));
    is_known = builder.CreateOr(is_known, builder.CreateIsNotNull(found.back()));
  }
  is_known =
      builder.CreateAnd(is_known, builder.CreateNot(has_special_buffer(call, library_, builder)));
  llvm::Instruction *then = nullptr, *otherwise = nullptr;
  llvm::SplitBlockAndInsertIfThenElse(is_known, &call, &then, &otherwise);
  llvm::BasicBlock* join = call.getParent();
  builder.SetInsertPoint(then);
  builder.SetCurrentDebugLocation(call.getDebugLoc());
  const llvm::SmallVector<bool, 2> is_left_out(row.triples.size(), false);
  auto args = c_arguments(call, row, is_left_out, library_, builder);
  llvm::Value* request = row.request < 0 ? nullptr : args[unsigned(row.request)];
  args.append(kept.begin(), kept.end());
  llvm::CallInst* made = builder.CreateCall(&body, args);
  if (request != nullptr && library_.has_own_handles_in_fortran())
    give_request(*made, request, call.getArgOperand(unsigned(row.request)), library_);
  call.moveBefore(otherwise);
  llvm::PHINode* code = llvm::PHINode::Create(call.getType(), 2, "", join->begin());
  call.replaceAllUsesWith(code);
  code->addIncoming(made, then->getParent());
  code->addIncoming(&call, otherwise->getParent());
  for (llvm::CallInst* each : found) {
    llvm::InlineFunctionInfo unused;
    llvm::InlineFunction(*each, unused);
  }
}

void Specializer::check_lookup(llvm::CallBase& call, const Mover& row, llvm::IRBuilder<>& builder) {
  auto* type = llvm::ArrayType::get(builder.getInt64Ty(), kMostChecked);
  for (const Triple& triple : row.triples) {
    auto* seen =
        new llvm::GlobalVariable(*call.getModule(), type, false, llvm::GlobalValue::PrivateLinkage,
                                 llvm::ConstantAggregateZero::get(type), "lacuna.seen");
    llvm::Value* handle = call.getArgOperand(triple.type);
    builder.CreateCall(
        library_.template_of("check_lookup"),
        {is_fortran(call) ? c_type(handle, library_, builder) : handle,
         builder.CreateSExt(call.getArgOperand(triple.count), builder.getInt64Ty()),
         call.getArgOperand(triple.buffer), builder.CreateGlobalStringPtr(place_of(call, row.name)),
         seen, builder.getInt64(kMostChecked)});
  }
}

void share_lookups(llvm::Module& module) {
  const auto share = [&](const llvm::Twine& name) {
    llvm::Function* function = module.getFunction((kLookup + name).str());
    if (function == nullptr || function->isDeclaration()) return;
    function->setLinkage(llvm::GlobalValue::WeakODRLinkage);
    function->setVisibility(llvm::GlobalValue::HiddenVisibility);
    function->setComdat(module.getOrInsertComdat(function->getName()));
  };
  share("fill");
  for (const Mover& row : movers()) {
    if (!is_shared(row)) continue;
    share(row.name);
    share("found_" + row.name);
  }
}

bool call_shared_lookups(llvm::Function& function) {
  if (!uses_registry() || options::mode() != options::Mode::kOn) return false;
  bool any = false;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
    const Mover* row = callee == nullptr ? nullptr : mover(callee->getName());
    if (row == nullptr || !is_shared(*row) || !is_as_in_mpi(*callee, *row) ||
        llvm::all_of(row->triples, [&](const Triple& triple) {
          return llvm::isa<llvm::Constant>(call->getArgOperand(triple.type));
        })) {
      continue;
    }
    llvm::Module& module = *function.getParent();
    auto* asking = llvm::cast<llvm::Function>(
        module.getOrInsertFunction((kLookup + row->name).str(), callee->getFunctionType())
            .getCallee());
    if (asking->getFunctionType() != callee->getFunctionType()) continue;
    asking->setLinkage(llvm::GlobalValue::ExternalWeakLinkage);
    asking->setVisibility(llvm::GlobalValue::HiddenVisibility);
    llvm::IRBuilder<> builder(call);
    call->setCalledOperand(builder.CreateSelect(builder.CreateIsNotNull(asking), asking, callee));
    any = true;
  }
  return any;
}

}  // namespace lacuna::pass
