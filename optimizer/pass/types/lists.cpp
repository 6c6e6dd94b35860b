// SPDX-License-Identifier: BSD-3-Clause
#include "optimizer/pass/types/lists.hpp"

#include <llvm/IR/IRBuilder.h>

namespace lacuna::pass {

namespace {

// In elements: the longest list that is copied, and the longest that is copied to the frame.
constexpr uint64_t kMost = uint64_t(1) << 20;
constexpr uint64_t kInFrame = 1024;

}  // namespace

llvm::AllocaInst* Lists::copy_of(llvm::CallBase& constructor, unsigned bits) {
  llvm::AllocaInst*& copy = copies_[&constructor];
  if (copy != nullptr) return copy;
  llvm::Function& function = *constructor.getFunction();
  llvm::IRBuilder<> entry(&*function.getEntryBlock().getFirstInsertionPt());
  llvm::Constant* null = llvm::ConstantPointerNull::get(entry.getPtrTy());
  copy = entry.CreateAlloca(entry.getPtrTy());
  entry.CreateStore(null, copy);
  llvm::AllocaInst* own = entry.CreateAlloca(entry.getPtrTy());
  entry.CreateStore(null, own);
  llvm::AllocaInst* frame =
      entry.CreateAlloca(llvm::ArrayType::get(entry.getIntNTy(bits), kInFrame));
  llvm::IRBuilder<> builder(&constructor);
  llvm::Value* count = builder.CreateSExt(constructor.getArgOperand(0), builder.getInt64Ty());
  builder.CreateStore(
      builder.CreateCall(library_.template_of("copy_list"),
                         {frame, builder.getInt64(kInFrame), builder.getInt64(kMost), own,
                          constructor.getArgOperand(2), count, builder.getInt64(bits / 8)}),
      copy);
  for (llvm::BasicBlock& block : function) {
    llvm::Instruction* last = block.getTerminator();
    if (!llvm::isa<llvm::ReturnInst, llvm::ResumeInst>(last)) continue;
    if (auto* call = block.getTerminatingMustTailCall()) last = call;
    llvm::IRBuilder<> leaving(last);
    leaving.CreateCall(library_.template_of("drop_list"),
                       {leaving.CreateLoad(leaving.getPtrTy(), own)});
  }
  return copy;
}

}  // namespace lacuna::pass
