// SPDX-License-Identifier: BSD-3-Clause
#include "optimizer/pass/base/options.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Metadata.h>
#include <llvm/Support/CommandLine.h>

namespace lacuna::pass::options {

namespace {

// Without -lacuna-most: what every library sends eagerly.
constexpr int64_t kMostBytes = 2048;
constexpr llvm::StringLiteral kKept = "lacuna.options";

llvm::cl::opt<Mode> chosen_mode(
    "lacuna", llvm::cl::desc("What lacuna does with MPI calls"), llvm::cl::init(Mode::kOn),
    llvm::cl::values(clEnumValN(Mode::kOff, "off", "nothing"),
                     clEnumValN(Mode::kReport, "report", "remarks only"),
                     clEnumValN(Mode::kOn, "on", "specialize what is known")));
llvm::cl::opt<std::string> templates_file(
    "lacuna-templates", llvm::cl::desc("The bitcode of the templates for the MPI library"));
llvm::cl::opt<int64_t> most("lacuna-most", llvm::cl::init(kMostBytes),
                            llvm::cl::desc("Most bytes of a message to pack first"));
llvm::cl::list<std::string> all_rules(
    "lacuna-left",
    llvm::cl::desc("PATTERN/SIDE/RUN_FROM/RUN_TO/FROM/TO: messages which the library's own way is "
                   "better for; .../preload: which the preload is; .../apart: which the library "
                   "sends faster with a gap (options.hpp)"));
llvm::cl::opt<bool> is_checked("lacuna-check", llvm::cl::init(false),
                               llvm::cl::desc("Compare each site's kernels with MPI_Pack, once"));
llvm::cl::opt<bool> is_verified("lacuna-verify", llvm::cl::init(false),
                                llvm::cl::desc("Check the module after each of lacuna's stages"));

}  // namespace

bool checks() { return is_checked; }
bool verifies() { return is_verified; }
Mode mode() { return chosen_mode; }
const std::string& templates() { return templates_file; }

int64_t most_bytes() { return most; }

std::vector<HandlerRule> handler_rules(Pattern pattern, Side side) {
  static constexpr llvm::StringLiteral kPatterns[] = {"strided", "listed", "fields", "faces",
                                                      "nested"};
  static constexpr llvm::StringLiteral kSides[] = {"send", "receive"};
  std::vector<HandlerRule> found;
  for (const std::string& text : all_rules) {
    llvm::SmallVector<llvm::StringRef, 7> words;
    llvm::StringRef(text).split(words, '/');
    Handler handler = Handler::kLibrary;
    if (words.size() == 7 && (words[6] == "preload" || words[6] == "apart"))
      handler = words.pop_back_val() == "apart" ? Handler::kWithGap : Handler::kPreload;
    int64_t numbers[4];
    bool is_right = words.size() == 6;
    for (size_t i = 0; is_right && i < 4; ++i)
      is_right = !words[i + 2].getAsInteger(10, numbers[i]);
    is_right = is_right && numbers[0] < numbers[1] && numbers[2] <= numbers[3];
    if (!is_right) llvm::report_fatal_error(llvm::Twine("not a rule in -lacuna-left: ") + text);
    if (words[0] == kPatterns[int(pattern)] && words[1] == kSides[int(side)])
      found.push_back({handler, numbers[0], numbers[1], numbers[2], numbers[3]});
  }
  return found;
}

void keep(llvm::Module& module) {
  if (templates().empty() || module.getNamedMetadata(kKept) != nullptr) return;
  llvm::LLVMContext& context = module.getContext();
  llvm::SmallVector<llvm::Metadata*, 8> values = {llvm::MDString::get(context, templates())};
  for (const int64_t number : {int64_t(mode()), int64_t(most), int64_t(is_checked)}) {
    values.push_back(llvm::ConstantAsMetadata::get(
        llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), uint64_t(number))));
  }
  for (const std::string& text : all_rules) values.push_back(llvm::MDString::get(context, text));
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
  most = number(2);
  is_checked = number(3) != 0;
  for (unsigned i = 4; i < values->getNumOperands(); ++i)
    all_rules.push_back(llvm::cast<llvm::MDString>(values->getOperand(i))->getString().str());
}

}  // namespace lacuna::pass::options
