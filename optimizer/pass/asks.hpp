// SPDX-License-Identifier: BSD-3-Clause
//
// Calls that look their types up when they run. In a file that makes types they are functions of
// the templates (Specializer::ask). One that makes none need not be given the templates for that:
// files that note types share theirs with all of the program, and it calls those by name, if they
// are there; else, in a program without noted types, what it called.
#ifndef LACUNA_OPTIMIZER_PASS_ASKS_HPP_
#define LACUNA_OPTIMIZER_PASS_ASKS_HPP_

#include <llvm/ADT/StringRef.h>
#include <llvm/IR/Module.h>

namespace lacuna {

// LACUNA_ASKS of optimizer/templates/noted.hpp.
constexpr llvm::StringLiteral kAsks = "lacuna_asks_2_";

// Shares the templates' functions with the other files of the program.
void share_asking(llvm::Module& module);

// Has the calls of a function ask those of other files; whether there were any. For the end: no
// pass knows these calls then.
bool ask_others(llvm::Function& function);

}  // namespace lacuna

#endif  // LACUNA_OPTIMIZER_PASS_ASKS_HPP_
