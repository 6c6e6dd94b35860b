// SPDX-License-Identifier: BSD-3-Clause
#include "optimizer/pass/options.hpp"

#include <llvm/Support/CommandLine.h>

namespace lacuna::options {

namespace {

// Where nobody says otherwise: what every library sends eagerly.
constexpr int64_t kMostBytes = 2048;

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

}  // namespace

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

}  // namespace lacuna::options
