// SPDX-License-Identifier: BSD-3-Clause
#include "optimizer/pass/types/resolve.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/ScopeExit.h>
#include <llvm/IR/Instructions.h>

#include "optimizer/pass/handles/raise.hpp"

namespace lacuna::pass {

const Type* Resolver::no(const char* reason) {
  if (why_.empty()) why_ = reason;
  return nullptr;
}

const Type* Resolver::resolve(llvm::Value* handle) {
  why_.clear();
  under_way_.clear();
  return find(handle);
}

const Type* Resolver::find(llvm::Value* handle) {
  if (const Basic* basic = library_.basic(handle)) {
    types_.push_back({});
    types_.back().basic = basic;
    return &types_.back();
  }
  if (library_.is_type_null(handle)) return no("the type is MPI_DATATYPE_NULL");
  if (llvm::isa<llvm::UndefValue>(handle)) return no("the type was never made");
  if (llvm::isa<llvm::Constant>(handle)) return no("a predefined type that is not in the table");
  if (!under_way_.insert(handle).second) return no("the type changes in a loop");
  const auto leave = llvm::make_scope_exit([&] { under_way_.erase(handle); });
  if (auto* extract = llvm::dyn_cast<llvm::ExtractValueInst>(handle)) {
    if (extract->getNumIndices() == 1 && extract->getIndices()[0] == 0) {
      return result_of(extract->getAggregateOperand());
    }
    return no("the type comes out of a structure");
  }
  if (auto* phi = llvm::dyn_cast<llvm::PHINode>(handle)) {
    llvm::SmallVector<llvm::Value*, 8> values(phi->incoming_values());
    return merged(values, false);
  }
  if (auto* select = llvm::dyn_cast<llvm::SelectInst>(handle)) {
    return merged({select->getTrueValue(), select->getFalseValue()}, false);
  }
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(handle)) {
    auto* global = llvm::dyn_cast<llvm::GlobalVariable>(load->getPointerOperand());
    if (global != nullptr && load->isSimple()) return in_global(*global);
    return no("the type is loaded from memory that others may write");
  }
  if (llvm::isa<llvm::Argument>(handle)) return no("the type is an argument of the function");
  if (llvm::isa<llvm::CallBase>(handle)) return no("the type is the result of a function");
  return no("the type is computed");
}

const Type* Resolver::result_of(llvm::Value* pair) {
  if (const Producer* row = raised(pair)) {
    auto& call = *llvm::cast<llvm::CallBase>(pair);
    if (row->name == "MPI_Type_commit") return find(previous(call));
    if (row->name == "MPI_Type_free") return no("the type has been freed");
    if (!row->text.empty()) return constructed(call);
  }
  if (auto* phi = llvm::dyn_cast<llvm::PHINode>(pair)) {
    if (!under_way_.insert(phi).second) return no("the type changes in a loop");
    llvm::SmallVector<llvm::Value*, 8> values(phi->incoming_values());
    return merged(values, true);
  }
  return no("the type comes out of a structure");
}

const Type* Resolver::constructed(llvm::CallBase& call) {
  Type type;
  type.made_by = raised(&call);
  for (unsigned i = 0; i + 1 < type.made_by->parameters.size(); ++i) {
    llvm::SmallVector<llvm::Value*, 16> values;
    const char letter = type.made_by->parameters[i];
    if (!arguments(call, i, values)) {
      const llvm::StringRef text = type.made_by->text;
      if (i != 2 || (text != "indexed_block" && text != "hindexed_block"))
        return no("its arrays are not known");
      type.listed_by = &call;
      type.numbers.emplace_back();
      continue;
    }
    if (letter != 'h' && letter != 'H') {
      type.numbers.emplace_back(values.begin(), values.end());
      continue;
    }
    for (llvm::Value* value : values) {
      const Type* part = find(value);
      if (part == nullptr) return nullptr;
      if (part->may_be_null) return no("a part of the type may be MPI_DATATYPE_NULL");
      type.parts.push_back(part);
    }
  }
  for (const auto& list : type.numbers) {
    for (llvm::Value* value : list) {
      if (llvm::isa<llvm::UndefValue>(value)) return no("a number of the type was never set");
    }
  }
  if (type.made_by->text == "subarray") {
    const auto* order = llvm::dyn_cast<llvm::ConstantInt>(type.numbers.back()[0]);
    type.order = order == nullptr                            ? "?"
                 : order->getSExtValue() == library_.order_c ? "c"
                                                             : "fortran";
  }
  types_.push_back(std::move(type));
  return &types_.back();
}

// Where one of several values may come (a phi or select), their trees must be equal, with constant
// numbers only: a number of the run time may differ in each iteration of a loop.
const Type* Resolver::merged(llvm::ArrayRef<llvm::Value*> values, bool are_pairs) {
  const Type* result = nullptr;
  bool may_be_null = false;
  for (llvm::Value* value : values) {
    if (!are_pairs && library_.is_type_null(value)) {
      may_be_null = true;
      continue;
    }
    const Type* found = are_pairs ? result_of(value) : find(value);
    if (found == nullptr) return nullptr;
    if (!found->is_constant()) return no("types with run-time parameters meet here");
    if (result != nullptr && !equal(*result, *found)) return no("different types meet here");
    may_be_null = may_be_null || found->may_be_null;
    result = found;
  }
  if (result == nullptr) return no("the type is MPI_DATATYPE_NULL");
  if (!may_be_null) return result;
  Type copy = *result;
  copy.may_be_null = true;
  types_.push_back(std::move(copy));
  return &types_.back();
}

// A variable that only this module sees, and all of whose stores are of equal, constant trees: at a
// use it holds that type or, before the first store or after a free, none.
const Type* Resolver::in_global(llvm::GlobalVariable& global) {
  if (!global.hasLocalLinkage() || global.isThreadLocal() || !global.hasInitializer()) {
    return no("the type is in a variable that other files may write");
  }
  const llvm::Constant* before = global.getInitializer();
  if (!before->isNullValue() && !library_.is_type_null(before))
    return no("the type is in an initialized variable");
  const Type* result = nullptr;
  for (llvm::User* user : global.users()) {
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(user)) {
      if (!load->isSimple()) return no("the type is in a volatile or atomic variable");
      continue;
    }
    auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
    if (store == nullptr || store->getPointerOperand() != &global || !store->isSimple()) {
      return no("the address of the type's variable is given away");
    }
    llvm::Value* value = store->getValueOperand();
    if (library_.is_type_null(value)) continue;
    if (auto* extract = llvm::dyn_cast<llvm::ExtractValueInst>(value)) {
      const Producer* row = raised(extract->getAggregateOperand());
      if (row != nullptr && row->name == "MPI_Type_free") continue;
      if (row != nullptr && row->name == "MPI_Type_commit") {  // of the variable itself
        auto* load = llvm::dyn_cast<llvm::LoadInst>(
            previous(*llvm::cast<llvm::CallBase>(extract->getAggregateOperand())));
        if (load != nullptr && load->getPointerOperand() == &global) continue;
      }
    }
    const Type* found = find(value);
    if (found == nullptr) return nullptr;
    if (!found->is_constant()) return no("the variable's type has run-time parameters");
    if (result != nullptr && !equal(*result, *found))
      return no("the variable holds different types");
    result = found;
  }
  if (result == nullptr) return no("the variable's type is never made here");
  Type copy = *result;
  copy.may_be_null = true;
  types_.push_back(std::move(copy));
  return &types_.back();
}

}  // namespace lacuna::pass
