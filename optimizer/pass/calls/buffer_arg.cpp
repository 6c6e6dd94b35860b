// SPDX-License-Identifier: BSD-3-Clause
//
// Fills the struct BufferArg of optimizer/templates/buffer_arg.hpp for a template.
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Support/CommandLine.h>

#include "optimizer/interface.hpp"
#include "optimizer/pass/calls/site.hpp"
#include "optimizer/pass/handles/fortran.hpp"

namespace lacuna::pass {

namespace {

using Member = interface::BufferArgMember;

constexpr int64_t kGap = interface::kMostUnitBytes;
// Staging memory in the caller's frame. Larger messages take memory from templates/memory.cpp.
llvm::cl::opt<int64_t> frame_static("lacuna-frame-static", llvm::cl::init(16384), llvm::cl::Hidden,
                                    llvm::cl::desc("Most packed bytes, where they are constant"));
llvm::cl::opt<int64_t> frame_dynamic("lacuna-frame-dynamic", llvm::cl::init(4096), llvm::cl::Hidden,
                                     llvm::cl::desc("The same for a size of the run time"));
// For all nonblocking messages of a function together: threads may have small stacks.
llvm::cl::opt<int64_t> frame_kept("lacuna-frame-kept", llvm::cl::init(131072), llvm::cl::Hidden,
                                  llvm::cl::desc("Most packed bytes of nonblocking messages"));

// Whether a buffer is surely no memory of a device: a variable, or from a host allocator.
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

// The same of all memory that a template touches: for Pack and Unpack also the packed buffer.
bool are_of_host(const llvm::CallBase& call, const Triple& triple) {
  const llvm::StringRef name = mover(call)->name;
  const bool packs = name.starts_with("MPI_Pack"), unpacks = name.starts_with("MPI_Unpack");
  return is_of_host(call.getArgOperand(triple.buffer)) &&
         (!(packs || unpacks) || is_of_host(call.getArgOperand(packs ? 3 : 0)));
}

}  // namespace

llvm::StructType* Specializer::buffer_arg_type() const {
  static constexpr interface::Kind kKinds[] = {LACUNA_BUFFER_ARG(LACUNA_KIND)};
  llvm::LLVMContext& context = library_.handle_type->getContext();
  llvm::SmallVector<llvm::Type*, Member::kCount> types;
  for (const interface::Kind kind : kKinds) {
    types.push_back(kind == interface::Kind::kPointer  ? llvm::PointerType::getUnqual(context)
                    : kind == interface::Kind::kHandle ? library_.handle_type
                                                       : llvm::Type::getInt64Ty(context));
  }
  return llvm::StructType::get(context, types);
}

// The waits read these also where the call was not made.
void Specializer::add_pending(llvm::AllocaInst* arg, llvm::IRBuilder<>& entry) const {
  llvm::StructType* type = buffer_arg_type();
  llvm::AllocaInst* pending = entry.CreateAlloca(entry.getInt64Ty());
  entry.CreateStore(entry.getInt64(0), pending);
  llvm::AllocaInst* held = entry.CreateAlloca(entry.getPtrTy());
  entry.CreateStore(llvm::ConstantPointerNull::get(entry.getPtrTy()), held);
  entry.CreateStore(pending, entry.CreateStructGEP(type, arg, Member::pending));
  entry.CreateStore(held, entry.CreateStructGEP(type, arg, Member::held));
}

// For a call that looks its type up: fills the staging memory only; the template fills the rest.
llvm::AllocaInst* Specializer::lookup_buffer_arg(llvm::CallBase& call, const Mover& row) {
  const Completion& completion = completions_.find(&call)->second;
  llvm::IRBuilder<> entry(&*call.getFunction()->getEntryBlock().getFirstInsertionPt());
  llvm::AllocaInst* arg = entry.CreateAlloca(buffer_arg_type());
  arg->setAlignment(llvm::Align(16));
  add_pending(arg, entry);
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
  entry.CreateStore(stack, entry.CreateStructGEP(buffer_arg_type(), arg, Member::stack));
  entry.CreateStore(entry.getInt64(uint64_t(room)),
                    entry.CreateStructGEP(buffer_arg_type(), arg, Member::room));
  llvm::AllocaInst* buffer = nullptr;
  if (row.form == "MPI_Irecv") {
    buffer = entry.CreateAlloca(entry.getPtrTy());
    llvm::IRBuilder<>(&call).CreateStore(call.getArgOperand(row.triples[0].buffer), buffer);
  }
  for (const Wait& wait : completion.waits) pending_.add(wait, arg, buffer);
  return arg;
}

llvm::Value* Specializer::buffer_arg(llvm::CallBase& call, const Triple& triple, const Known& known,
                                     llvm::IRBuilder<>& builder, bool is_kept) {
  llvm::Module& module = *call.getModule();
  llvm::Type *pointer = builder.getPtrTy(), *number = builder.getInt64Ty();
  llvm::StructType* type = buffer_arg_type();
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
  const auto set = [&](Member::Index member, llvm::Value* value) {
    builder.CreateStore(value, builder.CreateStructGEP(type, result, member));
  };
  llvm::Value* null = llvm::ConstantPointerNull::get(builder.getPtrTy());
  if (known.type == nullptr) {
    for (unsigned i = 0; i < Member::kCount; ++i)
      set(Member::Index(i), llvm::Constant::getNullValue(type->getElementType(i)));
    // A template may divide by these.
    for (const auto member : {Member::unit_bytes, Member::one_bytes})
      set(member, builder.getInt64(1));
    return result;
  }
  const Node& node = *known.shape.node;
  const bool in_place = node.kind == Node::kRun;
  Kernel kernel(node);
  set(Member::pack, kernel.emit(module, Kernel::kPack));
  set(Member::unpack, kernel.emit(module, Kernel::kUnpack));
  set(Member::unpack_prefix, kernel.emit(module, Kernel::kPrefix));
  if (kernel.numbers().empty()) {
    set(Member::shape, null);
  } else {
    llvm::AllocaInst* numbers = slot(llvm::ArrayType::get(number, kernel.numbers().size()), 8);
    for (size_t i = 0; i < kernel.numbers().size(); ++i) {
      builder.CreateStore(kernel.numbers()[i],
                          builder.CreateConstInBoundsGEP1_64(number, numbers, i));
    }
    set(Member::shape, numbers);
  }
  const auto* bytes = constant(node.bytes);
  const auto completion = completions_.find(&call);
  const bool is_pending = is_kept && completion != completions_.end();
  const int64_t gap = known.with_gap == nullptr ? 0 : kGap;
  int64_t room = in_place           ? 0
                 : bytes == nullptr ? std::min<int64_t>(known.most, frame_dynamic)
                 : bytes->getSExtValue() <= frame_static ? bytes->getSExtValue()
                                                         : 0;
  if (is_pending && (completion->second.may_be_left || kept_room_ + room + gap > frame_kept))
    room = 0;
  const int64_t in_frame = room > 0 ? room + gap : 0;
  if (is_pending) kept_room_ += in_frame;
  set(Member::stack, in_frame > 0
                         ? slot(llvm::ArrayType::get(builder.getInt8Ty(), uint64_t(in_frame)), 64)
                         : null);
  set(Member::room, builder.getInt64(uint64_t(room)));
  llvm::Value* size = node.bytes;
  if (known.type->may_be_null) {
    // A global variable that was never set holds zero.
    llvm::Value* handle = call.getArgOperand(triple.type);
    llvm::Value* is_none = builder.CreateOr(
        builder.CreateICmpEQ(handle, library_.type_null(handle->getType())),
        builder.CreateICmpEQ(handle, llvm::Constant::getNullValue(handle->getType())));
    size = builder.CreateSelect(is_none, builder.getInt64(uint64_t(INT64_MAX)), size);
  }
  if (known.is_librarys != nullptr)
    size = builder.CreateSelect(known.is_librarys, builder.getInt64(uint64_t(INT64_MAX)), size);
  set(Member::bytes, size);
  set(Member::most, builder.getInt64(uint64_t(known.most)));
  set(Member::in_place,
      in_place ? builder.CreatePtrAdd(call.getArgOperand(triple.buffer), node.offset) : null);
  set(Member::unit, library_.handle_of(known.shape.unit));
  set(Member::unit_bytes, builder.getInt64(uint64_t(known.shape.unit->bytes)));
  set(Member::is_host, builder.getInt64(are_of_host(call, triple) ? 1 : 0));
  set(Member::one_bytes, known.shape.one);
  const auto set_flag = [&](Member::Index member, llvm::Value* flag) {
    set(member,
        flag == nullptr ? builder.getInt64(0) : builder.CreateZExt(flag, builder.getInt64Ty()));
  };
  set_flag(Member::is_preloads, known.is_preloads);
  set_flag(Member::with_gap, known.with_gap);
  if (!is_pending) {
    set(Member::pending, null);
    set(Member::held, null);
    return result;
  }
  add_pending(result, entry);
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

}  // namespace lacuna::pass
