// SPDX-License-Identifier: BSD-3-Clause
//
// Random programs: all ranks draw the same program from a seed (program.hpp) and run it
// natively and with lacuna. Every byte of every buffer that a receive may write, gaps and margins
// included, and every status must be the same.
//
// LACUNA_TEST_SEEDS programs from LACUNA_TEST_FIRST on. A program that differs is reported with its
// seed, and LACUNA_TEST_PRINT=1 prints the programs. With --threads, several run at once, each on a
// communicator of its own. They run with the direct path, too (LACUNA_DIRECT=1), and with almost
// full arenas.
#include <cstdlib>
#include <thread>

#include "tests/interpose/harness/ballast.hpp"
#include "tests/interpose/harness/harness.hpp"
#include "tests/interpose/random/program.hpp"
#include "tests/interpose/random/run.hpp"

using namespace test;

namespace {

void compare(uint64_t seed, const Trace& native, const Trace& ours) {
  const std::string again =
      "; again: LACUNA_TEST_SEEDS=1 LACUNA_TEST_FIRST=" + std::to_string(seed);
  CHECK(native.buffers.size() == ours.buffers.size() &&
        native.statuses.size() == ours.statuses.size());
  for (size_t i = 0; i < std::min(native.buffers.size(), ours.buffers.size()); ++i) {
    context(native.names[i] + again);
    CHECK(native.buffers[i] == ours.buffers[i]);
  }
  for (size_t i = 0; i < std::min(native.statuses.size(), ours.statuses.size()); ++i) {
    context("status, " + native.status_names[i / 3] + again);
    CHECK(native.statuses[i] == ours.statuses[i]);
  }
  context("");
}

uint64_t number(const char* name, uint64_t fallback) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : fallback;
}

// Room for all that one program may have buffered.
struct Attached {
  std::vector<char> memory = std::vector<char>(size_t{8} << 20);
  Attached() { MPI_Buffer_attach(memory.data(), static_cast<int>(memory.size())); }
  ~Attached() {
    void* detached = nullptr;
    int bytes = 0;
    MPI_Buffer_detach(&detached, &bytes);
  }
};

void run_programs() {
  const uint64_t first = number("LACUNA_TEST_FIRST", 0), seeds = number("LACUNA_TEST_SEEDS", 100);
  const Attached attached;
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    const Program program = draw_program(seed);
    if (std::getenv("LACUNA_TEST_PRINT") != nullptr) print(program);
    Trace traces[2];
    for (const bool on : {false, true}) {
      test::lacuna(on);
      run_program(program, MPI_COMM_WORLD, &traces[on]);
    }
    compare(seed, traces[0], traces[1]);
  }
}

}  // namespace

TOPIC(random_programs) { run_programs(); }

TOPIC(random_programs_starved) {
  const Ballast ballast;
  run_programs();
}

TOPIC(random_programs_in_threads) {
  constexpr size_t kThreads = 3;
  const uint64_t first = number("LACUNA_TEST_FIRST", 0), seeds = number("LACUNA_TEST_SEEDS", 100);
  const Attached attached;
  MPI_Comm comms[kThreads];
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (uint64_t seed = first; seed < first + seeds; seed += kThreads) {
    Program programs[kThreads];
    Trace traces[2][kThreads];
    for (size_t i = 0; i < kThreads; ++i) programs[i] = draw_program(seed + i);
    for (const bool on : {false, true}) {
      test::lacuna(on);
      std::vector<std::thread> threads;
      for (size_t i = 0; i < kThreads; ++i)
        threads.emplace_back([&, i] { run_program(programs[i], comms[i], &traces[on][i]); });
      for (std::thread& thread : threads) thread.join();
    }
    for (size_t i = 0; i < kThreads; ++i) compare(seed + i, traces[0][i], traces[1][i]);
  }
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}
