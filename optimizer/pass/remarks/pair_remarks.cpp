// SPDX-License-Identifier: BSD-3-Clause
#include "optimizer/pass/remarks/pair_remarks.hpp"

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <optional>

#include "optimizer/pass/handles/fortran.hpp"
#include "optimizer/pass/types/shape.hpp"

namespace lacuna::pass {

namespace {

constexpr llvm::StringLiteral kBoth = "MPI_Sendrecv";

const Mover* sender(const llvm::CallBase& call) {
  const Mover* row = mover(mpi_name(call));
  const bool sends =
      row != nullptr && (row->form == "MPI_Send" || row->form == "MPI_Isend" || row->form == kBoth);
  return sends && call.arg_size() == row->parameters ? row : nullptr;
}

// The next call, if it is always reached from here and nothing else can come in between.
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

// The index of the argument that is the source of a receive; the tag is the next.
std::optional<unsigned> source_of(llvm::StringRef form) {
  if (form == "MPI_Recv" || form == "MPI_Irecv") return 3;
  return form == kBoth ? std::optional<unsigned>(8) : std::nullopt;
}

Receives receives_of(const llvm::Module& module, const Library& library) {
  Receives found;
  for (const Mover& row : movers()) {
    const std::optional<unsigned> source = source_of(row.form);
    if (!source.has_value()) continue;
    for (const std::string& name : {row.name.str(), (kFortran + row.name).str()}) {
      const llvm::Function* function = module.getFunction(name);
      if (function == nullptr) continue;
      for (const llvm::User* user : function->users()) {
        const auto* call = llvm::dyn_cast<llvm::CallBase>(user);
        if (call == nullptr || call->getCalledFunction() != function ||
            call->arg_size() != row.parameters ||
            call->getFunction()->getName().starts_with("lacuna_")) {
          continue;
        }
        found.any = true;
        found.wildcard = found.wildcard || is(call->getArgOperand(*source), library.any_source) ||
                         is(call->getArgOperand(*source + 1), library.any_tag);
      }
    }
  }
  return found;
}

// Whether both get from one rank what has one tag.
bool receive_alike(const llvm::CallBase& first, const llvm::CallBase& second, const Mover& row) {
  const std::optional<unsigned> source = source_of(row.form);
  return source.has_value() &&
         (first.getArgOperand(*source) == second.getArgOperand(*source) &&
          first.getArgOperand(*source + 1) == second.getArgOperand(*source + 1));
}

const char* why_not(const llvm::CallBase& first, const llvm::CallBase& second, const Mover& row,
                    const Library& library) {
  const auto tag = unsigned(row.peer + 1);
  if (first.getArgOperand(tag) != second.getArgOperand(tag))
    return "their tags differ, so that they may be received in any order";
  const Receives receives = receives_of(*first.getModule(), library);
  if (!receives.any) return "their receives are not in this program unit";
  if (receives.wildcard)
    return "a receive of this program unit takes any rank's or any tag's messages";
  if (row.form != kBoth) return "which receives of this program unit take them is not proven";
  return receive_alike(first, second, row)
             ? "the other ranks may run another program, which takes them as two"
             : "what they receive are two messages";
}

}  // namespace

void remark_on_pairs(llvm::Function& function, const Library& library,
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
    const char* why = why_not(*first, *second, *row, library);
    const unsigned line = first->getDebugLoc() ? first->getDebugLoc().getLine() : 0;
    remarks.emit([&] {
      return llvm::OptimizationRemarkMissed("lacuna", "Unmerged", second)
             << llvm::ore::NV("Function", row->name) << " not merged with that of line "
             << llvm::ore::NV("Line", line)
             << " to the same rank: " << llvm::ore::NV("Reason", why);
    });
  }
}

}  // namespace lacuna::pass
