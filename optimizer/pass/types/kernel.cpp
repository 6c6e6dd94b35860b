// SPDX-License-Identifier: BSD-3-Clause
#include "optimizer/pass/types/kernel.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Module.h>

#include <string>

namespace lacuna::pass {

namespace {

constexpr int64_t kMostUnrolled = 32;  // iterations of a loop that is fully unrolled

}  // namespace

void Kernel::collect(llvm::Value* number) {
  if (number == nullptr || llvm::isa<llvm::Constant>(number) ||
      llvm::is_contained(numbers_, number))
    return;
  numbers_.push_back(number);
}

void Kernel::collect(const Node& node) {
  for (llvm::Value* number : {node.offset, node.bytes, node.count, node.stride, node.list})
    collect(number);
  for (const Node* part : node.parts) collect(*part);
}

std::string Kernel::name(const llvm::Value* number) const {
  if (number == nullptr) return "";
  if (const auto* known = constant(number)) return std::to_string(known->getSExtValue());
  return "n" + std::to_string(llvm::find(numbers_, number) - numbers_.begin());
}

std::string Kernel::name(const Node& node) const {
  std::string result = std::to_string(node.kind) + (node.is_far ? "f" : "");
  for (const llvm::Value* number : {node.offset, node.bytes, node.count, node.stride, node.list})
    result += "_" + name(number);
  if (node.kind == Node::kList) result += "i" + std::to_string(node.list_bits);
  for (const int64_t offset : node.offsets) result += "+" + std::to_string(offset);
  for (const Node* part : node.parts) result += "(" + name(*part) + ")";
  return result;
}

llvm::Value* Kernel::in_function(llvm::Value* number) const {
  return llvm::isa<llvm::Constant>(number) ? number : loaded_.lookup(number);
}

// `is_far`: the result may be in another variable. Programs use the difference of two addresses as
// a displacement (`b - a`, with buffer a), which MPI forbids and every library supports. LLVM
// assumes that pointer arithmetic on a's address never gives b's; through an integer it does not
// assume that.
llvm::Value* Kernel::moved(llvm::Value* pointer, llvm::Value* bytes, bool is_far) {
  if (is(bytes, 0)) return pointer;
  if (!is_far) return builder_->CreatePtrAdd(pointer, bytes);
  llvm::Value* number = builder_->CreatePtrToInt(pointer, builder_->getInt64Ty());
  return builder_->CreateIntToPtr(builder_->CreateAdd(number, bytes), builder_->getPtrTy());
}

llvm::Function* Kernel::emit(llvm::Module& module, Kind kind) {
  static constexpr const char* kKinds[] = {"pack.", "unpack.", "prefix."};
  const std::string name = std::string("lacuna.kernel.") + kKinds[kind] + this->name(node_);
  if (llvm::Function* made = module.getFunction(name)) return made;
  llvm::LLVMContext& context = module.getContext();
  llvm::IRBuilder<> builder(context);
  builder_ = &builder;
  kind_ = kind;
  llvm::Type* pointer = builder.getPtrTy();
  llvm::SmallVector<llvm::Type*, 4> types = {pointer, pointer, pointer};
  if (kind == kPrefix) types.push_back(builder.getInt64Ty());
  function_ = llvm::Function::Create(llvm::FunctionType::get(builder.getVoidTy(), types, false),
                                     llvm::GlobalValue::InternalLinkage, name, module);
  function_->setDoesNotThrow();
  // Packed data are lacuna's own, or another argument of the call, which may not overlap.
  function_->addParamAttr(0, llvm::Attribute::NoAlias);
  function_->addParamAttr(1, llvm::Attribute::NoAlias);
  for (unsigned i = 0; i < 3; ++i) function_->addParamAttr(i, llvm::Attribute::NoCapture);
  if (kind == kPrefix) {
    function_->addFnAttr(llvm::Attribute::Cold);
    function_->addFnAttr(llvm::Attribute::NoInline);
    function_->addFnAttr(llvm::Attribute::OptimizeForSize);
  }
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "", function_));
  loaded_.clear();
  for (size_t i = 0; i < numbers_.size(); ++i) {
    llvm::Value* address =
        builder.CreateConstInBoundsGEP1_64(builder.getInt64Ty(), function_->getArg(2), i);
    loaded_[numbers_[i]] = builder.CreateLoad(builder.getInt64Ty(), address);
  }
  node(node_, function_->getArg(0), function_->getArg(1));
  builder.CreateRetVoid();
  builder_ = nullptr;
  return function_;
}

void Kernel::loop(llvm::Value* count, llvm::function_ref<void(llvm::Value*)> body) {
  llvm::IRBuilder<>& builder = *builder_;
  llvm::LLVMContext& context = builder.getContext();
  llvm::BasicBlock* before = builder.GetInsertBlock();
  auto* head = llvm::BasicBlock::Create(context, "", function_);
  auto* end = llvm::BasicBlock::Create(context, "", function_);
  builder.CreateCondBr(builder.CreateICmpSGT(count, builder.getInt64(0)), head, end);
  builder.SetInsertPoint(head);
  llvm::PHINode* i = builder.CreatePHI(builder.getInt64Ty(), 2);
  i->addIncoming(builder.getInt64(0), before);
  body(i);
  llvm::Value* next = builder.CreateNUWAdd(i, builder.getInt64(1));
  i->addIncoming(next, builder.GetInsertBlock());
  llvm::BranchInst* branch = builder.CreateCondBr(builder.CreateICmpEQ(next, count), end, head);
  const auto* known = constant(count);
  llvm::SmallVector<llvm::Metadata*, 3> hints = {
      nullptr, llvm::MDNode::get(context, llvm::MDString::get(context, "llvm.loop.mustprogress"))};
  if (kind_ != kPrefix && known != nullptr && known->getSExtValue() <= kMostUnrolled) {
    hints.push_back(
        llvm::MDNode::get(context, llvm::MDString::get(context, "llvm.loop.unroll.full")));
  }
  llvm::MDNode* id = llvm::MDNode::getDistinct(context, hints);
  id->replaceOperandWith(0, id);
  branch->setMetadata(llvm::LLVMContext::MD_loop, id);
  builder.SetInsertPoint(end);
}

void Kernel::node(const Node& node, llvm::Value* mem, llvm::Value* packed) {
  llvm::IRBuilder<>& builder = *builder_;
  mem = moved(mem, in_function(node.offset), node.is_far);
  switch (node.kind) {
    case Node::kRun:
      run(node, mem, packed);
      return;
    case Node::kParts:
      for (const Node* part : node.parts) {
        this->node(*part, mem, packed);
        packed = moved(packed, in_function(part->bytes));
      }
      return;
    case Node::kLoop: {
      const Node& part = *node.parts[0];
      if (is_rows(node)) {
        rows(node, mem, packed);
        return;
      }
      loop(in_function(node.count), [&](llvm::Value* i) {
        llvm::Value* place = builder.CreateMul(i, in_function(node.stride));
        this->node(part, moved(mem, place, node.is_far),
                   moved(packed, builder.CreateMul(i, in_function(part.bytes))));
      });
      return;
    }
    case Node::kList: {
      const Node& part = *node.parts[0];
      llvm::Type* type = builder.getIntNTy(node.list_bits);
      llvm::Value* list = builder.CreateIntToPtr(in_function(node.list), builder.getPtrTy());
      loop(in_function(node.count), [&](llvm::Value* i) {
        llvm::Value* steps =
            builder.CreateSExt(builder.CreateLoad(type, builder.CreateInBoundsGEP(type, list, i)),
                               builder.getInt64Ty());
        llvm::Value* place = builder.CreateMul(steps, in_function(node.stride));
        this->node(part, moved(mem, place, node.is_far),
                   moved(packed, builder.CreateMul(i, in_function(part.bytes))));
      });
      return;
    }
    case Node::kTable: {
      const Node& part = *node.parts[0];
      llvm::Constant* offsets = llvm::ConstantDataArray::get(
          builder.getContext(),
          llvm::ArrayRef<uint64_t>(reinterpret_cast<const uint64_t*>(node.offsets.data()),
                                   node.offsets.size()));
      auto* table =
          new llvm::GlobalVariable(*function_->getParent(), offsets->getType(), true,
                                   llvm::GlobalValue::PrivateLinkage, offsets, "lacuna.offsets");
      table->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
      loop(builder.getInt64(node.offsets.size()), [&](llvm::Value* i) {
        llvm::Value* offset = builder.CreateLoad(
            builder.getInt64Ty(), builder.CreateInBoundsGEP(builder.getInt64Ty(), table, i));
        this->node(part, moved(mem, offset),
                   moved(packed, builder.CreateMul(i, in_function(part.bytes))));
      });
      return;
    }
  }
}

// Whether a loop is over runs whose length only the run time knows: one call copies them. Not if
// they may be far: within the called function LLVM would not see that addresses went through
// integers.
bool Kernel::is_rows(const Node& loop) const {
  const Node& part = *loop.parts[0];
  return kind_ != kPrefix && part.kind == Node::kRun && constant(part.bytes) == nullptr &&
         !loop.is_far && !part.is_far;
}

void Kernel::rows(const Node& loop, llvm::Value* mem, llvm::Value* packed) {
  const Node& part = *loop.parts[0];
  llvm::Value* bytes = in_function(part.bytes);
  llvm::Value* stride = in_function(loop.stride);
  mem = moved(mem, in_function(part.offset));
  llvm::Function* copy = function_->getParent()->getFunction("lacuna_template_copy_rows");
  llvm::Value* count = in_function(loop.count);
  if (kind_ == kPack) {
    builder_->CreateCall(copy, {packed, bytes, mem, stride, bytes, count});
  } else {
    builder_->CreateCall(copy, {mem, stride, packed, bytes, bytes, count});
  }
}

void Kernel::run(const Node& node, llvm::Value* mem, llvm::Value* packed) {
  llvm::IRBuilder<>& builder = *builder_;
  llvm::Value* bytes = in_function(node.bytes);
  if (kind_ != kPrefix) {
    copy(mem, packed, bytes);
    return;
  }
  // The bytes of the prefix that are left, if any.
  llvm::Value* begin = builder.CreatePtrDiff(builder.getInt8Ty(), packed, function_->getArg(1));
  llvm::Value* left = builder.CreateSub(function_->getArg(3), begin);
  llvm::Value* some = builder.CreateSelect(builder.CreateICmpSLT(left, bytes), left, bytes);
  some = builder.CreateSelect(builder.CreateICmpSGT(some, builder.getInt64(0)), some,
                              builder.getInt64(0));
  copy(mem, packed, some);
}

void Kernel::copy(llvm::Value* mem, llvm::Value* packed, llvm::Value* bytes) {
  llvm::IRBuilder<>& builder = *builder_;
  llvm::Value* to = kind_ == kPack ? packed : mem;
  llvm::Value* from = kind_ == kPack ? mem : packed;
  const auto* known = constant(bytes);
  const int64_t width = known == nullptr ? 0 : known->getSExtValue();
  if (width == 1 || width == 2 || width == 4 || width == 8) {
    // 8 bytes as a double: LLVM loads two doubles into one vector, which it considers too expensive
    // for integers without SSE4.
    llvm::Type* word = width == 8 ? builder.getDoubleTy() : builder.getIntNTy(unsigned(width) * 8);
    builder.CreateAlignedStore(builder.CreateAlignedLoad(word, from, llvm::Align(1)), to,
                               llvm::Align(1));
    return;
  }
  if (known == nullptr && kind_ != kPrefix) {
    builder.CreateCall(function_->getParent()->getFunction("lacuna_template_copy"),
                       {to, from, bytes});
    return;
  }
  builder.CreateMemCpy(to, llvm::Align(1), from, llvm::Align(1), bytes);
}

}  // namespace lacuna::pass
