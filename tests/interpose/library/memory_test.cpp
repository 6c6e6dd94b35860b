// SPDX-License-Identifier: BSD-3-Clause
//
// How much memory lacuna keeps: little after a large message, one copy of a long list, and in a
// program that locks its memory, nothing that was never used. Measured in /proc, with a margin for
// the libraries.
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/interpose/harness/arena_view.hpp"
#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

// The bytes of this field of /proc/self/status.
int64_t status_of(const std::string& name) {
  int64_t kib = 0;
  each_line("/proc/self/status", [&](const std::string& line) {
    if (line.starts_with(name + ":")) kib = std::atoll(line.c_str() + name.size() + 1);
  });
  return kib << 10;
}

// The bytes of this field of /proc/self/smaps, over the mappings of arenas.
int64_t of_arenas(const std::string& name) {
  int64_t kib = 0;
  bool is_arena = false;
  each_line("/proc/self/smaps", [&](const std::string& line) {
    if (line.find("-s ") != std::string::npos || line.find("-p ") != std::string::npos)
      is_arena = line.find("memfd:lacuna-arena") != std::string::npos;
    if (is_arena && line.starts_with(name + ":")) kib += std::atoll(line.c_str() + name.size() + 1);
  });
  return kib << 10;
}

// From rank 0 to rank 1, every other double of so many bytes. True if they came.
bool send_large(int64_t bytes, int round) {
  const int n = static_cast<int>(bytes / 8);
  MPI_Datatype type = column(n, 2);
  std::vector<double> data(2 * static_cast<size_t>(n), -1);
  bool same = true;
  if (g_rank == 0) {
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<double>(i) + round;
    MPI_Send(data.data(), 1, type, 1, 0, MPI_COMM_WORLD);
  } else if (g_rank == 1) {
    MPI_Recv(data.data(), 1, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (size_t i = 0; i < data.size(); i += 2) {
      same = same && data[i] == static_cast<double>(i) + round && data[i + 1] == -1;
    }
  }
  MPI_Type_free(&type);
  MPI_Barrier(MPI_COMM_WORLD);
  return same;
}

// Locks future memory before main(), as real-time programs do.
__attribute__((constructor)) void lock_future() {
  if (std::getenv("LACUNA_TEST_LOCK") != nullptr) mlockall(MCL_FUTURE);
}

}  // namespace

// Through shared memory: pages of the arena.
TOPIC(memory_of_large_regions) {
  CHECK(send_large(kMiB, 0));
  const int64_t before = status_of("RssShmem");
  for (int round = 1; round < 4; ++round) {
    CHECK(send_large(96 * kMiB, round));
    CHECK(status_of("RssShmem") - before <= 72 * kMiB);
  }
  CHECK(send_large(kMiB, 4));
}

// Packed: buffers of the pool.
TOPIC(memory_of_large_buffers) {
  CHECK(send_large(kMiB, 0));
  const int64_t before = status_of("RssAnon");
  for (int round = 1; round < 3; ++round) CHECK(send_large(96 * kMiB, round));
  CHECK(status_of("RssAnon") - before <= 48 * kMiB);
}

// The list stays in the plan, as offsets and in a shorter form.
TOPIC(memory_of_long_lists) {
  constexpr int kEntries = 9'000'000;
  if (g_rank != 0) return;
  std::vector<int> data(3 * kEntries + 4, 7), packed(kEntries);
  MPI_Datatype type;
  {
    std::vector<int> places(kEntries);
    for (int i = 0; i < kEntries; ++i) {
      const auto hash = static_cast<unsigned>(i) * 2654435761U;
      places[static_cast<size_t>(i)] = 3 * i + static_cast<int>(hash >> 31);
    }
    MPI_Type_create_indexed_block(kEntries, 1, places.data(), MPI_INT, &type);
  }
  MPI_Type_commit(&type);
  const int64_t before = status_of("VmRSS");
  for (int i = 0; i < 2; ++i) {
    int position = 0;
    CHECK(taken_by("MPI_Pack", [&] {
            MPI_Pack(data.data(), 1, type, packed.data(), 4 * kEntries, &position, MPI_COMM_WORLD);
          }) == 1);
    CHECK(position == 4 * kEntries && packed[0] == 7 && packed[kEntries - 1] == 7);
  }
  CHECK(status_of("VmRSS") - before <= int64_t{12} * kEntries + 16 * kMiB);
  MPI_Type_free(&type);
}

// Arenas in a process that locks its memory, before MPI_Init or here.
TOPIC(memory_locked) {
  CHECK(arenas().size() == static_cast<size_t>(g_size));
  CHECK(send_large(kMiB, 0));
  const bool is_before = std::getenv("LACUNA_TEST_LOCK") != nullptr;
  if (!is_before && mlockall(MCL_CURRENT) != 0) return;  // it is not allowed to
  CHECK(of_arenas("Rss") <= 24 * kMiB);
  CHECK(send_large(4 * kMiB, 1));
  CHECK(of_arenas("Rss") <= 40 * kMiB);
  if (!is_before) munlockall();
}

// Arenas are not part of core dumps.
TOPIC(memory_not_dumped) {
  CHECK(send_large(kMiB, 0));
  int mapped = 0;
  int left_out = 0;
  bool is_arena = false;
  each_line("/proc/self/smaps", [&](const std::string& line) {
    if (line.find("-s ") != std::string::npos || line.find("-p ") != std::string::npos) {
      is_arena = line.find("memfd:lacuna-arena") != std::string::npos &&
                 line.find(" r--s ") == std::string::npos;
      if (is_arena) ++mapped;
    }
    if (is_arena && line.starts_with("VmFlags:") && line.find(" dd") != std::string::npos)
      ++left_out;
  });
  CHECK(mapped >= g_size);
  CHECK(left_out == mapped);
}
