// SPDX-License-Identifier: BSD-3-Clause
#include "optimizer/pass/handles/unroll.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include "optimizer/pass/base/functions.hpp"

namespace lacuna::pass {

namespace {

// Unrolling twice as many iterations takes more code than the types would save.
constexpr unsigned kMostTurns = 16;
constexpr llvm::StringLiteral kMark = "lacuna.unroll";

bool has(const llvm::MDNode* hints, llvm::StringRef prefix) {
  return llvm::any_of(hints->operands(), [&](const llvm::MDOperand& operand) {
    const auto* hint = llvm::dyn_cast_or_null<llvm::MDNode>(operand.get());
    const auto* name = hint == nullptr || hint->getNumOperands() == 0
                           ? nullptr
                           : llvm::dyn_cast<llvm::MDString>(hint->getOperand(0));
    return name != nullptr && name->getString().starts_with(prefix);
  });
}

void mark(llvm::Loop& loop) {
  const llvm::MDNode* before = loop.getLoopID();
  if (before != nullptr && (has(before, "llvm.loop.unroll") || has(before, kMark))) return;
  llvm::LLVMContext& context = loop.getHeader()->getContext();
  llvm::SmallVector<llvm::Metadata*, 4> hints = {nullptr};
  if (before != nullptr) llvm::append_range(hints, llvm::drop_begin(before->operands()));
  for (const llvm::StringRef hint :
       {llvm::StringRef("llvm.loop.unroll.full"), llvm::StringRef(kMark)})
    hints.push_back(llvm::MDNode::get(context, llvm::MDString::get(context, hint)));
  llvm::MDNode* id = llvm::MDNode::getDistinct(context, hints);
  id->replaceOperandWith(0, id);
  loop.setLoopID(id);
}

}  // namespace

void unroll_makers(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  const llvm::LoopInfo& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  if (loops.empty()) return;
  auto& counts = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    const llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
    const Producer* row = callee == nullptr ? nullptr : producer(callee->getName());
    if (row == nullptr || row->text.empty() || call->arg_size() != row->parameters.size()) continue;
    const llvm::Value* result = call->getArgOperand(call->arg_size() - 1);
    for (llvm::Loop* loop = loops.getLoopFor(call->getParent()); loop != nullptr;
         loop = loop->getParentLoop()) {
      const unsigned turns = counts.getSmallConstantMaxTripCount(loop);
      if (turns > 1 && turns <= kMostTurns + 1 && !loop->isLoopInvariant(result)) mark(*loop);
    }
  }
}

void forget_loops(llvm::Function& function) {
  for (llvm::BasicBlock& block : function) {
    llvm::Instruction* last = block.getTerminator();
    const llvm::MDNode* hints =
        last == nullptr ? nullptr : last->getMetadata(llvm::LLVMContext::MD_loop);
    if (hints != nullptr && has(hints, kMark))
      last->setMetadata(llvm::LLVMContext::MD_loop, nullptr);
  }
}

}  // namespace lacuna::pass
