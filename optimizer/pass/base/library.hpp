// SPDX-License-Identifier: BSD-3-Clause
//
// The MPI library that a module is compiled for: the values of its mpi.h and the template
// functions, both from the bitcode of optimizer/templates. If that cannot be read, the module is
// left alone.
#ifndef LACUNA_OPTIMIZER_PASS_BASE_LIBRARY_HPP_
#define LACUNA_OPTIMIZER_PASS_BASE_LIBRARY_HPP_

#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lacuna::pass {

// Prefix of the function by which a template calls the program's own MPI function.
constexpr llvm::StringLiteral kOriginal = "lacuna_original_";

struct Basic {
  std::string name;
  int64_t bytes;
  int64_t alignment;
};

// An address that Fortran's mpif.h gives a special meaning: a place in one of its common blocks.
struct Sentinel {
  std::string block;
  int64_t offset;
  bool is_of_status;  // MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE; else MPI_BOTTOM or MPI_IN_PLACE
};

class Library {
 public:
  // Reads the bitcode file that the option -lacuna-templates names, for a module.
  static std::unique_ptr<Library> load(llvm::Module& module);

  // The predefined type of a handle, C's or Fortran's; nullptr: not a constant, or not in the
  // table.
  const Basic* basic(const llvm::Value* handle) const;
  bool is_type_null(const llvm::Value* handle) const;
  bool is_comm_self(const llvm::Value* handle) const { return key(handle) == comm_self_; }
  // MPI_DATATYPE_NULL as C's handle, or as a handle of that LLVM type, which may be Fortran's.
  llvm::Constant* type_null() const { return type_null_value_; }
  llvm::Constant* type_null(llvm::Type* type) const;

  // The handle of a predefined type, as a constant of the module. Only after link().
  llvm::Constant* handle_of(const Basic* basic) const;
  // The same, as a handle of that LLVM type; nullptr where Fortran's handle is not known.
  llvm::Constant* handle_of(const Basic* basic, llvm::Type* type) const;
  const Basic* packed() const { return packed_; }

  // Whether Fortran's binding is known, and the module has the common blocks of its mpif.h.
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

  // Moves the templates into the module, as internal functions. At most once; before template_of.
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
  std::vector<std::pair<int64_t, const Basic*>> fortran_;  // Fortran's handles
  int64_t fortran_type_null_ = 0;
  std::vector<Sentinel> sentinels_;
};

}  // namespace lacuna::pass

#endif  // LACUNA_OPTIMIZER_PASS_BASE_LIBRARY_HPP_
