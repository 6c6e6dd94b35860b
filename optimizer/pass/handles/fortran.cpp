// SPDX-License-Identifier: BSD-3-Clause
#include "optimizer/pass/handles/fortran.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>

#include "optimizer/pass/handles/raise.hpp"

namespace lacuna::pass {

namespace {

// Functions that are no producers: a letter for each parameter but ierror, which is the last.
//   i INTEGER   p an INTEGER that MPI changes   b buffer   h type   c communicator   s status
//   q request
struct Binding {
  llvm::StringRef name;
  llvm::StringRef parameters;
};
constexpr Binding kBindings[] = {
    {"MPI_Send", "bihiic"},   {"MPI_Recv", "bihiics"},     {"MPI_Sendrecv", "bihiibihiics"},
    {"MPI_Isend", "bihiicq"}, {"MPI_Irecv", "bihiicq"},    {"MPI_Wait", "qs"},
    {"MPI_Waitall", "iqs"},   {"MPI_Pack", "bihbipc"},     {"MPI_Unpack", "bipbihc"},
    {"MPI_Bcast", "bihic"},   {"MPI_Alltoall", "bihbihc"},
};

const Binding* binding(llvm::StringRef name) {
  const auto* found =
      llvm::find_if(kBindings, [&](const Binding& row) { return row.name == name; });
  return found == std::end(kBindings) ? nullptr : found;
}

llvm::StringRef parameters_of(llvm::StringRef name) {
  if (const Producer* row = producer(name)) return row->parameters;
  const Binding* row = binding(name);
  return row == nullptr ? "" : row->parameters;
}

std::string symbol(llvm::StringRef name) { return name.lower() + "_"; }

// The C name of the MPI function of a symbol of the binding, or "".
llvm::StringRef bound(llvm::StringRef symbol_name) {
  if (!symbol_name.starts_with("mpi_")) return "";
  for (const Producer& row : producers()) {
    if (symbol(row.name) == symbol_name && !has_large_counts(row)) return row.name;
  }
  for (const Binding& row : kBindings) {
    if (symbol(row.name) == symbol_name) return row.name;
  }
  return "";
}

bool is_result(char letter) { return letter == 'o' || letter == 'r'; }

// The type of the value that MPI reads at an argument's address; nullptr: it needs the address.
llvm::Type* value_type(char letter, llvm::LLVMContext& context) {
  if (letter == 'a') return llvm::Type::getInt64Ty(context);
  return letter == 'i' || letter == 'h' || letter == 'c' || is_result(letter)
             ? llvm::Type::getInt32Ty(context)
             : nullptr;
}

// Fortran guarantees no alignment of its variables.
const llvm::Align kAnywhere(1);

void raise_call(llvm::CallBase& call, llvm::StringRef name) {
  llvm::IRBuilder<> builder(&call);
  llvm::SmallVector<llvm::Value*, 16> args;
  llvm::Value* result = nullptr;
  for (auto [letter, given] : llvm::zip(parameters_of(name), call.args())) {
    llvm::Type* type = value_type(letter, call.getContext());
    args.push_back(type == nullptr ? given.get()
                                   : builder.CreateAlignedLoad(type, given, kAnywhere));
    if (is_result(letter)) result = given;
  }
  llvm::Value* error = call.getArgOperand(call.arg_size() - 1);
  llvm::CallBase* made = fortran_call(name, args, call, builder);
  llvm::Value* code = made;
  if (result != nullptr) {
    builder.CreateAlignedStore(builder.CreateExtractValue(made, 0), result, kAnywhere);
    code = builder.CreateExtractValue(made, 1);
  }
  builder.CreateAlignedStore(code, error, kAnywhere);
  call.eraseFromParent();
}

// Functions that are not raised: MPI writes to their last argument, ierror, and does not keep it.
bool has_ierror(llvm::StringRef symbol_name) {
  static const llvm::StringLiteral kNames =
      " abort allgather allgatherv allreduce alltoallv alltoallw barrier bsend bsend_init cancel "
      "cart_coords cart_create cart_get cart_rank cart_shift cart_sub comm_create comm_dup "
      "comm_free comm_group comm_set_errhandler comm_split comm_split_type dims_create exscan "
      "finalize finalized gather gatherv get_address get_count get_elements group_free group_incl "
      "iallgather iallreduce ialltoall ibarrier ibcast ibsend igather init init_thread initialized "
      "iprobe ireduce irsend iscatter issend op_create op_free pack_size probe recv_init reduce "
      "reduce_scatter request_free rsend scan scatter scatterv send_init sendrecv_replace ssend "
      "start startall test testall testany type_extent type_get_extent type_get_true_extent "
      "type_lb type_size type_ub waitany waitsome ";
  return symbol_name.starts_with("mpi_") && symbol_name.ends_with("_") &&
         kNames.contains((" " + symbol_name.drop_front(4).drop_back() + " ").str());
}

// Gives the call a new variable for ierror, and copies it to the program's. Otherwise this call
// might read the program's variable as far as LLVM knows, and the error codes of all calls before
// would have to be computed.
void free_ierror(llvm::CallBase& call) {
  const unsigned last = call.arg_size() - 1;
  llvm::Value* error = call.getArgOperand(last);
  llvm::IRBuilder<> entry(&*call.getFunction()->getEntryBlock().getFirstInsertionPt());
  llvm::AllocaInst* slot = entry.CreateAlloca(entry.getInt32Ty());
  call.setArgOperand(last, slot);
  llvm::IRBuilder<> builder(call.getNextNode());
  builder.SetCurrentDebugLocation(call.getDebugLoc());
  builder.CreateAlignedStore(builder.CreateLoad(builder.getInt32Ty(), slot), error, kAnywhere);
}

// Whether an address may be a sentinel: not if it is that of another variable.
bool may_be_sentinel(const llvm::Value* buffer, const Library& library) {
  const llvm::Value* object = llvm::getUnderlyingObject(buffer);
  if (llvm::isa<llvm::AllocaInst>(object)) return false;
  const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(object);
  return global == nullptr || llvm::any_of(library.sentinels(), [&](const Sentinel& sentinel) {
           return sentinel.block == global->getName();
         });
}

llvm::Value* is_sentinel(llvm::Value* address, bool of_status, const Library& library,
                         llvm::IRBuilder<>& builder) {
  llvm::Value* result = builder.getFalse();
  if (!may_be_sentinel(address, library)) return result;
  for (const Sentinel& sentinel : library.sentinels()) {
    if (sentinel.is_of_status != of_status) continue;
    // LLVM may have removed an unused declaration of the library's common block.
    llvm::Constant* block = library.module().getOrInsertGlobal(sentinel.block, builder.getInt8Ty());
    llvm::Value* place =
        builder.CreateConstGEP1_64(builder.getInt8Ty(), block, uint64_t(sentinel.offset));
    result = builder.CreateOr(result, builder.CreateICmpEQ(address, place));
  }
  return result;
}

// Converts one of Fortran's handles to C's.
llvm::Value* c_handle(llvm::Value* handle, const char* function, const Library& library,
                      llvm::IRBuilder<>& builder) {
  if (!library.has_own_handles_in_fortran()) return handle;
  auto callee =
      library.module().getOrInsertFunction(function, library.handle_type, builder.getInt32Ty());
  return builder.CreateCall(callee, {handle});
}

}  // namespace

bool is_of_binding(const llvm::CallBase& call, size_t arguments) {
  const llvm::FunctionType* type = call.getFunctionType();
  return llvm::isa<llvm::CallInst>(call) && !type->isVarArg() &&
         type->getReturnType()->isVoidTy() && type->getNumParams() == arguments &&
         !call.hasOperandBundles() && llvm::all_of(type->params(), [](const llvm::Type* parameter) {
           return parameter->isPointerTy() && parameter->getPointerAddressSpace() == 0;
         });
}

bool is_fortran(const llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  return callee != nullptr && callee->getName().starts_with(kFortran);
}

llvm::StringRef mpi_name(const llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr || !callee->isDeclaration()) return "";
  const llvm::StringRef name = callee->getName();
  if (name.starts_with(kFortran)) return name.drop_front(kFortran.size()).split('.').first;
  return name.starts_with("MPI_") ? name : "";
}

const Mover* mover(const llvm::CallBase& call) { return mover(mpi_name(call)); }

bool uses_fortran(const llvm::Module& module) {
  return llvm::any_of(module.functions(), [](const llvm::Function& function) {
    return function.isDeclaration() && !function.use_empty() && !bound(function.getName()).empty();
  });
}

bool raise_fortran(llvm::Function& function, const Library& library) {
  if (!library.has_fortran()) return false;
  llvm::SmallVector<std::pair<llvm::CallBase*, llvm::StringRef>, 16> found;
  llvm::SmallVector<llvm::CallBase*, 16> others;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    const llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
    if (callee == nullptr || !callee->isDeclaration()) continue;
    const llvm::StringRef name = bound(callee->getName());
    if (!name.empty() && is_of_binding(*call, parameters_of(name).size() + 1)) {
      found.emplace_back(call, name);
    } else if (has_ierror(callee->getName()) && is_of_binding(*call, call->arg_size()) &&
               call->arg_size() > 0) {
      others.push_back(call);
    }
  }
  if (found.empty()) return false;
  for (llvm::CallBase* call : others) free_ierror(*call);
  for (auto [call, name] : found) raise_call(*call, name);
  return true;
}

llvm::CallBase* fortran_call(llvm::StringRef name, llvm::ArrayRef<llvm::Value*> args,
                             llvm::CallBase& beside, llvm::IRBuilder<>& builder) {
  llvm::LLVMContext& context = beside.getContext();
  llvm::SmallVector<llvm::Type*, 16> types;
  for (llvm::Value* arg : args) types.push_back(arg->getType());
  llvm::Type* code = builder.getInt32Ty();
  llvm::Type* result =
      producer(name) == nullptr ? code : llvm::StructType::get(context, {types.back(), code});
  auto callee = beside.getModule()->getOrInsertFunction(
      (kFortran + name).str(), llvm::FunctionType::get(result, types, false));
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  for (auto [i, letter] : llvm::enumerate(parameters_of(name))) {
    if (!is_array(letter)) continue;
    function->addParamAttr(unsigned(i), llvm::Attribute::NoCapture);
    function->addParamAttr(unsigned(i), llvm::Attribute::ReadOnly);
  }
  llvm::CallBase* made = same_kind(beside, callee, args, builder);
  if (beside.doesNotThrow()) made->setDoesNotThrow();
  made->setMetadata(kFallback, beside.getMetadata(kFallback));
  return made;
}

void lower_fortran(llvm::CallBase& call) {
  const llvm::StringRef name = mpi_name(call);
  llvm::IRBuilder<> builder(&call);
  llvm::IRBuilder<> entry(&*call.getFunction()->getEntryBlock().getFirstInsertionPt());
  llvm::SmallVector<llvm::Value*, 16> args;
  llvm::Type* result_type = nullptr;
  llvm::AllocaInst* result = nullptr;
  unsigned next = 0;
  for (const char letter : parameters_of(name)) {
    const std::optional<uint64_t> length = is_array(letter) ? expanded_length(call) : std::nullopt;
    llvm::Type* type = value_type(letter, call.getContext());
    if (!length.has_value() && type == nullptr) {
      args.push_back(call.getArgOperand(next++));
      continue;
    }
    if (length.has_value()) type = letter == 'A' ? builder.getInt64Ty() : builder.getInt32Ty();
    const uint64_t many = length.value_or(1);
    llvm::AllocaInst* slot =
        entry.CreateAlloca(llvm::ArrayType::get(type, std::max<uint64_t>(many, 1)));
    for (uint64_t k = 0; k < many; ++k) {
      builder.CreateStore(call.getArgOperand(next++),
                          builder.CreateConstInBoundsGEP1_64(type, slot, k));
    }
    args.push_back(slot);
    if (!is_result(letter)) continue;
    result = slot;
    result_type = type;
  }
  llvm::AllocaInst* error = entry.CreateAlloca(builder.getInt32Ty());
  args.push_back(error);
  llvm::SmallVector<llvm::Type*, 16> types(args.size(), builder.getPtrTy());
  auto callee = call.getModule()->getOrInsertFunction(
      symbol(name), llvm::FunctionType::get(builder.getVoidTy(), types, false));
  llvm::CallBase* made = same_kind(call, callee, args, builder);
  if (call.doesNotThrow()) made->setDoesNotThrow();
  made->setMetadata(kFallback, call.getMetadata(kFallback));
  builder.SetInsertPoint(after(*made));
  builder.SetCurrentDebugLocation(call.getDebugLoc());
  llvm::Value* code = builder.CreateLoad(builder.getInt32Ty(), error);
  if (result == nullptr) {
    call.replaceAllUsesWith(code);
  } else {
    replace_results(call, builder.CreateLoad(result_type, result), code, builder);
  }
  call.eraseFromParent();
}

llvm::Value* is_ignored(llvm::Value* status, const Library& library, llvm::IRBuilder<>& builder) {
  return is_sentinel(status, true, library, builder);
}

llvm::Value* c_comm(llvm::Value* comm, const Library& library, llvm::IRBuilder<>& builder) {
  return c_handle(comm, "MPI_Comm_f2c", library, builder);
}

llvm::Value* c_type(llvm::Value* type, const Library& library, llvm::IRBuilder<>& builder) {
  return c_handle(type, "MPI_Type_f2c", library, builder);
}

llvm::Value* is_special_buffer(llvm::Value* buffer, const Library& library,
                               llvm::IRBuilder<>& builder) {
  return is_sentinel(buffer, false, library, builder);
}

llvm::Value* has_special_buffer(const llvm::CallBase& call, const Library& library,
                                llvm::IRBuilder<>& builder) {
  llvm::Value* result = builder.getFalse();
  for (auto [letter, given] : llvm::zip(parameters_of(mpi_name(call)), call.args())) {
    if (letter == 'b')
      result = builder.CreateOr(result, is_special_buffer(given, library, builder));
  }
  return result;
}

llvm::SmallVector<llvm::Value*, 16> c_arguments(llvm::CallBase& call, const Mover& row,
                                                llvm::ArrayRef<bool> is_left_out,
                                                const Library& library,
                                                llvm::IRBuilder<>& builder) {
  const llvm::StringRef letters = parameters_of(row.name);
  llvm::SmallVector<llvm::Value*, 16> args(call.args());
  llvm::Value* null = llvm::ConstantPointerNull::get(builder.getPtrTy());
  llvm::Value* is_special = has_special_buffer(call, library, builder);
  for (unsigned i = 0; i < args.size(); ++i) {
    if (letters[i] == 'c') {
      args[i] = c_comm(args[i], library, builder);
    } else if (letters[i] == 's') {
      args[i] = builder.CreateSelect(is_ignored(args[i], library, builder), library.status_ignore,
                                     args[i]);
    } else if (letters[i] == 'q' && library.has_own_handles_in_fortran()) {
      llvm::IRBuilder<> entry(&*call.getFunction()->getEntryBlock().getFirstInsertionPt());
      llvm::AllocaInst* request = entry.CreateAlloca(library.handle_type);
      builder.CreateStore(c_handle(builder.getInt32(0), "MPI_Request_f2c", library, builder),
                          request);
      args[i] = request;
    }
  }
  for (unsigned i = 0; i < args.size(); ++i) {
    if (letters[i] == 'b') args[i] = builder.CreateSelect(is_special, null, args[i]);
  }
  for (auto [triple, left_out] : llvm::zip(row.triples, is_left_out)) {
    args[triple.type] = left_out ? llvm::Constant::getNullValue(library.handle_type)
                                 : c_type(args[triple.type], library, builder);
  }
  return args;
}

void give_request(llvm::CallBase& made, llvm::Value* request, llvm::Value* given,
                  const Library& library) {
  llvm::IRBuilder<> builder(after(made));
  builder.SetCurrentDebugLocation(made.getDebugLoc());
  llvm::Type* number = builder.getInt32Ty();
  auto callee =
      library.module().getOrInsertFunction("MPI_Request_c2f", number, library.handle_type);
  llvm::Value* index =
      builder.CreateCall(callee, {builder.CreateLoad(library.handle_type, request)});
  llvm::Value* before = builder.CreateAlignedLoad(number, given, kAnywhere);
  llvm::Value* is_good = builder.CreateICmpEQ(&made, builder.getInt32(0));
  builder.CreateAlignedStore(builder.CreateSelect(is_good, index, before), given, kAnywhere);
}

}  // namespace lacuna::pass
