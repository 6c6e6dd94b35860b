// SPDX-License-Identifier: BSD-3-Clause
//
// Calls a function when MPI ends: as the delete function of an attribute of MPI_COMM_SELF, which
// MPI_Finalize deletes before anything else. By PMPI_ calls, which tools do not see.
#include <elf.h>
#include <sys/auxv.h>

#include "optimizer/templates/buffer_arg.hpp"

// Defined by the linker: where this program or library begins in memory.
extern "C" [[gnu::weak, gnu::visibility("hidden")]] const Elf64_Ehdr __ehdr_start;

namespace {

// Whether this is the program itself. A library may be unloaded before MPI ends.
bool is_program() {
  if (&__ehdr_start == nullptr) return false;
  const char* const begin = reinterpret_cast<const char*>(&__ehdr_start);
  return getauxval(AT_PHDR) == reinterpret_cast<unsigned long>(begin + __ehdr_start.e_phoff);
}

}  // namespace

// Compiled to be small: every file that needs it has a copy.
extern "C" [[gnu::noinline, clang::minsize]] int lacuna_template_at_finalize(
    MPI_Comm_delete_attr_function* function) {
  int is_initialized = 0, is_finalized = 1, of_self = MPI_KEYVAL_INVALID;
  if (!is_program() || PMPI_Initialized(&is_initialized) != MPI_SUCCESS || is_initialized == 0 ||
      PMPI_Finalized(&is_finalized) != MPI_SUCCESS || is_finalized != 0 ||
      PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, function, &of_self, nullptr) != MPI_SUCCESS) {
    return 0;
  }
  const bool is_told = PMPI_Comm_set_attr(MPI_COMM_SELF, of_self, nullptr) == MPI_SUCCESS;
  PMPI_Comm_free_keyval(&of_self);
  return is_told ? 1 : 0;
}
