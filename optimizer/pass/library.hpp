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

// How a template's way out is called: the function's name follows.
constexpr llvm::StringLiteral kOriginal = "lacuna_original_";

struct Basic {
  std::string name;
  int64_t bytes;
  int64_t alignment;
};

// An address that Fortran's mpif.h has for something else: a place in one of its common blocks.
struct Sentinel {
  std::string block;
  int64_t offset;
  bool is_of_status;  // MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE; else MPI_BOTTOM or MPI_IN_PLACE
};

class Library {
 public:
  // Reads the bitcode file that the option -lacuna-templates names, for a module.
  static std::unique_ptr<Library> load(llvm::Module& module);

  // The predefined type that a handle is, C's or Fortran's; nullptr if none that is known.
  const Basic* basic(const llvm::Value* handle) const;
  bool is_type_null(const llvm::Value* handle) const;
  bool is_comm_self(const llvm::Value* handle) const { return key(handle) == comm_self_; }
  // As C's handle, or as a handle of that type, which may be Fortran's.
  llvm::Constant* type_null() const { return type_null_value_; }
  llvm::Constant* type_null(llvm::Type* type) const;

  // The handle of a predefined type, as a constant of the module. After link().
  llvm::Constant* handle_of(const Basic* basic) const;
  // The same as a handle of that type; nullptr where Fortran's is not known.
  llvm::Constant* handle_of(const Basic* basic, llvm::Type* type) const;
  const Basic* packed() const { return packed_; }

  // Whether Fortran's binding is known, and the module has what its mpif.h declares.
  bool has_fortran() const;
  bool has_own_handles_in_fortran() const { return !handle_type->isIntegerTy(); }
  llvm::ArrayRef<Sentinel> sentinels() const { return sentinels_; }
  llvm::Module& module() const { return module_; }

  int64_t proc_null = 0;
  int64_t any_source = 0;
  int64_t any_tag = 0;
  int64_t order_c = 0;
  int64_t order_fortran = 0;
  int64_t status_bytes = 0;
  llvm::Type* handle_type = nullptr;
  llvm::Constant* status_ignore = nullptr;

  // Moves the templates into the module, as internal functions. Once, at most; before template_of.
  bool link();
  llvm::Function* template_of(llvm::StringRef name) const;

 private:
  explicit Library(llvm::Module& module) : module_(module) {}
  bool read();
  bool read_fortran();
  bool is_of_fortran(const llvm::Value* handle) const {
    return has_own_handles_in_fortran() && handle->getType()->isIntegerTy();
  }
  static std::string key(const llvm::Value* handle);

  llvm::Module& module_;
  std::unique_ptr<llvm::Module> templates_;
  std::vector<std::unique_ptr<Basic>> basics_;
  std::vector<std::string> keys_;
  std::vector<llvm::Constant*> handles_;
  std::string type_null_, comm_self_;
  llvm::Constant* type_null_value_ = nullptr;
  const Basic* packed_ = nullptr;
  std::vector<std::pair<int64_t, const Basic*>> fortran_;  // handles
  int64_t fortran_type_null_ = 0;
  std::vector<Sentinel> sentinels_;
};

}  // namespace lacuna

#endif  // LACUNA_OPTIMIZER_PASS_LIBRARY_HPP_
