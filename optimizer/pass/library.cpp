// SPDX-License-Identifier: BSD-3-Clause
#include "optimizer/pass/library.hpp"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IRReader/IRReader.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/SourceMgr.h>

#include "optimizer/pass/options.hpp"

namespace lacuna {

namespace {

constexpr llvm::StringLiteral kTemplate = "lacuna_template_";
// One for all files of a program.
constexpr llvm::StringLiteral kShared[] = {"lacuna_kept_pages", "lacuna_kept_gaps",
                                           "lacuna_noted_types_2"};

bool is_of_mpi(llvm::StringRef name) {
  return name.starts_with("MPI_") || name.starts_with("PMPI_") || name.starts_with(kOriginal);
}

int64_t number(const llvm::Constant* constant) {
  const auto* integer = llvm::dyn_cast_or_null<llvm::ConstantInt>(constant);
  return integer == nullptr ? 0 : integer->getSExtValue();
}

std::string text(const llvm::Constant* constant) {
  const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(constant);
  const auto* letters = global == nullptr || !global->hasInitializer()
                            ? nullptr
                            : llvm::dyn_cast<llvm::ConstantDataArray>(global->getInitializer());
  return letters == nullptr || !letters->isCString() ? "" : letters->getAsCString().str();
}

const llvm::ConstantArray* table(const llvm::Module& module, llvm::StringRef name) {
  const auto* global = module.getGlobalVariable(name);
  return global == nullptr || !global->hasInitializer()
             ? nullptr
             : llvm::dyn_cast<llvm::ConstantArray>(global->getInitializer());
}

const llvm::ConstantStruct* initializer(const llvm::Module& module, llvm::StringRef name) {
  const auto* global = module.getGlobalVariable(name);
  return global == nullptr || !global->hasInitializer()
             ? nullptr
             : llvm::dyn_cast<llvm::ConstantStruct>(global->getInitializer());
}

bool calls_mpi(const llvm::Function& function) {
  return llvm::any_of(llvm::instructions(function), [](const llvm::Instruction& instruction) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    const llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
    return callee != nullptr && is_of_mpi(callee->getName());
  });
}

}  // namespace

std::unique_ptr<Library> Library::load(llvm::Module& module) {
  if (options::templates().empty()) return nullptr;
  llvm::SMDiagnostic error;
  std::unique_ptr<Library> library(new Library(module));
  // Without the functions' bodies, which link() reads: raising needs none (2 ms of a file).
  library->templates_ = llvm::getLazyIRFileModule(options::templates(), error, module.getContext());
  if (library->templates_ == nullptr || !library->read()) return nullptr;
  // For another processor: the templates are not for that.
  if (library->templates_->getDataLayout() != module.getDataLayout()) return nullptr;
  return library;
}

bool Library::read() {
  const llvm::ConstantArray* rows = table(*templates_, "lacuna_basics");
  const llvm::ConstantStruct* constants = initializer(*templates_, "lacuna_constants");
  if (rows == nullptr || constants == nullptr) return false;
  for (const llvm::Use& use : rows->operands()) {
    const auto* row = llvm::cast<llvm::ConstantStruct>(use.get());
    const std::string name = text(row->getOperand(1));
    if (name.empty()) return false;
    basics_.push_back(std::make_unique<Basic>(
        Basic{name, number(row->getOperand(2)), number(row->getOperand(3))}));
    keys_.push_back(key(row->getOperand(0)));
    handles_.push_back(row->getOperand(0));
    handle_type = row->getOperand(0)->getType();
  }
  type_null_value_ = constants->getOperand(0);
  type_null_ = key(type_null_value_);
  comm_self_ = key(constants->getOperand(1));
  proc_null = number(constants->getOperand(2));
  any_source = number(constants->getOperand(3));
  any_tag = number(constants->getOperand(4));
  order_c = number(constants->getOperand(5));
  order_fortran = number(constants->getOperand(6));
  status_bytes = number(constants->getOperand(7));
  status_ignore = constants->getOperand(8);
  if (basics_.empty()) return false;
  packed_ = basics_.back().get();
  return read_fortran();
}

// There are no such tables where the binary interface has none for Fortran.
bool Library::read_fortran() {
  const llvm::ConstantArray* rows = table(*templates_, "lacuna_fortran_basics");
  const llvm::ConstantArray* places = table(*templates_, "lacuna_fortran_sentinels");
  const auto* null = templates_->getGlobalVariable("lacuna_fortran_type_null");
  if (rows == nullptr || places == nullptr || null == nullptr || !null->hasInitializer())
    return true;
  fortran_type_null_ = number(null->getInitializer());
  for (const llvm::Use& use : rows->operands()) {
    const auto* row = llvm::cast<llvm::ConstantStruct>(use.get());
    const std::string its_key = key(row->getOperand(1));
    auto known = llvm::find(keys_, its_key);
    if (known == keys_.end()) {
      // Of the alignment only that it is not larger is used.
      const int64_t bytes = number(row->getOperand(3));
      basics_.push_back(std::make_unique<Basic>(Basic{text(row->getOperand(2)), bytes, bytes}));
      keys_.push_back(its_key);
      handles_.push_back(row->getOperand(1));
      known = std::prev(keys_.end());
    }
    fortran_.emplace_back(number(row->getOperand(0)), basics_[size_t(known - keys_.begin())].get());
  }
  for (const llvm::Use& use : places->operands()) {
    const auto* row = llvm::cast<llvm::ConstantStruct>(use.get());
    sentinels_.push_back(
        {text(row->getOperand(0)), number(row->getOperand(1)), number(row->getOperand(2)) != 0});
  }
  return true;
}

bool Library::has_fortran() const {
  return !sentinels_.empty() && llvm::all_of(sentinels_, [&](const Sentinel& sentinel) {
    return module_.getGlobalVariable(sentinel.block) != nullptr;
  });
}

// The same in any module: MPICH's handles are integers, the standard's are integers as pointers,
// Open MPI's are the addresses of its objects.
std::string Library::key(const llvm::Value* handle) {
  if (const auto* integer = llvm::dyn_cast<llvm::ConstantInt>(handle)) {
    return std::to_string(integer->getSExtValue());
  }
  if (llvm::isa<llvm::ConstantPointerNull>(handle)) return "0";
  handle = handle->stripPointerCasts();
  if (const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(handle)) {
    return global->isDeclaration() ? global->getName().str() : "";
  }
  if (const auto* expression = llvm::dyn_cast<llvm::ConstantExpr>(handle)) {
    if (expression->getOpcode() == llvm::Instruction::IntToPtr)
      return key(expression->getOperand(0));
  }
  return "";
}

const Basic* Library::basic(const llvm::Value* handle) const {
  if (!llvm::isa<llvm::Constant>(handle)) return nullptr;
  if (is_of_fortran(handle)) {
    const auto* integer = llvm::dyn_cast<llvm::ConstantInt>(handle);
    for (const auto& [number, basic] : fortran_) {
      if (integer != nullptr && integer->getSExtValue() == number) return basic;
    }
    return nullptr;
  }
  const std::string wanted = key(handle);
  if (wanted.empty()) return nullptr;
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (keys_[i] == wanted) return basics_[i].get();
  }
  return nullptr;
}

bool Library::is_type_null(const llvm::Value* handle) const {
  if (!is_of_fortran(handle)) return key(handle) == type_null_;
  const auto* integer = llvm::dyn_cast<llvm::ConstantInt>(handle);
  return integer != nullptr && integer->getSExtValue() == fortran_type_null_;
}

llvm::Constant* Library::type_null(llvm::Type* type) const {
  if (type == handle_type) return type_null_value_;
  return llvm::ConstantInt::getSigned(type, fortran_type_null_);
}

llvm::Constant* Library::handle_of(const Basic* basic, llvm::Type* type) const {
  if (type == handle_type) return handle_of(basic);
  for (const auto& [number, its] : fortran_) {
    if (its == basic) return llvm::ConstantInt::getSigned(type, number);
  }
  return nullptr;
}

llvm::Constant* Library::handle_of(const Basic* basic) const {
  for (size_t i = 0; i < basics_.size(); ++i) {
    if (basics_[i].get() != basic) continue;
    return handles_[i];
  }
  return nullptr;
}

bool Library::link() {
  if (templates_ == nullptr) return false;
  if (llvm::Error error = templates_->materializeAll()) {
    llvm::consumeError(std::move(error));
    return false;
  }
  // The program says how it is compiled (-fshort-wchar, -fcf-protection), and by which name its
  // processor goes (--target). LLVM takes other words for an error, or for a wish to have less.
  if (auto* flags = templates_->getModuleFlagsMetadata()) templates_->eraseNamedMetadata(flags);
  templates_->setTargetTriple(module_.getTargetTriple());
  // What is needed of the file itself has been read; only the functions go on. Their calls of MPI
  // may throw where the program's may: an error handler runs in them.
  for (const char* name :
       {"llvm.compiler.used", "llvm.used", "lacuna_basics", "lacuna_constants",
        "lacuna_fortran_basics", "lacuna_fortran_sentinels", "lacuna_fortran_type_null"}) {
    if (auto* global = templates_->getGlobalVariable(name)) {
      if (global->use_empty()) global->eraseFromParent();
    }
  }
  for (llvm::Function& function : *templates_) {
    if (!function.isDeclaration()) function.addFnAttr("lacuna-off");
    if (calls_mpi(function) || is_of_mpi(function.getName()))
      function.removeFnAttr(llvm::Attribute::NoUnwind);
    function.removeFnAttr("target-cpu");
    function.removeFnAttr("target-features");
    function.removeFnAttr("tune-cpu");
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
        const llvm::Function* callee = call->getCalledFunction();
        if (callee != nullptr && is_of_mpi(callee->getName()))
          call->removeFnAttr(llvm::Attribute::NoUnwind);
      }
    }
  }
  for (llvm::StringRef name : kShared) {
    if (auto* shared = templates_->getGlobalVariable(name)) {
      shared->setLinkage(llvm::GlobalValue::LinkOnceODRLinkage);
      shared->setVisibility(llvm::GlobalValue::HiddenVisibility);
    }
  }
  // handle_of is asked after this; the names are kept, not the old module's values.
  handles_.push_back(type_null_value_);
  for (llvm::Constant*& handle : handles_) {
    if (auto* global = llvm::dyn_cast<llvm::GlobalVariable>(handle)) {
      handle = llvm::cast<llvm::Constant>(
          module_.getOrInsertGlobal(global->getName(), global->getValueType()));
    }
  }
  type_null_value_ = handles_.back();
  handles_.pop_back();
  return !llvm::Linker::linkModules(
      module_, std::move(templates_), llvm::Linker::Flags::None,
      [](llvm::Module& module, const llvm::StringSet<>& names) {
        for (const auto& name : names) {
          llvm::GlobalValue* value = module.getNamedValue(name.getKey());
          if (value != nullptr && !value->isDeclaration() &&
              !llvm::is_contained(kShared, value->getName())) {
            value->setLinkage(llvm::GlobalValue::InternalLinkage);
            // Another file's would be taken for the same, and this one dropped.
            if (auto* object = llvm::dyn_cast<llvm::GlobalObject>(value))
              object->setComdat(nullptr);
          }
        }
      });
}

llvm::Function* Library::template_of(llvm::StringRef name) const {
  return module_.getFunction((kTemplate + name).str());
}

}  // namespace lacuna
