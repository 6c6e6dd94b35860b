// SPDX-License-Identifier: BSD-3-Clause
//
// Calls whose types are not known here, because their handles come from a struct, a variable that
// others have, or a caller: they look them up among the noted types (register.hpp) when they run.
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/Support/CommandLine.h>

#include "optimizer/pass/fortran.hpp"
#include "optimizer/pass/register.hpp"
#include "optimizer/pass/site.hpp"

namespace lacuna {

namespace {

// The C++ struct Asked of optimizer/templates/noted.hpp, in words.
constexpr uint64_t kWordsOfAsked = 14;

}  // namespace

bool Specializer::ask(llvm::CallBase& call, const Mover& row, llvm::StringRef why) {
  if (!asks_ || !notes_types() || is_fortran(call) || row.name != row.form) return false;
  llvm::Function* body = library_.template_of(("asks_" + row.form).str());
  if (body == nullptr) return false;
  if (row.request >= 0 && completions_.find(&call) == completions_.end()) return false;
  const bool only_reports = options::mode() == options::Mode::kReport;
  remarks_.emit([&] {
    return llvm::OptimizationRemark("lacuna", "Asks", &call)
           << llvm::ore::NV("Function", row.name)
           << (only_reports ? " can ask when it runs: " : " asks when it runs: ")
           << llvm::ore::NV("Reason", why);
  });
  if (only_reports) return true;
  split_normal_edge(call);
  llvm::SmallVector<llvm::Value*, 16> args(call.args());
  if (row.request >= 0) {
    llvm::IRBuilder<> entry(&*call.getFunction()->getEntryBlock().getFirstInsertionPt());
    args.push_back(asked_part(call, row));
    args.push_back(entry.CreateAlloca(llvm::ArrayType::get(entry.getInt64Ty(), kWordsOfAsked)));
  }
  llvm::IRBuilder<> builder(&call);
  llvm::CallBase* made = same_kind(call, body, args, builder);
  call.replaceAllUsesWith(made);
  call.eraseFromParent();
  return true;
}

}  // namespace lacuna
