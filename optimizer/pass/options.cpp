// SPDX-License-Identifier: BSD-3-Clause
#include "optimizer/pass/options.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Metadata.h>
#include <llvm/Support/CommandLine.h>

namespace lacuna::options {

namespace {

// Where nobody says otherwise: what every library sends eagerly.
constexpr int64_t kMostBytes = 2048;
constexpr llvm::StringLiteral kKept = "lacuna.options";

llvm::cl::opt<Mode> chosen_mode(
    "lacuna", llvm::cl::desc("What lacuna does with MPI calls"), llvm::cl::init(Mode::kOn),
    llvm::cl::values(clEnumValN(Mode::kOff, "off", "nothing"),
                     clEnumValN(Mode::kReport, "report", "remarks only"),
                     clEnumValN(Mode::kOn, "on", "specialize what is known")));
llvm::cl::opt<std::string> templates_file(
    "lacuna-templates", llvm::cl::desc("The bitcode of the templates for the MPI library"));
llvm::cl::opt<int64_t> most_strided(
    "lacuna-most-strided", llvm::cl::init(kMostBytes),
    llvm::cl::desc("Most bytes of a message of equal blocks to pack first"));
llvm::cl::opt<int64_t> most_listed("lacuna-most-listed", llvm::cl::init(kMostBytes),
                                   llvm::cl::desc("The same for listed displacements"));
llvm::cl::opt<int64_t> most_fields("lacuna-most-fields", llvm::cl::init(kMostBytes),
                                   llvm::cl::desc("The same for structs"));
llvm::cl::opt<bool> is_checked("lacuna-check", llvm::cl::init(false),
                               llvm::cl::desc("Compare each site's kernels with MPI_Pack, once"));
llvm::cl::opt<bool> is_verified("lacuna-verify", llvm::cl::init(false),
                                llvm::cl::desc("Check the module after each of lacuna's stages"));

}  // namespace

bool checks() { return is_checked; }
bool verifies() { return is_verified; }
Mode mode() { return chosen_mode; }
const std::string& templates() { return templates_file; }

int64_t most_bytes(Pattern pattern) {
  switch (pattern) {
    case Pattern::kStrided:
      return most_strided;
    case Pattern::kListed:
      return most_listed;
    case Pattern::kFields:
      return most_fields;
  }
  return 0;
}

void keep(llvm::Module& module) {
  if (templates().empty() || module.getNamedMetadata(kKept) != nullptr) return;
  llvm::LLVMContext& context = module.getContext();
  llvm::SmallVector<llvm::Metadata*, 6> values = {llvm::MDString::get(context, templates())};
  for (const int64_t number : {int64_t(mode()), int64_t(most_strided), int64_t(most_listed),
                               int64_t(most_fields), int64_t(is_checked)}) {
    values.push_back(llvm::ConstantAsMetadata::get(
        llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), uint64_t(number))));
  }
  module.getOrInsertNamedMetadata(kKept)->addOperand(llvm::MDNode::get(context, values));
}

void recall(const llvm::Module& module) {
  const llvm::NamedMDNode* kept = module.getNamedMetadata(kKept);
  if (!templates().empty() || kept == nullptr || kept->getNumOperands() == 0) return;
  const llvm::MDNode* values = kept->getOperand(0);
  const auto number = [&](unsigned index) {
    return llvm::mdconst::extract<llvm::ConstantInt>(values->getOperand(index))->getSExtValue();
  };
  templates_file = llvm::cast<llvm::MDString>(values->getOperand(0))->getString().str();
  chosen_mode = Mode(number(1));
  most_strided = number(2);
  most_listed = number(3);
  most_fields = number(4);
  is_checked = number(5) != 0;
}

}  // namespace lacuna::options
