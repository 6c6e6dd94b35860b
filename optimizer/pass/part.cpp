// SPDX-License-Identifier: BSD-3-Clause
//
// What a template is told of a buffer, its type and its kernels.
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Support/CommandLine.h>

#include "optimizer/pass/fortran.hpp"
#include "optimizer/pass/site.hpp"

namespace lacuna {

namespace {

constexpr int64_t kGap = 64;  // as kMostUnit in optimizer/templates/part.hpp
// In the caller's frame; what is larger is taken from memory that is kept.
llvm::cl::opt<int64_t> frame_static("lacuna-frame-static", llvm::cl::init(16384), llvm::cl::Hidden,
                                    llvm::cl::desc("Most packed bytes, where they are constant"));
llvm::cl::opt<int64_t> frame_dynamic("lacuna-frame-dynamic", llvm::cl::init(4096), llvm::cl::Hidden,
                                     llvm::cl::desc("The same for a size of the run time"));
// For all that a function has under way: threads may have small stacks.
llvm::cl::opt<int64_t> frame_kept("lacuna-frame-kept", llvm::cl::init(131072), llvm::cl::Hidden,
                                  llvm::cl::desc("Most packed bytes of nonblocking messages"));

// Whether a buffer is a variable of the program or from an allocator that LLVM knows: not of a
// device.
bool is_of_host(const llvm::Value* buffer) {
  const llvm::Value* object = llvm::getUnderlyingObject(buffer);
  if (llvm::isa<llvm::AllocaInst>(object)) return true;
  if (const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(object))
    return !global->isThreadLocal();
  const auto* call = llvm::dyn_cast<llvm::CallBase>(object);
  const llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
  return callee != nullptr && (callee->getName() == "malloc" || callee->getName() == "calloc" ||
                               callee->getName() == "_Znwm" || callee->getName() == "_Znam");
}

// Whether all is that a template touches itself: Pack and Unpack also what is packed.
bool are_of_host(const llvm::CallBase& call, const Triple& triple) {
  const llvm::StringRef name = mover(call)->name;
  const bool packs = name.starts_with("MPI_Pack"), unpacks = name.starts_with("MPI_Unpack");
  return is_of_host(call.getArgOperand(triple.buffer)) &&
         (!(packs || unpacks) || is_of_host(call.getArgOperand(packs ? 3 : 0)));
}

}  // namespace

llvm::StructType* Specializer::part_type() const {
  llvm::LLVMContext& context = library_.handle_type->getContext();
  llvm::Type *pointer = llvm::PointerType::getUnqual(context),
             *number = llvm::Type::getInt64Ty(context);
  return llvm::StructType::get(
      context, {pointer, pointer, pointer, pointer, pointer, number, number, number, pointer,
                library_.handle_type, number, number, number, pointer, pointer, number, number});
}

// The wait looks at these also where the call has not been made.
void Specializer::keep(llvm::AllocaInst* part, llvm::IRBuilder<>& entry) const {
  llvm::StructType* type = part_type();
  llvm::AllocaInst* pending = entry.CreateAlloca(entry.getInt64Ty());
  entry.CreateStore(entry.getInt64(0), pending);
  llvm::AllocaInst* held = entry.CreateAlloca(entry.getPtrTy());
  entry.CreateStore(llvm::ConstantPointerNull::get(entry.getPtrTy()), held);
  entry.CreateStore(pending, entry.CreateStructGEP(type, part, 13));
  entry.CreateStore(held, entry.CreateStructGEP(type, part, 14));
}

// The same of a call that looks its type up: where its packed data may stand; the template fills
// the rest.
llvm::AllocaInst* Specializer::asked_part(llvm::CallBase& call, const Mover& row) {
  const Completion& completion = completions_.find(&call)->second;
  llvm::IRBuilder<> entry(&*call.getFunction()->getEntryBlock().getFirstInsertionPt());
  llvm::AllocaInst* part = entry.CreateAlloca(part_type());
  part->setAlignment(llvm::Align(16));
  keep(part, entry);
  int64_t room = frame_dynamic;
  if (completion.may_be_left || kept_room_ + room + kGap > frame_kept) room = 0;
  llvm::Value* stack = llvm::ConstantPointerNull::get(entry.getPtrTy());
  if (room > 0) {
    kept_room_ += room + kGap;
    llvm::AllocaInst* bytes =
        entry.CreateAlloca(llvm::ArrayType::get(entry.getInt8Ty(), uint64_t(room + kGap)));
    bytes->setAlignment(llvm::Align(64));
    stack = bytes;
  }
  entry.CreateStore(stack, entry.CreateStructGEP(part_type(), part, 4));
  entry.CreateStore(entry.getInt64(uint64_t(room)), entry.CreateStructGEP(part_type(), part, 5));
  llvm::AllocaInst* buffer = nullptr;
  if (row.form == "MPI_Irecv") {
    buffer = entry.CreateAlloca(entry.getPtrTy());
    llvm::IRBuilder<>(&call).CreateStore(call.getArgOperand(row.triples[0].buffer), buffer);
  }
  for (const Wait& wait : completion.waits) pending_.add(wait, part, buffer);
  return part;
}

// The C++ struct Part of optimizer/templates/part.hpp, filled for one triple.
llvm::Value* Specializer::part(llvm::CallBase& call, const Triple& triple, const Known& known,
                               llvm::IRBuilder<>& builder, bool is_kept) {
  llvm::Module& module = *call.getModule();
  llvm::Type *pointer = builder.getPtrTy(), *number = builder.getInt64Ty();
  llvm::StructType* type = part_type();
  llvm::IRBuilder<> entry(&*call.getFunction()->getEntryBlock().getFirstInsertionPt());
  const auto slot = [&](llvm::Type* of, uint64_t alignment) {
    llvm::AllocaInst* made = entry.CreateAlloca(of);
    made->setAlignment(llvm::Align(alignment));
    if (is_kept) return made;  // until the request completes
    builder.CreateLifetimeStart(made);
    slots_.push_back(made);
    return made;
  };
  llvm::AllocaInst* result = slot(type, 16);
  const auto set = [&](unsigned field, llvm::Value* value) {
    builder.CreateStore(value, builder.CreateStructGEP(type, result, field));
  };
  llvm::Value* null = llvm::ConstantPointerNull::get(builder.getPtrTy());
  if (known.type == nullptr) {
    for (unsigned field : {0U, 1U, 2U, 3U, 4U, 8U, 13U, 14U}) set(field, null);
    for (unsigned field : {5U, 6U, 7U, 11U, 15U, 16U}) set(field, builder.getInt64(0));
    set(9, llvm::Constant::getNullValue(library_.handle_type));
    for (unsigned field : {10U, 12U}) set(field, builder.getInt64(1));
    return result;
  }
  const Node& node = *known.shape.node;
  const bool in_place = node.kind == Node::kRun;
  Kernel kernel(node);
  set(0, kernel.emit(module, Kernel::kPack));
  set(1, kernel.emit(module, Kernel::kUnpack));
  set(2, kernel.emit(module, Kernel::kPrefix));
  if (kernel.numbers().empty()) {
    set(3, null);
  } else {
    llvm::AllocaInst* numbers = slot(llvm::ArrayType::get(number, kernel.numbers().size()), 8);
    for (size_t i = 0; i < kernel.numbers().size(); ++i) {
      builder.CreateStore(kernel.numbers()[i],
                          builder.CreateConstInBoundsGEP1_64(number, numbers, i));
    }
    set(3, numbers);
  }
  const auto* bytes = constant(node.bytes);
  const auto completion = completions_.find(&call);
  const bool is_pending = is_kept && completion != completions_.end();
  const int64_t gap = known.is_apart == nullptr ? 0 : kGap;
  int64_t room = in_place           ? 0
                 : bytes == nullptr ? std::min<int64_t>(known.most, frame_dynamic)
                 : bytes->getSExtValue() <= frame_static ? bytes->getSExtValue()
                                                         : 0;
  if (is_pending && (completion->second.may_be_left || kept_room_ + room + gap > frame_kept))
    room = 0;
  const int64_t in_frame = room > 0 ? room + gap : 0;
  if (is_pending) kept_room_ += in_frame;
  set(4, in_frame > 0 ? slot(llvm::ArrayType::get(builder.getInt8Ty(), uint64_t(in_frame)), 64)
                      : null);
  set(5, builder.getInt64(uint64_t(room)));
  llvm::Value* size = node.bytes;
  if (known.type->may_be_null) {
    // Or a variable that was never set, and holds what C puts there.
    llvm::Value* handle = call.getArgOperand(triple.type);
    llvm::Value* is_none = builder.CreateOr(
        builder.CreateICmpEQ(handle, library_.type_null(handle->getType())),
        builder.CreateICmpEQ(handle, llvm::Constant::getNullValue(handle->getType())));
    size = builder.CreateSelect(is_none, builder.getInt64(uint64_t(INT64_MAX)), size);
  }
  if (known.is_left != nullptr)
    size = builder.CreateSelect(known.is_left, builder.getInt64(uint64_t(INT64_MAX)), size);
  set(6, size);
  set(7, builder.getInt64(uint64_t(known.most)));
  set(8, in_place ? builder.CreatePtrAdd(call.getArgOperand(triple.buffer), node.offset) : null);
  set(9, library_.handle_of(known.shape.unit));
  set(10, builder.getInt64(uint64_t(known.shape.unit->bytes)));
  set(11, builder.getInt64(are_of_host(call, triple) ? 1 : 0));
  set(12, known.shape.one);
  const auto set_flag = [&](unsigned field, llvm::Value* flag) {
    set(field,
        flag == nullptr ? builder.getInt64(0) : builder.CreateZExt(flag, builder.getInt64Ty()));
  };
  set_flag(15, known.is_preloads);
  set_flag(16, known.is_apart);
  if (!is_pending) {
    set(13, null);
    set(14, null);
    return result;
  }
  keep(result, entry);
  const bool is_receive = mover(call)->form == "MPI_Irecv";
  if (!is_receive && bytes != nullptr && bytes->getSExtValue() <= room) return result;
  llvm::AllocaInst* buffer = nullptr;
  if (is_receive) {
    buffer = slot(pointer, 8);
    builder.CreateStore(call.getArgOperand(triple.buffer), buffer);
  }
  for (const Wait& wait : completion->second.waits) pending_.add(wait, result, buffer);
  return result;
}

}  // namespace lacuna
