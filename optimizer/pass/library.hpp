// SPDX-License-Identifier: BSD-3-Clause
//
// Library: the MPI library that a module is compiled for, as its templates tell: the values of
// mpi.h and the template functions (optimizer/templates). Where they cannot be read there is none,
// and the module is left alone.
#ifndef LACUNA_OPTIMIZER_PASS_LIBRARY_HPP_
#define LACUNA_OPTIMIZER_PASS_LIBRARY_HPP_

#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lacuna {

struct Basic {
  std::string name;
  int64_t bytes;
  int64_t alignment;
};

class Library {
 public:
  // Reads the bitcode file that the option -lacuna-templates names, for a module.
  static std::unique_ptr<Library> load(llvm::Module& module);

  // The predefined type that a handle is; nullptr if none that is known.
  const Basic* basic(const llvm::Value* handle) const;
  bool is_type_null(const llvm::Value* handle) const { return key(handle) == type_null_; }
  bool is_comm_self(const llvm::Value* handle) const { return key(handle) == comm_self_; }
  llvm::Constant* type_null() const { return type_null_value_; }

  // The handle of a predefined type, as a constant of the module. After link().
  llvm::Constant* handle_of(const Basic* basic) const;
  const Basic* packed() const { return basics_.back().get(); }

  int64_t proc_null = 0;
  int64_t any_source = 0;
  int64_t any_tag = 0;
  int64_t order_c = 0;
  int64_t order_fortran = 0;
  int64_t status_bytes = 0;
  llvm::Type* handle_type = nullptr;

  // Moves the templates into the module, as internal functions. Once, at most; before template_of.
  bool link();
  llvm::Function* template_of(llvm::StringRef name) const;

 private:
  explicit Library(llvm::Module& module) : module_(module) {}
  bool read();
  static std::string key(const llvm::Value* handle);

  llvm::Module& module_;
  std::unique_ptr<llvm::Module> templates_;
  std::vector<std::unique_ptr<Basic>> basics_;
  std::vector<std::string> keys_;
  std::vector<llvm::Constant*> handles_;
  std::string type_null_, comm_self_;
  llvm::Constant* type_null_value_ = nullptr;
};

}  // namespace lacuna

#endif  // LACUNA_OPTIMIZER_PASS_LIBRARY_HPP_
