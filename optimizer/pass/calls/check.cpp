// SPDX-License-Identifier: BSD-3-Clause
//
// LACUNA_CHECK=1: adds a call before each specialized call that compares its kernels with MPI_Pack
// and MPI_Unpack, once (optimizer/templates/check.cpp).
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Module.h>

#include "optimizer/pass/calls/site.hpp"

namespace lacuna::pass {

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
  // A BufferArg of its own: the address of this one is passed to a function, so it stays in memory;
  // that of the template must become constants.
  llvm::Value* arg = buffer_arg(call, triple, known, builder, false);
  auto* is_done = new llvm::GlobalVariable(module, builder.getInt32Ty(), false,
                                           llvm::GlobalValue::PrivateLinkage, builder.getInt32(0),
                                           "lacuna.is_done");
  llvm::Value* place = builder.CreateGlobalStringPtr(place_of(call, row.name));
  builder.CreateCall(
      library_.template_of("check"),
      {arg, args[triple.buffer], builder.CreateSExt(known.elements, builder.getInt64Ty()),
       args[triple.type], place, is_done});
}

}  // namespace lacuna::pass
