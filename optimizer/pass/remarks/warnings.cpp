// SPDX-License-Identifier: BSD-3-Clause
#include "optimizer/pass/remarks/warnings.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include "optimizer/pass/handles/fortran.hpp"
#include "optimizer/pass/handles/raise.hpp"
#include "optimizer/pass/types/shape.hpp"

namespace lacuna::pass {

namespace {

using Calls = llvm::SmallVector<llvm::CallBase*, 8>;

// What happens to a constructor's handle in the function.
struct Life {
  bool is_known = true;  // no other code may commit or free it
  bool is_committed = false;
  bool is_freed = false;
  llvm::CallBase* used = nullptr;  // in a call that moves data
};

class Follower {
 public:
  Life follow(llvm::CallBase& constructor) {
    take_results(constructor);
    while (life_.is_known && next_ < handles_.size()) {
      for (llvm::Use& use : handles_[next_++]->uses()) see(use);
    }
    return life_;
  }

 private:
  void take_results(llvm::CallBase& call) {
    for (llvm::User* user : call.users()) {
      auto* extract = llvm::dyn_cast<llvm::ExtractValueInst>(user);
      if (extract == nullptr) {
        life_.is_known = false;
      } else if (extract->getIndices()[0] == 0) {
        handles_.insert(extract);
      }
    }
  }

  void see(llvm::Use& use) {
    llvm::User* user = use.getUser();
    if (llvm::isa<llvm::PHINode, llvm::SelectInst>(user)) {
      handles_.insert(user);
      return;
    }
    if (llvm::isa<llvm::ICmpInst>(user)) return;
    auto* call = llvm::dyn_cast<llvm::CallBase>(user);
    if (call == nullptr || !call->isArgOperand(&use)) {
      life_.is_known = false;
      return;
    }
    if (const Producer* row = raised(call)) {
      if (row->name == "MPI_Type_commit") {
        life_.is_committed = true;
        take_results(*call);
      } else if (row->name == "MPI_Type_free") {
        life_.is_freed = true;
      }
    } else if (mpi_name(*call).empty()) {
      life_.is_known = false;
    } else if (mover(*call) != nullptr) {
      life_.used = call;
    }
  }

  Life life_;
  llvm::SmallSetVector<llvm::Value*, 8> handles_;
  size_t next_ = 0;
};

void warn(llvm::CallBase& call, llvm::StringRef function, llvm::StringRef name,
          llvm::StringRef reason, llvm::OptimizationRemarkEmitter& remarks) {
  remarks.emit([&] {
    return llvm::OptimizationRemarkAnalysis("lacuna", name, &call)
           << llvm::ore::NV("Function", function) << ": " << llvm::ore::NV("Reason", reason);
  });
}

// The constructor calls of a function.
Calls constructors(llvm::Function& function) {
  Calls found;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    const Producer* row = raised(&instruction);
    if (row != nullptr && !row->text.empty())
      found.push_back(llvm::cast<llvm::CallBase>(&instruction));
  }
  return found;
}

const char* impossible(llvm::CallBase& call, const Mover& row, const Library& library) {
  for (const Triple& triple : row.triples) {
    if (is_negative(call.getArgOperand(triple.count))) return "the count is negative";
  }
  if (row.peer < 0) return nullptr;
  const bool receives = row.form == "MPI_Recv" || row.form == "MPI_Irecv";
  const llvm::Value* peer = call.getArgOperand(unsigned(row.peer));
  if (is_negative(peer) && !is(peer, library.proc_null) &&
      !(receives && is(peer, library.any_source))) {
    return "there is no such rank";
  }
  const llvm::Value* tag = call.getArgOperand(unsigned(row.peer) + 1);
  if (is_negative(tag) && !(receives && is(tag, library.any_tag))) return "there is no such tag";
  return nullptr;
}

const char* impossible(llvm::CallBase& call) {
  const Producer& row = *raised(&call);
  for (unsigned i = 0; i + 1 < row.parameters.size(); ++i) {
    llvm::SmallVector<llvm::Value*, 16> values;
    const char letter = row.parameters[i];
    if (!is_count(letter) || is_place(row, i) || !arguments(call, i, values)) continue;
    // The order of a subarray is no count.
    if (row.text == "subarray" && letter == 'i' && i > 0) continue;
    if (llvm::any_of(values, is_negative)) return "a count or length is negative";
  }
  return nullptr;
}

}  // namespace

void warn_of_errors(llvm::Function& function, const Library& library,
                    llvm::OptimizationRemarkEmitter& remarks) {
  const llvm::DominatorTree tree(function);
  const llvm::LoopInfo loops(tree);
  const bool returns = llvm::any_of(function, [](const llvm::BasicBlock& block) {
    return llvm::isa<llvm::ReturnInst>(block.getTerminator());
  });
  for (llvm::CallBase* call : constructors(function)) {
    const Producer& row = *raised(call);
    if (const char* why = impossible(*call)) warn(*call, row.name, "Impossible", why, remarks);
    const Life life = Follower().follow(*call);
    if (!life.is_known) continue;
    // A type that main makes once may live as long as the program.
    const bool is_in_loop = loops.getLoopFor(call->getParent()) != nullptr;
    const bool is_main = function.getName() == "main" || function.getName() == "_QQmain";
    if (!life.is_freed && (is_in_loop || (returns && !is_main))) {
      warn(*call, row.name, "Leaked",
           is_in_loop ? "the type is never freed, and another one made in each iteration of "
                        "a loop"
                      : "the type is never freed, and nobody else has it",
           remarks);
    }
    // A type from MPI_Type_dup is committed if its original is.
    if (life.used != nullptr && !life.is_committed && row.text != "dup") {
      warn(*life.used, mpi_name(*life.used), "Uncommitted", "its type is never committed", remarks);
    }
  }
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    const Mover* row = call == nullptr ? nullptr : mover(*call);
    if (row == nullptr || call->arg_size() != row->parameters) continue;
    if (const char* why = impossible(*call, *row, library))
      warn(*call, row->name, "Impossible", why, remarks);
  }
}

void warn_of_loops(llvm::Function& function, llvm::OptimizationRemarkEmitter& remarks) {
  const llvm::DominatorTree tree(function);
  const llvm::LoopInfo loops(tree);
  for (llvm::CallBase* call : constructors(function)) {
    const llvm::Loop* loop = loops.getLoopFor(call->getParent());
    if (loop == nullptr) continue;
    llvm::SmallVector<llvm::BasicBlock*, 4> latches;
    loop->getLoopLatches(latches);
    const bool in_each_iteration = llvm::all_of(
        latches, [&](llvm::BasicBlock* latch) { return tree.dominates(call->getParent(), latch); });
    const bool is_the_same = llvm::all_of(llvm::drop_end(call->args()), [&](const llvm::Use& use) {
      return loop->isLoopInvariant(use.get());
    });
    if (in_each_iteration && is_the_same) {
      warn(*call, raised(call)->name, "Loop",
           "each iteration of a loop makes an equal type: make it once, before the loop", remarks);
    }
  }
}

}  // namespace lacuna::pass
