// SPDX-License-Identifier: BSD-3-Clause
//
// Usage: chaos FOLDER FIRST LAST [--threads] [--pauses N] [--refuse N] [--starve] [--verbose]
//              [--without STEP] ... [--leave-out N,N,...] [--plant hang|difference|death]
//              [--devices]
// Runs the programs of the seeds FIRST to LAST - 1 and writes into FOLDER, for each rank, where it
// is (state.RANK) and a line for each program (log.RANK). run.py starts and compares them. --plant
// puts a fault into the last rank's fourth program, to test that it is found.
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <thread>

#include "chaos.hpp"
#include "tests/interpose/harness/ballast.hpp"

namespace test {
int g_rank = 0, g_size = 0;  // used by ballast.hpp and complete.cpp of the harness
bool g_direct = false;
void check(bool ok, const char* what, const char* file, int line) {
  if (!ok)
    chaos::log_line(std::string("# check failed: ") + what + " " + file + " " +
                    std::to_string(line));
}
}  // namespace test

namespace chaos {

Page* g_page = nullptr;
int g_pauses = 0, g_refused = 0;
bool g_verbose = false, g_threads = false;
Quirks g_quirks;
int64_t g_planted_digest = 0;
std::vector<std::function<void(Digest*)>> g_at_end;

namespace {

std::set<std::string> g_without;
std::set<int> g_left_out;
int g_log = -1;
long g_yields = 0;

// On a signal: prints this thread's stack, for machines without a debugger.
void tell_where(int) {
  void* frames[40];
  backtrace_symbols_fd(frames, backtrace(frames, 40), STDERR_FILENO);
}

}  // namespace

void log_line(const std::string& line) {
  const std::string all = line + "\n";
  if (write(g_log, all.data(), all.size()) < 0) _exit(4);
}

bool is_without(const std::string& step) { return g_without.count(step) > 0; }
bool is_left_out(int step) { return g_left_out.count(step) > 0; }

namespace {

void run_seed(uint64_t seed, MPI_Comm all) {
  if (!g_threads) {
    Program(seed, 0, all).run();
    return;
  }
  MPI_Comm comms[2];
  for (MPI_Comm& comm : comms) MPI_Comm_dup(all, &comm);
  std::thread other([&] { Program(seed, 1, comms[1]).run(); });
  Program(seed, 0, comms[0]).run();
  other.join();
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

Quirks find_quirks() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(version, &length);
  Quirks quirks;
  quirks.intel = std::strstr(version, "Intel") != nullptr;
  quirks.ompi = std::strstr(version, "Open MPI") != nullptr;
  quirks.mpich = !quirks.intel && !quirks.ompi;
  quirks.persistent_collectives = !quirks.intel &&
                                  std::strncmp(version, "MPICH Version:\t4.0", 18) != 0 &&
                                  std::strstr(version, "Open MPI v4") == nullptr;
  return quirks;
}

std::string g_planted;

void plant(uint64_t seed) {
  g_page->seed[0] = seed;
  std::snprintf(g_page->text[0], sizeof(g_page->text[0]), "a planted fault");
  if (g_planted == "hang") pause();
  if (g_planted == "death") raise(SIGKILL);
  if (g_planted == "difference") g_planted_digest = 1;
}

int rank_by_launcher() {
  for (const char* name : {"PMI_RANK", "OMPI_COMM_WORLD_RANK"})
    if (const char* text = std::getenv(name)) return std::atoi(text);
  return 0;
}

}  // namespace
}  // namespace chaos

// Replaces the C library's function for the MPI libraries. As there are more ranks than cores, a
// wait sleeps for a moment (tests/interpose/harness/harness.cpp), and sometimes for long.
extern "C" __attribute__((visibility("default"))) int sched_yield() noexcept {
  const long yields = __atomic_add_fetch(&chaos::g_yields, 1, __ATOMIC_RELAXED);
  const bool is_long = chaos::g_pauses > 0 && yields % 499 == 498;
  const timespec moment = {0, is_long ? 3000000 : 1000};
  nanosleep(&moment, nullptr);
  return 0;
}

extern "C" __attribute__((visibility("default"))) unsigned ucp_worker_progress(void* worker) {
  static const auto next =
      reinterpret_cast<unsigned (*)(void*)>(dlsym(RTLD_NEXT, "ucp_worker_progress"));
  thread_local int in_vain = 0;
  const unsigned events = next(worker);
  in_vain = events == 0 ? in_vain + 1 : 0;
  if (in_vain % 30 == 29) sched_yield();
  return events;
}

using namespace chaos;

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const std::string folder = argv[1];
  const uint64_t first = std::strtoull(argv[2], nullptr, 10),
                 last = std::strtoull(argv[3], nullptr, 10);
  bool starve = false, devices = false;
  for (int i = 4; i < argc; ++i) {
    const std::string word = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--threads") g_threads = true;
    if (word == "--verbose") g_verbose = true;
    if (word == "--starve") starve = true;
    if (word == "--devices") devices = true;
    if (word == "--pauses") g_pauses = std::atoi(value);
    if (word == "--refuse") g_refused = std::atoi(value);
    if (word == "--without") g_without.insert(value);
    if (word == "--plant") g_planted = value;
    if (word == "--leave-out") {
      for (const char* at = value; *at != 0; at += strcspn(at, ","), at += *at == ',')
        g_left_out.insert(std::atoi(at));
    }
  }
  const int number = rank_by_launcher();
  g_page = open_page(folder, number);
  g_log = open((folder + "/log." + std::to_string(number)).c_str(), O_WRONLY | O_CREAT | O_APPEND,
               0600);
  if (g_page == nullptr || g_log < 0) return 4;
  g_page->rank = number;
  g_page->pid = getpid();
  std::snprintf(g_page->text[0], sizeof(g_page->text[0]), "in MPI_Init");
  signal(SIGUSR2, tell_where);

  // The driver is loaded before MPI_Init, or after it.
  const bool early = first / 100 % 2 == 0;
  if (devices && early && !start_device()) return 5;
  int provided = MPI_THREAD_SINGLE;
  if (g_threads) {
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE) return 3;
  } else {
    MPI_Init(&argc, &argv);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &test::g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &test::g_size);
  if (devices && !early && !start_device()) return 5;
  g_quirks = find_quirks();
  std::vector<char> attached(size_t{16} << 20);
  MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size()));
  {
    std::unique_ptr<test::Ballast> ballast;
    if (starve) ballast = std::make_unique<test::Ballast>();
    for (uint64_t seed = first; seed < last; ++seed) {
      if (seed == first + 3 && number == test::g_size - 1) plant(seed);
      run_seed(seed, MPI_COMM_WORLD);
    }
  }
  void* detached = nullptr;
  int bytes = 0;
  MPI_Buffer_detach(&detached, &bytes);
  std::snprintf(g_page->text[0], sizeof(g_page->text[0]), "in MPI_Finalize");
  MPI_Finalize();
  Digest digest;
  for (const auto& end : g_at_end) end(&digest);
  char line[40];
  std::snprintf(line, sizeof(line), "end %08x", digest.value());
  log_line(line);
  std::snprintf(g_page->text[0], sizeof(g_page->text[0]), "ended");
  return 0;
}
