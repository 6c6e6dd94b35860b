// SPDX-License-Identifier: BSD-3-Clause
// What the MPI programs of the bench say of the job they are in, and how they end it.
#ifndef LACUNA_BENCH_HARNESS_JOB_HPP_
#define LACUNA_BENCH_HARNESS_JOB_HPP_

#include <dlfcn.h>
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace lacuna::bench {

// One line on stderr, and all ranks end. Launchers drop what they have not read of a rank's stderr
// when the job aborts (Hydra of MPICH 5.0 does, now and then, on a busy machine): they get time to
// read it.
[[noreturn]] inline void fail_job(const char* program, const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", program, what.c_str());
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
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
