// SPDX-License-Identifier: BSD-3-Clause
//
// With LACUNA_CHECK=1, a call before each site that compares its kernels with the type's own, once
// (optimizer/templates/check.cpp).
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Module.h>

#include "optimizer/pass/site.hpp"

namespace lacuna {

std::string place_of(const llvm::CallBase& call, llvm::StringRef what) {
  const llvm::DebugLoc& place = call.getDebugLoc();
  std::string result = what.str() + " in " + call.getFunction()->getName().str();
  if (!place) return result;
  return (place->getFilename() + ":").str() + std::to_string(place.getLine()) + ": " + result;
}

void Specializer::check(llvm::CallBase& call, const Mover& row, const Triple& triple,
                        const Known& known, llvm::ArrayRef<llvm::Value*> args,
                        llvm::IRBuilder<>& builder) {
  llvm::Module& module = *call.getModule();
  // Of its own: what has been given away stays in memory, and the template's is to be folded.
  llvm::Value* seen = part(call, triple, known, builder, false);
  auto* is_done = new llvm::GlobalVariable(module, builder.getInt32Ty(), false,
                                           llvm::GlobalValue::PrivateLinkage, builder.getInt32(0),
                                           "lacuna.is_done");
  llvm::Value* place = builder.CreateGlobalStringPtr(place_of(call, row.name));
  builder.CreateCall(
      library_.template_of("check"),
      {seen, args[triple.buffer], builder.CreateSExt(known.elements, builder.getInt64Ty()),
       args[triple.type], place, is_done});
}

}  // namespace lacuna
