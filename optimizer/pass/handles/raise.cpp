// SPDX-License-Identifier: BSD-3-Clause
#include "optimizer/pass/handles/raise.hpp"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <string>

#include "optimizer/pass/handles/addresses.hpp"
#include "optimizer/pass/handles/fortran.hpp"

namespace lacuna::pass {

namespace {

constexpr llvm::StringLiteral kPrefix = "lacuna.raised.";

llvm::Type* element_type(char letter, llvm::LLVMContext& context, llvm::Type* handle_type) {
  switch (letter) {
    case 'I':
    case 'i':
    case 'r':
      return llvm::Type::getInt32Ty(context);
    case 'N':
    case 'n':
    case 'A':
    case 'a':
      return llvm::Type::getInt64Ty(context);
    default:
      return handle_type;
  }
}

// Whether the call has the prototype of the table. Not with NULL for an address: that is an error,
// which MPI reports.
bool matches(const llvm::CallBase& call, const Producer& row, llvm::Type* handle_type) {
  const llvm::FunctionType* type = call.getFunctionType();
  llvm::LLVMContext& context = call.getContext();
  if (type->isVarArg() || type->getNumParams() != row.parameters.size() ||
      !type->getReturnType()->isIntegerTy(32) || call.hasOperandBundles()) {
    return false;
  }
  for (unsigned i = 0; i < row.parameters.size(); ++i) {
    const char letter = row.parameters[i];
    const bool by_address = is_array(letter) || letter == 'o' || letter == 'r';
    llvm::Type* wanted = by_address ? llvm::PointerType::getUnqual(context)
                                    : element_type(letter, context, handle_type);
    if (type->getParamType(i) != wanted) return false;
    if (by_address && llvm::isa<llvm::ConstantPointerNull>(call.getArgOperand(i))) return false;
  }
  return true;
}

// Whether a call's arrays can become arguments; `length`: how many elements they have.
bool can_be_expanded(const llvm::CallBase& call, const Producer& row, uint64_t& length) {
  if (!llvm::any_of(row.parameters, is_array)) return false;
  const auto* count = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(0));
  if (count == nullptr || count->isNegative() || count->getZExtValue() > kMostElements)
    return false;
  length = count->getZExtValue();
  return true;
}

// The function of a raised call; `length`: of the arrays whose elements are arguments.
llvm::FunctionCallee declared(llvm::Module& module, const Producer& row, bool of_fortran,
                              llvm::ArrayRef<llvm::Value*> args, std::optional<uint64_t> length) {
  llvm::SmallVector<llvm::Type*, 16> types;
  for (llvm::Value* arg : args) types.push_back(arg->getType());
  auto* result = llvm::StructType::get(module.getContext(),
                                       {types.back(), llvm::Type::getInt32Ty(module.getContext())});
  std::string name = ((of_fortran ? kFortran : kPrefix) + row.name).str();
  if (length.has_value()) name += "." + std::to_string(*length);
  // It may read and write any memory: an error handler of the program may run.
  return module.getOrInsertFunction(name, llvm::FunctionType::get(result, types, false));
}

void raise_call(llvm::CallBase& call, const Producer& row, llvm::Type* handle_type,
                Addresses& addresses) {
  llvm::Module& module = *call.getModule();
  llvm::LLVMContext& context = call.getContext();
  llvm::IRBuilder<> builder(&call);
  uint64_t length = 0;
  const bool expanded = can_be_expanded(call, row, length);
  llvm::SmallVector<llvm::Value*, 16> args;
  llvm::SmallVector<llvm::Value*, 4> are_null;
  llvm::Value* address = nullptr;
  const auto place_of = [&](llvm::Value* given, bool is_array) {
    const Address found = addresses.of(call, given, is_array);
    are_null.push_back(found.is_null);
    return found.place;
  };
  for (unsigned i = 0; i < row.parameters.size(); ++i) {
    const char letter = row.parameters[i];
    llvm::Value* given = call.getArgOperand(i);
    llvm::Type* type = element_type(letter, context, handle_type);
    if (letter == 'o' || letter == 'r') {
      // With the value before the call, which stays if MPI writes nothing.
      address = given = place_of(given, false);
      args.push_back(builder.CreateLoad(type, given));
    } else if (!is_array(letter)) {
      args.push_back(given);
    } else if (expanded) {
      if (length > 0) given = place_of(given, true);
      for (uint64_t k = 0; k < length; ++k) {
        args.push_back(
            builder.CreateLoad(type, builder.CreateConstInBoundsGEP1_64(type, given, k)));
      }
    } else {
      args.push_back(given);
    }
  }
  auto callee = declared(module, row, false, args, expanded ? std::optional(length) : std::nullopt);
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  for (unsigned i = 0; !expanded && i < row.parameters.size(); ++i) {
    if (!is_array(row.parameters[i])) continue;
    function->addParamAttr(i, llvm::Attribute::NoCapture);
    function->addParamAttr(i, llvm::Attribute::ReadOnly);
  }
  llvm::CallBase* made = same_kind(call, callee, args, builder, bundle_of(are_null));
  if (call.doesNotThrow()) made->setDoesNotThrow();
  builder.SetInsertPoint(after(*made));
  builder.SetCurrentDebugLocation(call.getDebugLoc());
  builder.CreateStore(builder.CreateExtractValue(made, 0), address);
  if (!call.use_empty()) call.replaceAllUsesWith(builder.CreateExtractValue(made, 1));
  call.eraseFromParent();
}

// Makes the elements of the arrays of a raised Fortran call its arguments.
void expand(llvm::CallBase& call, const Producer& row, uint64_t length) {
  llvm::IRBuilder<> builder(&call);
  llvm::SmallVector<llvm::Value*, 16> args;
  for (auto [letter, given] : llvm::zip(row.parameters, call.args())) {
    if (!is_array(letter)) {
      args.push_back(given);
      continue;
    }
    llvm::Type* type = element_type(letter, call.getContext(), builder.getInt32Ty());
    for (uint64_t k = 0; k < length; ++k) {
      llvm::Value* place = builder.CreateConstInBoundsGEP1_64(type, given, k);
      args.push_back(builder.CreateAlignedLoad(type, place, llvm::Align(1)));
    }
  }
  llvm::CallBase* made =
      same_kind(call, declared(*call.getModule(), row, true, args, length), args, builder);
  if (call.doesNotThrow()) made->setDoesNotThrow();
  call.replaceAllUsesWith(made);
  call.eraseFromParent();
}

llvm::AllocaInst* slot(llvm::Function& function, llvm::Type* type) {
  llvm::IRBuilder<> builder(&*function.getEntryBlock().getFirstInsertionPt());
  return builder.CreateAlloca(type);
}

void lower_call(llvm::CallBase& call, const Producer& row) {
  llvm::Module& module = *call.getModule();
  llvm::LLVMContext& context = call.getContext();
  llvm::Function& function = *call.getFunction();
  llvm::Type* result_type = call.getArgOperand(call.arg_size() - 1)->getType();
  llvm::IRBuilder<> builder(&call);
  llvm::SmallVector<llvm::Value*, 8> args;
  llvm::SmallVector<llvm::Type*, 8> types;
  const bool expanded = expanded_length(call).has_value();
  const uint64_t length = expanded_length(call).value_or(0);
  unsigned next = 0, places = 0;
  llvm::AllocaInst* address = nullptr;
  const auto place_or_null = [&](llvm::Value* place) {
    llvm::Value* is_null = was_null(call, places++);
    return is_null == nullptr ? place
                              : builder.CreateSelect(
                                    is_null, llvm::Constant::getNullValue(place->getType()), place);
  };
  for (const char letter : row.parameters) {
    if (letter == 'o' || letter == 'r') {
      address = slot(function, result_type);
      builder.CreateStore(call.getArgOperand(next++), address);
      args.push_back(place_or_null(address));
    } else if (is_array(letter) && expanded) {
      llvm::Type* type = length == 0 ? builder.getInt32Ty() : call.getArgOperand(next)->getType();
      llvm::AllocaInst* array =
          slot(function, llvm::ArrayType::get(type, std::max<uint64_t>(length, 1)));
      for (uint64_t k = 0; k < length; ++k) {
        builder.CreateStore(call.getArgOperand(next++),
                            builder.CreateConstInBoundsGEP1_64(type, array, k));
      }
      args.push_back(length == 0 ? array : place_or_null(array));
    } else {
      args.push_back(call.getArgOperand(next++));
    }
    types.push_back(args.back()->getType());
  }
  auto callee = module.getOrInsertFunction(
      row.name, llvm::FunctionType::get(llvm::Type::getInt32Ty(context), types, false));
  llvm::CallBase* made = same_kind(call, callee, args, builder);
  if (call.doesNotThrow()) made->setDoesNotThrow();
  builder.SetInsertPoint(after(*made));
  builder.SetCurrentDebugLocation(call.getDebugLoc());
  replace_results(call, builder.CreateLoad(result_type, address), made, builder);
  call.eraseFromParent();
}

}  // namespace

void replace_results(llvm::CallBase& call, llvm::Value* result, llvm::Value* code,
                     llvm::IRBuilder<>& builder) {
  for (llvm::User* user : llvm::make_early_inc_range(call.users())) {
    auto* extract = llvm::dyn_cast<llvm::ExtractValueInst>(user);
    if (extract == nullptr) continue;
    extract->replaceAllUsesWith(extract->getIndices()[0] == 0 ? result : code);
    extract->eraseFromParent();
  }
  if (call.use_empty()) return;
  llvm::Value* both = builder.CreateInsertValue(llvm::PoisonValue::get(call.getType()), result, 0);
  call.replaceAllUsesWith(builder.CreateInsertValue(both, code, 1));
}

std::optional<uint64_t> expanded_length(const llvm::CallBase& call) {
  const llvm::StringRef name = call.getCalledFunction()->getName();
  const size_t prefix = is_fortran(call) ? kFortran.size() : kPrefix.size();
  if (!name.drop_front(prefix).contains('.')) return std::nullopt;
  return llvm::cast<llvm::ConstantInt>(call.getArgOperand(0))->getZExtValue();
}

llvm::CallBase* same_kind(llvm::CallBase& call, llvm::FunctionCallee callee,
                          llvm::ArrayRef<llvm::Value*> args, llvm::IRBuilder<>& builder,
                          llvm::ArrayRef<llvm::OperandBundleDef> bundles) {
  llvm::CallBase* made = nullptr;
  if (auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(&call)) {
    made = builder.CreateInvoke(callee, invoke->getNormalDest(), invoke->getUnwindDest(), args,
                                bundles);
  } else {
    made = builder.CreateCall(callee, args, bundles);
  }
  made->setDebugLoc(call.getDebugLoc());
  return made;
}

void split_normal_edge(llvm::CallBase& call) {
  auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(&call);
  if (invoke == nullptr) return;
  llvm::BasicBlock* next = invoke->getNormalDest();
  if (next->getSinglePredecessor() == nullptr) {
    llvm::SplitEdge(invoke->getParent(), next);
  } else {
    llvm::FoldSingleEntryPHINodes(next);  // phis would have to stay first in the block
  }
}

llvm::Instruction* after(llvm::CallBase& call) {
  auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(&call);
  return invoke == nullptr ? call.getNextNode() : &*invoke->getNormalDest()->getFirstInsertionPt();
}

bool raise(llvm::Function& function, llvm::Type* handle_type) {
  llvm::SmallVector<std::pair<llvm::CallBase*, const Producer*>, 16> found, of_fortran;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    const Producer* row = call == nullptr ? nullptr : producer(mpi_name(*call));
    if (row == nullptr) continue;
    if (is_fortran(*call)) {
      if (!expanded_length(*call).has_value()) of_fortran.emplace_back(call, row);
    } else if (matches(*call, *row, handle_type)) {
      found.emplace_back(call, row);
    }
  }
  for (auto [call, row] : of_fortran) {
    uint64_t length = 0;
    if (can_be_expanded(*call, *row, length)) expand(*call, *row, length);
  }
  for (auto [call, row] : found) split_normal_edge(*call);
  Addresses addresses(function);
  for (auto [call, row] : found) raise_call(*call, *row, handle_type, addresses);
  return !found.empty() || !of_fortran.empty();
}

void split_results(llvm::Function& function) {
  llvm::SmallVector<llvm::CallBase*, 8> invokes;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (llvm::isa<llvm::InvokeInst>(instruction) && raised(&instruction) != nullptr)
      invokes.push_back(llvm::cast<llvm::CallBase>(&instruction));
  }
  for (llvm::CallBase* invoke : invokes) split_normal_edge(*invoke);
  llvm::SmallVector<llvm::PHINode*, 4> pairs;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction);
    if (phi == nullptr || !phi->getType()->isStructTy()) continue;
    const bool are_ours = llvm::all_of(
        phi->incoming_values(), [](const llvm::Value* value) { return raised(value) != nullptr; });
    const bool are_taken_apart = llvm::all_of(phi->users(), [](const llvm::User* user) {
      return llvm::isa<llvm::ExtractValueInst>(user);
    });
    if (are_ours && are_taken_apart) pairs.push_back(phi);
  }
  for (llvm::PHINode* pair : pairs) {
    for (unsigned index : {0U, 1U}) {
      llvm::IRBuilder<> builder(pair);
      llvm::PHINode* half = builder.CreatePHI(pair->getType()->getStructElementType(index),
                                              pair->getNumIncomingValues());
      for (unsigned i = 0; i < pair->getNumIncomingValues(); ++i) {
        auto* call = llvm::cast<llvm::CallBase>(pair->getIncomingValue(i));
        // A block may be a predecessor twice, and must then give the same value.
        const int earlier = half->getBasicBlockIndex(pair->getIncomingBlock(i));
        if (earlier >= 0) {
          half->addIncoming(half->getIncomingValue(unsigned(earlier)), pair->getIncomingBlock(i));
          continue;
        }
        builder.SetInsertPoint(after(*call));
        half->addIncoming(builder.CreateExtractValue(call, index), pair->getIncomingBlock(i));
      }
      for (llvm::User* user : llvm::make_early_inc_range(pair->users())) {
        auto* extract = llvm::cast<llvm::ExtractValueInst>(user);
        if (extract->getIndices()[0] != index) continue;
        extract->replaceAllUsesWith(half);
        extract->eraseFromParent();
      }
      if (half->use_empty()) half->eraseFromParent();
    }
    pair->eraseFromParent();
  }
}

bool lower(llvm::Function& function) {
  llvm::SmallVector<llvm::CallBase*, 16> found;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (call != nullptr && (raised(call) != nullptr || is_fortran(*call))) found.push_back(call);
  }
  for (llvm::CallBase* call : found) {
    split_normal_edge(*call);
    if (is_fortran(*call)) {
      lower_fortran(*call);
    } else {
      lower_call(*call, *raised(call));
    }
  }
  return !found.empty();
}

const Producer* raised(const llvm::Value* value) {
  const auto* call = llvm::dyn_cast<llvm::CallBase>(value);
  const llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
  if (callee == nullptr) return nullptr;
  if (is_fortran(*call)) return producer(mpi_name(*call));
  if (!callee->getName().starts_with(kPrefix)) return nullptr;
  return producer(callee->getName().drop_front(kPrefix.size()).split('.').first);
}

bool arguments(llvm::CallBase& call, unsigned index, llvm::SmallVectorImpl<llvm::Value*>& values) {
  const Producer& row = *raised(&call);
  if (expanded_length(call).has_value()) {
    const auto length = unsigned(*expanded_length(call));
    unsigned next = 0;
    for (unsigned i = 0; i < index; ++i) next += is_array(row.parameters[i]) ? length : 1;
    const unsigned many = is_array(row.parameters[index]) ? length : 1;
    for (unsigned k = 0; k < many; ++k) values.push_back(call.getArgOperand(next + k));
    return true;
  }
  llvm::Value* given = call.getArgOperand(index);
  if (!is_array(row.parameters[index])) {
    values.push_back(given);
    return true;
  }
  const auto* count = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(0));
  auto* constant = llvm::dyn_cast<llvm::Constant>(given);
  if (count == nullptr || count->isNegative() || constant == nullptr) return false;
  const llvm::DataLayout& layout = call.getModule()->getDataLayout();
  llvm::Type* handle_type = call.getArgOperand(call.arg_size() - 1)->getType();
  llvm::Type* type = element_type(row.parameters[index], call.getContext(), handle_type);
  const uint64_t bytes = layout.getTypeStoreSize(type).getFixedValue();
  for (uint64_t k = 0; k < count->getZExtValue(); ++k) {
    llvm::APInt offset(64, k * bytes);
    llvm::Constant* element = llvm::ConstantFoldLoadFromConstPtr(constant, type, offset, layout);
    if (element == nullptr || llvm::isa<llvm::UndefValue>(element)) return false;
    values.push_back(element);
  }
  return true;
}

llvm::CallBase* raised_call(const Producer& row, bool of_fortran,
                            llvm::ArrayRef<llvm::SmallVector<llvm::Value*, 4>> values,
                            llvm::Value* before, llvm::IRBuilder<>& builder) {
  llvm::SmallVector<llvm::Value*, 16> args;
  std::optional<uint64_t> length;
  for (size_t i = 0; i < values.size(); ++i) {
    if (is_array(row.parameters[i])) length = values[i].size();
    args.append(values[i].begin(), values[i].end());
  }
  args.push_back(before);
  return builder.CreateCall(
      declared(*builder.GetInsertBlock()->getModule(), row, of_fortran, args, length), args);
}

llvm::Value* previous(llvm::CallBase& call) { return call.getArgOperand(call.arg_size() - 1); }

}  // namespace lacuna::pass
