// SPDX-License-Identifier: BSD-3-Clause
#include "optimizer/pass/merge.hpp"

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include "optimizer/pass/fortran.hpp"
#include "optimizer/pass/shape.hpp"

namespace lacuna {

namespace {

const Mover* sender(const llvm::CallBase& call) {
  const Mover* row = mover(mpi_name(call));
  const bool sends = row != nullptr && (row->form == "MPI_Send" || row->form == "MPI_Isend");
  return sends && call.arg_size() == row->parameters ? row : nullptr;
}

// The next call that the program comes to for sure, if nothing else can come in between.
llvm::CallBase* next_call(llvm::Instruction* at) {
  for (unsigned blocks = 0; blocks < 16;) {
    if (at->isTerminator()) {
      auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(at);
      llvm::BasicBlock* next =
          invoke != nullptr ? invoke->getNormalDest() : at->getParent()->getSingleSuccessor();
      if (next == nullptr || next->getSinglePredecessor() == nullptr) return nullptr;
      at = &next->front();
      ++blocks;
    } else {
      at = at->getNextNode();
    }
    auto* call = llvm::dyn_cast<llvm::CallBase>(at);
    if (call != nullptr && !llvm::isa<llvm::IntrinsicInst>(call)) return call;
  }
  return nullptr;
}

// Whether the program has receives, and whether one of them takes any rank's or any tag's.
struct Receives {
  bool any = false;
  bool wildcard = false;
};

Receives receives_of(llvm::Module& module, const Library& library) {
  Receives found;
  for (const std::string& name : {std::string("MPI_Recv"), std::string("MPI_Irecv"),
                                  std::string("MPI_Recv_c"), std::string("MPI_Irecv_c"),
                                  (kFortran + "MPI_Recv").str(), (kFortran + "MPI_Irecv").str()}) {
    const llvm::Function* function = module.getFunction(name);
    if (function == nullptr) continue;
    for (const llvm::User* user : function->users()) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(user);
      if (call == nullptr || call->getCalledFunction() != function || call->arg_size() != 7 ||
          call->getFunction()->getName().starts_with("lacuna_template_")) {
        continue;
      }
      found.any = true;
      found.wildcard = found.wildcard || is(call->getArgOperand(3), library.any_source) ||
                       is(call->getArgOperand(4), library.any_tag);
    }
  }
  return found;
}

}  // namespace

void tell_of_pairs(llvm::Function& function, const Library& library,
                   llvm::OptimizationRemarkEmitter& remarks) {
  if (!remarks.enabled()) return;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* first = llvm::dyn_cast<llvm::CallBase>(&instruction);
    const Mover* row = first == nullptr ? nullptr : sender(*first);
    llvm::CallBase* second = row == nullptr ? nullptr : next_call(first);
    if (second == nullptr || sender(*second) != row) continue;
    const auto agree = [&](int argument) {
      return first->getArgOperand(unsigned(argument)) == second->getArgOperand(unsigned(argument));
    };
    if (!agree(row->peer) || !agree(row->comm)) continue;
    const Receives receives = receives_of(*function.getParent(), library);
    const char* why = !agree(row->peer + 1)
                          ? "their tags differ, so that they may be received in any order"
                      : !receives.any ? "their receives are not in this program unit"
                      : receives.wildcard
                          ? "a receive of this program unit takes any rank's or any tag's messages"
                          : "which receives of this program unit take them is not proven";
    const unsigned line = first->getDebugLoc() ? first->getDebugLoc().getLine() : 0;
    remarks.emit([&] {
      return llvm::OptimizationRemarkMissed("lacuna", "Unmerged", second)
             << llvm::ore::NV("Function", row->name) << " not merged with that of line "
             << llvm::ore::NV("Line", line)
             << " to the same rank: " << llvm::ore::NV("Reason", why);
    });
  }
}

}  // namespace lacuna
