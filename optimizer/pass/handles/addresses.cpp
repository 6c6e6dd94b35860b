// SPDX-License-Identifier: BSD-3-Clause
#include "optimizer/pass/handles/addresses.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/SimplifyQuery.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Module.h>

#include "optimizer/pass/handles/raise.hpp"

namespace lacuna::pass {

namespace {

constexpr llvm::StringLiteral kBundle = "lacuna.null";

// The variable that replaces NULL: zeros for an array, one word for a result. Global, since LLVM
// would turn a choice between two local variables into branches, and the handle would be lost.
llvm::GlobalVariable* instead(llvm::Module& module, bool is_array) {
  const char* name = is_array ? "lacuna.no_array" : "lacuna.nowhere";
  if (auto* known = module.getGlobalVariable(name, /*AllowInternal=*/true)) return known;
  llvm::Type* word = llvm::Type::getInt64Ty(module.getContext());
  llvm::Type* type = llvm::ArrayType::get(word, is_array ? kMostElements : 1);
  return new llvm::GlobalVariable(module, type, is_array, llvm::GlobalValue::InternalLinkage,
                                  llvm::Constant::getNullValue(type), name);
}

// The place right after a value is computed.
llvm::Instruction* place_after(llvm::Value* value, llvm::Function& function) {
  auto* made = llvm::dyn_cast<llvm::Instruction>(value);
  if (made == nullptr) return &*function.getEntryBlock().getFirstInsertionPt();
  const auto place = made->getInsertionPointAfterDef();
  return place.has_value() ? &**place : nullptr;
}

}  // namespace

Address Addresses::of(llvm::CallBase& call, llvm::Value* given, bool is_array) {
  llvm::Constant* no = llvm::ConstantInt::getFalse(call.getContext());
  const llvm::DataLayout& layout = function_.getParent()->getDataLayout();
  if (llvm::isKnownNonZero(given, llvm::SimplifyQuery(layout, &call))) return {given, no};
  if (!tree_.has_value()) tree_.emplace(function_);
  const llvm::SimplifyQuery query(layout, &*tree_, /*AC=*/nullptr, &call);
  if (llvm::isKnownNonZero(given, query)) return {given, no};
  auto& known = is_array ? arrays_ : others_;
  if (const auto found = known.find(given); found != known.end()) return found->second;
  llvm::Instruction* begin = place_after(given, function_);
  // There is no such place for the result of a callbr.
  llvm::IRBuilder<> builder(begin == nullptr ? &call : begin);
  llvm::Value* is_null = builder.CreateIsNull(given);
  llvm::Value* place =
      builder.CreateSelect(is_null, instead(*function_.getParent(), is_array), given);
  const Address made = {place, is_null};
  if (begin == nullptr) return made;
  // The program's own loads and stores must use the same address, so that LLVM sees that it is the
  // same variable. With NULL they would crash anyway.
  if (!is_array && !llvm::isa<llvm::Constant>(given)) {
    given->replaceUsesWithIf(place, [&](const llvm::Use& use) {
      const auto* user = llvm::cast<llvm::Instruction>(use.getUser());
      return llvm::getLoadStorePointerOperand(user) == given &&
             use.getOperandNo() == (llvm::isa<llvm::LoadInst>(user) ? 0 : 1);
    });
  }
  known[given] = made;
  return made;
}

llvm::SmallVector<llvm::OperandBundleDef, 1> bundle_of(llvm::ArrayRef<llvm::Value*> are_null) {
  llvm::SmallVector<llvm::OperandBundleDef, 1> bundles;
  const auto is_no = [](const llvm::Value* value) {
    const auto* known = llvm::dyn_cast<llvm::ConstantInt>(value);
    return known != nullptr && known->isZero();
  };
  if (!llvm::all_of(are_null, is_no))
    bundles.emplace_back(kBundle.str(),
                         std::vector<llvm::Value*>(are_null.begin(), are_null.end()));
  return bundles;
}

llvm::Value* was_null(const llvm::CallBase& call, unsigned index) {
  const auto bundle = call.getOperandBundle(kBundle);
  if (!bundle.has_value()) return nullptr;
  llvm::Value* value = bundle->Inputs[index];
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(value);
  return known != nullptr && known->isZero() ? nullptr : value;
}

bool are_places(const llvm::CallBase& call) {
  const auto bundle = call.getOperandBundle(kBundle);
  if (!bundle.has_value()) return true;
  for (unsigned i = 0; i < bundle->Inputs.size(); ++i) {
    if (was_null(call, i) != nullptr) return false;
  }
  return true;
}

}  // namespace lacuna::pass
