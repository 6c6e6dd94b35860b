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

// MPI_Init of a program that is for two ranks; which one this is.
inline int begin_pair(const char* program, int* argc, char*** argv) {
  MPI_Init(argc, argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2) fail_job(program, "needs 2 ranks, was started with " + std::to_string(size));
  return rank;
}

inline std::string mpi_library() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);
  return version;
}

// Whether the preload library is in this process.
inline bool lacuna_loaded() { return dlsym(RTLD_DEFAULT, "lacuna_interposed") != nullptr; }

// Takes the preload library out of the way, or puts it back: what a native rival is timed with.
// MPI_Pcontrol(0) is not enough, as receives are still looked at then: a peer might send by the
// direct path. Between a barrier and messages of this kind nobody does.
inline void switch_lacuna_to(int way) {
  static const auto found =
      reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "lacuna_interposed_switch"));
  if (found != nullptr) found(way);
}
inline void switch_lacuna(bool on) { switch_lacuna_to(on ? 1 : 0); }
// The same, where some lanes are with LACUNA_COSTS and some are not.
inline void switch_lacuna(bool on, bool costs) { switch_lacuna_to(!on ? 0 : costs ? 1 : 2); }

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_HARNESS_JOB_HPP_
