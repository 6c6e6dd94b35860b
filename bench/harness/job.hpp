// SPDX-License-Identifier: BSD-3-Clause
// What the MPI programs of the bench say of the job they are in, and how they end it.
#ifndef LACUNA_BENCH_HARNESS_JOB_HPP_
#define LACUNA_BENCH_HARNESS_JOB_HPP_

#include <dlfcn.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace lacuna::bench {

// One line on stderr, and all ranks end.
[[noreturn]] inline void fail_job(const char* program, const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", program, what.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

inline std::string mpi_library() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);
  return version;
}

// Whether the preload library is in this process.
inline bool lacuna_loaded() { return dlsym(RTLD_DEFAULT, "lacuna_interposed") != nullptr; }

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_HARNESS_JOB_HPP_
