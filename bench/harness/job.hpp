// SPDX-License-Identifier: BSD-3-Clause
// Beginning, switching and ending the job of a benchmark's MPI program.
#ifndef LACUNA_BENCH_HARNESS_JOB_HPP_
#define LACUNA_BENCH_HARNESS_JOB_HPP_

#include <dlfcn.h>
#include <mpi.h>

#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace lacuna::bench {

// Prints one line on stderr and ends all ranks. Launchers may lose a rank's last output when the
// job aborts (Hydra of MPICH 5.0, on a busy machine), so they get time to read it.
[[noreturn]] inline void fail_job(const char* program, const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", program, what.c_str());
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

// Ends all ranks, as this machine or command line is not what the program needs. One rank says so,
// in a form that python/lacuna/launch/watch.py makes its own error of. All ranks call it.
[[noreturn]] inline void refuse_job(const char* program, const std::string& what,
                                    const std::string& remedy) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) fail_job(program, "refused: " + what + "; " + remedy);
  MPI_Barrier(MPI_COMM_WORLD);  // until rank 0 ends all
  std::abort();
}

// MPI_Init of a program that is for two ranks; which one this is.
inline int begin_pair(const char* program, int* argc, char*** argv) {
  MPI_Init(argc, argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2)
    refuse_job(program, "two ranks are needed, and the launcher started " + std::to_string(size),
               "start two, with -n 2");
  return rank;
}

// The names of the nodes of both ranks: one if they are on the same. As lacuna and MPI libraries
// tell nodes apart: by the kernel's boot and the host's name (containers have names of their own).
inline std::vector<std::string> nodes_of_pair(int rank) {
  struct Node {
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    char boot[64] = "";
  } mine, other;
  int length = 0;
  MPI_Get_processor_name(mine.name, &length);
  std::ifstream("/proc/sys/kernel/random/boot_id").getline(mine.boot, sizeof mine.boot);
  MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, 1 - rank, 0, &other, sizeof other, MPI_BYTE, 1 - rank,
               0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const bool is_same = std::string(mine.name) == other.name && std::string(mine.boot) == other.boot;
  if (is_same) return {mine.name};
  return {mine.name, other.name};
}

// What is in a file that rank 0 alone may have: hosts need not share a folder.
inline std::string read_for_all(const char* program, const std::string& path, int rank) {
  std::string content;
  int size = -1;
  if (rank == 0) {
    std::ostringstream read;
    std::ifstream file(path, std::ios::binary);
    read << file.rdbuf();
    content = read.str();
    if (file && content.size() <= INT_MAX) size = static_cast<int>(content.size());
  }
  MPI_Bcast(&size, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (size < 0) fail_job(program, "cannot read " + path);
  content.resize(static_cast<size_t>(size));
  MPI_Bcast(content.data(), size, MPI_CHAR, 0, MPI_COMM_WORLD);
  return content;
}

inline std::string mpi_library() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);
  return version;
}

// Whether the preload library is in this process.
inline bool lacuna_loaded() { return dlsym(RTLD_DEFAULT, "lacuna_interposed") != nullptr; }

// As lacuna_interposed_switch() takes them.
enum class Lacuna : int { kOff, kOn, kWithoutCosts, kInsideAlone };

// Switches the preload library off completely, to time the library alone, or on. MPI_Pcontrol(0) is
// not enough: receives are still examined then, as a peer might use the direct path. All ranks must
// switch between a barrier and the messages.
inline void switch_lacuna_to(Lacuna to) {
  static const auto found =
      reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "lacuna_interposed_switch"));
  if (found != nullptr) found(static_cast<int>(to));
}
inline void switch_lacuna(bool on) { switch_lacuna_to(on ? Lacuna::kOn : Lacuna::kOff); }
// The same, if some lanes run with LACUNA_COSTS.
inline void switch_lacuna(bool on, bool costs) {
  switch_lacuna_to(!on ? Lacuna::kOff : costs ? Lacuna::kOn : Lacuna::kWithoutCosts);
}

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_HARNESS_JOB_HPP_
