// SPDX-License-Identifier: BSD-3-Clause
//
// Converts between the program's calls and those of the templates, which are C's with int counts.
#include "optimizer/pass/calls/site.hpp"
#include "optimizer/pass/handles/fortran.hpp"
#include "optimizer/pass/handles/raise.hpp"

namespace lacuna::pass {

void restore(llvm::CallBase& original, const Mover& row, bool of_fortran,
             llvm::ArrayRef<llvm::Value*> given) {
  llvm::IRBuilder<> builder(&original);
  if (has_large_counts(row)) {
    llvm::SmallVector<llvm::Type*, 16> types;
    for (llvm::Value* value : given) types.push_back(value->getType());
    auto callee = original.getModule()->getOrInsertFunction(
        row.name, llvm::FunctionType::get(original.getType(), types, false));
    llvm::CallBase* made = same_kind(original, callee, given, builder);
    made->copyMetadata(original);
    original.replaceAllUsesWith(made);
    original.eraseFromParent();
    return;
  }
  if (!of_fortran) {
    original.setCalledFunction(
        original.getModule()->getOrInsertFunction(row.name, original.getFunctionType()));
    return;
  }
  original.replaceAllUsesWith(fortran_call(row.name, given, original, builder));
  original.eraseFromParent();
}

// The count of a type that is packed fits an int if the message is small enough to be packed first.
// The count of the other type has to be compared.
void Specializer::narrow(const Mover& row, llvm::MutableArrayRef<Known> known,
                         llvm::MutableArrayRef<llvm::Value*> args, llvm::IRBuilder<>& builder) {
  for (size_t i = 0; i < row.triples.size(); ++i) {
    llvm::Value*& count = args[row.triples[i].count];
    if (known[i].type == nullptr) {
      llvm::Value* is_large = builder.CreateICmpUGT(count, builder.getInt64(INT32_MAX));
      for (Known& each : known)
        each.is_librarys =
            each.is_librarys == nullptr ? is_large : builder.CreateOr(each.is_librarys, is_large);
    }
    count = builder.CreateTrunc(count, builder.getInt32Ty());
  }
}

}  // namespace lacuna::pass
