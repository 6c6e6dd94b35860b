// SPDX-License-Identifier: BSD-3-Clause
//
// Processes with limits. Files have at most 32 MiB (`ulimit -f` counts 512 bytes; making an arena
// of the usual size would raise a signal). Standard input is closed, so that the next file that is
// opened gets descriptor 0. In a run of its own: a limited address space.
#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/interpose/harness/arena_view.hpp"
#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

// Open descriptors of memory files with this name.
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
  CHECK(descriptors_of("/memfd:lacuna") == 0);
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

// lacuna uses little of a limited address space (`ulimit -v`), so that a program that needs nearly
// all of it still runs.
TOPIC(direct_space) {
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  CHECK(limit.rlim_cur < rlim_t{4} << 30);
  CHECK(arenas().size() == static_cast<size_t>(g_size));
  rlim_t mapped = 0;
  for (const Mapping& arena : arenas()) mapped += static_cast<rlim_t>(arena.end - arena.begin);
  CHECK(mapped <= limit.rlim_cur / 16);
  MPI_Datatype type = column(4096, 3);
  std::vector<double> data(3 * 4096);
  CHECK(taken_by("MPI_Send", [&] {
          if (g_rank == 0) MPI_Send(data.data(), 1, type, 1, 0, MPI_COMM_WORLD);
        }) == (g_rank == 0 ? 1 : 0));
  if (g_rank == 1) MPI_Recv(data.data(), 1, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Type_free(&type);
}

// If one rank refuses the direct path, no arena is left.
TOPIC(direct_refused) {
  CHECK(arenas().empty());
  each_line("/proc/self/maps", [&](const std::string& line) {
    CHECK(line.find("memfd:lacuna") == std::string::npos);
  });
  CHECK(descriptors_of("/memfd:lacuna") == 0);
}

// The first token of the job arrives when no file descriptor can be opened, beside a receive from
// MPI_PROC_NULL with an unmapped address.
TOPIC(direct_unreadable) {
  constexpr int kCount = 512;
  MPI_Datatype type = column(kCount, 2);
  std::vector<double> data(2 * kCount, 5), to(kCount, -1);
  const int other = g_rank ^ 1;
  MPI_Sendrecv(data.data(), kCount, MPI_DOUBLE, other, 1, to.data(), kCount, MPI_DOUBLE, other, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  to.assign(kCount, -1);
  if (g_rank == 1) {
    rlimit before{}, none{};
    getrlimit(RLIMIT_NOFILE, &before);
    none = before;
    none.rlim_cur = 3;
    setrlimit(RLIMIT_NOFILE, &none);
    MPI_Request requests[2];
    auto* const nowhere = reinterpret_cast<void*>(uintptr_t{4096});
    MPI_Irecv(to.data(), kCount, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(nowhere, kCount, MPI_DOUBLE, MPI_PROC_NULL, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Send(nullptr, 0, MPI_INT, 0, 3, MPI_COMM_WORLD);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    setrlimit(RLIMIT_NOFILE, &before);
    CHECK(to == std::vector<double>(kCount, 5));
  } else if (g_rank == 0) {
    MPI_Recv(nullptr, 0, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(taken_by("MPI_Send", [&] { MPI_Send(data.data(), 1, type, 1, 2, MPI_COMM_WORLD); }) == 1);
  }
  MPI_Type_free(&type);
}
