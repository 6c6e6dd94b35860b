// SPDX-License-Identifier: BSD-3-Clause
#include "optimizer/pass/base/library.hpp"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IRReader/IRReader.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/SourceMgr.h>

#include "optimizer/interface.hpp"
#include "optimizer/pass/base/options.hpp"

namespace lacuna::pass {

namespace {

constexpr llvm::StringLiteral kTemplate = "lacuna_template_";
// Variables of the templates that all files of a program share.
constexpr llvm::StringLiteral kShared[] = {"lacuna_kept_pages", "lacuna_kept_gaps",
                                           "lacuna_registry_1"};

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
  // Lazily: raising does not need the bodies of the templates, which take long to read; link()
  // does.
  library->templates_ = llvm::getLazyIRFileModule(options::templates(), error, module.getContext());
  if (library->templates_ == nullptr || !library->read()) return nullptr;
  // The program is compiled for another processor than the templates.
  if (library->templates_->getDataLayout() != module.getDataLayout()) return nullptr;
  return library;
}

bool Library::read() {
  using BasicMember = interface::BasicTypeMember;
  const llvm::ConstantArray* rows = table(*templates_, "lacuna_basics");
  const llvm::ConstantStruct* constants = initializer(*templates_, "lacuna_constants");
  if (rows == nullptr || constants == nullptr) return false;
  for (const llvm::Use& use : rows->operands()) {
    const auto* row = llvm::cast<llvm::ConstantStruct>(use.get());
    const std::string name = text(row->getOperand(BasicMember::name));
    if (name.empty()) return false;
    basics_.push_back(
        std::make_unique<Basic>(Basic{name, number(row->getOperand(BasicMember::bytes)),
                                      number(row->getOperand(BasicMember::alignment))}));
    llvm::Constant* handle = row->getOperand(BasicMember::handle);
    keys_.push_back(key(handle));
    handles_.push_back(handle);
    handle_type = handle->getType();
  }
  using Member = interface::ConstantsMember;
  type_null_value_ = constants->getOperand(Member::type_null);
  type_null_ = key(type_null_value_);
  comm_self_ = key(constants->getOperand(Member::comm_self));
  proc_null = number(constants->getOperand(Member::proc_null));
  any_source = number(constants->getOperand(Member::any_source));
  any_tag = number(constants->getOperand(Member::any_tag));
  order_c = number(constants->getOperand(Member::order_c));
  order_fortran = number(constants->getOperand(Member::order_fortran));
  status_bytes = number(constants->getOperand(Member::status_bytes));
  status_ignore = constants->getOperand(Member::status_ignore);
  if (basics_.empty()) return false;
  packed_ = basics_.back().get();
  return read_fortran();
}

// A binary interface without Fortran has no such tables.
bool Library::read_fortran() {
  using TypeMember = interface::FortranTypeMember;
  using SentinelMember = interface::FortranSentinelMember;
  const llvm::ConstantArray* rows = table(*templates_, "lacuna_fortran_basics");
  const llvm::ConstantArray* places = table(*templates_, "lacuna_fortran_sentinels");
  const auto* null = templates_->getGlobalVariable("lacuna_fortran_type_null");
  if (rows == nullptr || places == nullptr || null == nullptr || !null->hasInitializer())
    return true;
  fortran_type_null_ = number(null->getInitializer());
  for (const llvm::Use& use : rows->operands()) {
    const auto* row = llvm::cast<llvm::ConstantStruct>(use.get());
    llvm::Constant* handle = row->getOperand(TypeMember::type);
    const std::string its_key = key(handle);
    auto known = llvm::find(keys_, its_key);
    if (known == keys_.end()) {
      // The size as alignment: it is only used as an upper bound.
      const int64_t bytes = number(row->getOperand(TypeMember::bytes));
      basics_.push_back(
          std::make_unique<Basic>(Basic{text(row->getOperand(TypeMember::name)), bytes, bytes}));
      keys_.push_back(its_key);
      handles_.push_back(handle);
      known = std::prev(keys_.end());
    }
    fortran_.emplace_back(number(row->getOperand(TypeMember::handle)),
                          basics_[size_t(known - keys_.begin())].get());
  }
  for (const llvm::Use& use : places->operands()) {
    const auto* row = llvm::cast<llvm::ConstantStruct>(use.get());
    sentinels_.push_back({text(row->getOperand(SentinelMember::block)),
                          number(row->getOperand(SentinelMember::offset)),
                          number(row->getOperand(SentinelMember::is_of_status)) != 0});
  }
  return true;
}

bool Library::has_fortran() const {
  return !sentinels_.empty() && llvm::all_of(sentinels_, [&](const Sentinel& sentinel) {
    return module_.getGlobalVariable(sentinel.block) != nullptr;
  });
}

// Text that names a constant handle in any module: MPICH's handles are integers, those of the
// standard ABI are integers cast to pointers, Open MPI's are addresses of global objects.
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
  // The program's module flags (-fshort-wchar, -fcf-protection) and target triple (--target) hold.
  // If the templates' differed, LLVM would report an error, or apply the weaker flag.
  if (auto* flags = templates_->getModuleFlagsMetadata()) templates_->eraseNamedMetadata(flags);
  templates_->setTargetTriple(module_.getTargetTriple());
  // The tables have been read and are dropped; the functions are linked. Their MPI calls may throw
  // as the program's own calls may, since an error handler of the program runs in them.
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
  // handle_of is called after this: it needs values of the program's module.
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
            // The linker would merge it with another file's, and drop this one.
            if (auto* object = llvm::dyn_cast<llvm::GlobalObject>(value))
              object->setComdat(nullptr);
          }
        }
      });
}

llvm::Function* Library::template_of(llvm::StringRef name) const {
  return module_.getFunction((kTemplate + name).str());
}

}  // namespace lacuna::pass
