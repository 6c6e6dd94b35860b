// SPDX-License-Identifier: BSD-3-Clause
//
// Whether data of several types must not be sent packed, because MPICH could not receive them into
// a struct then: the rules of the preload (interpose/policy/policy.cpp, breaks_structs() and
// breaks_own_structs()), for what is linked to the program.
#include <cstdlib>
#include <cstring>

#include "optimizer/templates/buffer_arg.hpp"

#ifndef OPEN_MPI
namespace {

enum Library { kUnknown, kOther, kOldMpich, kMpich };

Library library_of(const char* text) {
  if (std::strstr(text, "Intel(R) MPI") != nullptr) return kOther;
  if (std::strstr(text, "MVAPICH") != nullptr) return kOldMpich;
  if (std::strstr(text, "MPICH") == nullptr) return kOther;
  const char* version = std::strstr(text, "MPICH Version:");
  const char* digit = version == nullptr ? nullptr : std::strpbrk(version, "0123456789");
  return digit == nullptr || std::strtol(digit, nullptr, 10) < 5 ? kOldMpich : kMpich;
}

// The text may have 8 KiB: too much for the stack of a thread.
Library asked() {
  auto* const text = static_cast<char*>(std::calloc(1, MPI_MAX_LIBRARY_VERSION_STRING));
  int length = 0;
  const bool is_known = text != nullptr && PMPI_Get_library_version(text, &length) == MPI_SUCCESS;
  const Library library = is_known ? library_of(text) : kOldMpich;
  std::free(text);
  return library;
}

}  // namespace

extern "C" [[gnu::noinline, clang::minsize]] int lacuna_template_breaks_structs(int64_t bytes,
                                                                                int dest,
                                                                                MPI_Comm comm) {
  static int library = kUnknown;
  int known = __atomic_load_n(&library, __ATOMIC_RELAXED);
  if (known == kUnknown) {
    known = asked();
    __atomic_store_n(&library, known, __ATOMIC_RELAXED);
  }
  if (known != kMpich) return known == kOldMpich ? 1 : 0;
  if (bytes < 8192) return 1;
  int rank = MPI_PROC_NULL;
  // An error, which the call itself reports.
  if (comm == MPI_COMM_NULL || PMPI_Comm_rank(comm, &rank) != MPI_SUCCESS) return 1;
  return rank == dest ? 1 : 0;
}
#endif
