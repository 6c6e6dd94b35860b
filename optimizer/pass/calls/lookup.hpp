// SPDX-License-Identifier: BSD-3-Clause
//
// Calls whose types are not known at compile time (they come from a struct, a variable of other
// files or a caller) look them up in the registry when they run (registry.hpp). In a file that
// makes types, they become calls of template functions (Specializer::look_up). A file that makes
// none needs no templates for that: files that register types share these functions, and it calls
// them by name if the program has them, and MPI's own functions otherwise.
#ifndef LACUNA_OPTIMIZER_PASS_CALLS_LOOKUP_HPP_
#define LACUNA_OPTIMIZER_PASS_CALLS_LOOKUP_HPP_

#include <llvm/ADT/StringRef.h>
#include <llvm/IR/Module.h>

namespace lacuna::pass {

// Prefix of these functions: LACUNA_LOOKUP of optimizer/templates/registry.hpp.
constexpr llvm::StringLiteral kLookup = "lacuna_lookup_1_";

// Makes these functions of the module weak symbols that other files of the program can call.
void share_lookups(llvm::Module& module);

// Replaces calls by those of the shared functions; whether there were any. Only as the last step,
// as the pass does not recognise these calls.
bool call_shared_lookups(llvm::Function& function);

}  // namespace lacuna::pass

#endif  // LACUNA_OPTIMIZER_PASS_CALLS_LOOKUP_HPP_
