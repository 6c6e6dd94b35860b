// SPDX-License-Identifier: BSD-3-Clause
//
// What a process has little of: files may be of 32 MiB at most (`ulimit -f` counts 512 bytes; an
// arena of the usual size would be a signal), and standard input is closed, so that what is opened
// next gets its number.
#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "arena_view.hpp"
#include "harness.hpp"

using namespace test;

namespace {

// Open descriptors of files in memory that are called like this.
int descriptors_of(const std::string& name) {
  int found = 0;
  DIR* directory = opendir("/proc/self/fd");
  while (directory != nullptr) {
    const dirent* entry = readdir(directory);
    if (entry == nullptr) break;
    char path[256] = "";
    const ssize_t length = readlinkat(dirfd(directory), entry->d_name, path, sizeof(path) - 1);
    if (length > 0 && std::string(path).find(name) != std::string::npos) ++found;
  }
  if (directory != nullptr) closedir(directory);
  return found;
}

}  // namespace

TOPIC(direct_limits) {
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  CHECK(limit.rlim_cur < rlim_t{100} << 20);
  CHECK(arenas().size() == static_cast<size_t>(g_size));
  for (const Mapping& arena : arenas())
    CHECK(static_cast<rlim_t>(arena.end - arena.begin) <= limit.rlim_cur);
  CHECK(descriptors_of("lacuna") == 0);
  MPI_Datatype type = column(4096, 3);
  std::vector<double> from(3 * 4096), to(3 * 4096, -1);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<double>(i);
  CHECK(taken_by("MPI_Send", [&] {
          if (g_rank == 0) MPI_Send(from.data(), 1, type, 1, 0, MPI_COMM_WORLD);
        }) == (g_rank == 0 ? 1 : 0));
  if (g_rank == 1) {
    MPI_Recv(to.data(), 1, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(to[0] == 0 && to[1] == -1 && to[3] == 3 && to[3 * 4095] == 3 * 4095);
  }
  MPI_Type_free(&type);
}
