// SPDX-License-Identifier: BSD-3-Clause
#include "tests/interpose/harness/harness.hpp"

#include <dlfcn.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

namespace test {

int g_rank = 0;
bool g_direct = false;
bool g_pipelined = false;
int g_size = 0;

namespace {

struct Registered {
  const char* name;
  void (*run)();
};

std::vector<Registered>& topics() {
  static std::vector<Registered> all;
  return all;
}

std::mutex g_mutex;
std::string g_context;
int g_checks = 0;
int g_failures = 0;
constexpr int kMostPrinted = 20;

using CallsFn = int64_t (*)(const char*, int);
CallsFn calls() {
  static const auto found =
      reinterpret_cast<CallsFn>(dlsym(RTLD_DEFAULT, "lacuna_interposed_calls"));
  return found;
}

// The functions that move data.
const std::vector<std::string>& data_functions() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names;
    for (const char* name : {"MPI_Pack",
                             "MPI_Unpack",
                             "MPI_Send",
                             "MPI_Ssend",
                             "MPI_Rsend",
                             "MPI_Bsend",
                             "MPI_Recv",
                             "MPI_Mrecv",
                             "MPI_Sendrecv",
                             "MPI_Sendrecv_replace",
                             "MPI_Isend",
                             "MPI_Issend",
                             "MPI_Irsend",
                             "MPI_Ibsend",
                             "MPI_Irecv",
                             "MPI_Imrecv",
                             "MPI_Isendrecv",
                             "MPI_Isendrecv_replace",
                             "MPI_Bcast",
                             "MPI_Gather",
                             "MPI_Gatherv",
                             "MPI_Scatter",
                             "MPI_Scatterv",
                             "MPI_Allgather",
                             "MPI_Allgatherv",
                             "MPI_Alltoall",
                             "MPI_Alltoallv",
                             "MPI_Alltoallw",
                             "MPI_Ibcast",
                             "MPI_Igather",
                             "MPI_Igatherv",
                             "MPI_Iscatter",
                             "MPI_Iscatterv",
                             "MPI_Iallgather",
                             "MPI_Iallgatherv",
                             "MPI_Ialltoall",
                             "MPI_Ialltoallv",
                             "MPI_Ialltoallw",
                             "MPI_Neighbor_allgather",
                             "MPI_Neighbor_allgatherv",
                             "MPI_Neighbor_alltoall",
                             "MPI_Neighbor_alltoallv",
                             "MPI_Neighbor_alltoallw",
                             "MPI_Ineighbor_allgather",
                             "MPI_Ineighbor_allgatherv",
                             "MPI_Ineighbor_alltoall",
                             "MPI_Ineighbor_alltoallv",
                             "MPI_Ineighbor_alltoallw",
                             "MPI_Put",
                             "MPI_Get",
                             "MPI_Accumulate",
                             "MPI_Get_accumulate",
                             "MPI_Rput",
                             "MPI_Rget",
                             "MPI_Raccumulate",
                             "MPI_Rget_accumulate"}) {
      for (const char* form : {"", "_c", "_init", "_init_c"}) names.emplace_back(name).append(form);
    }
    for (const char* way : {"read", "write"}) {
      for (const char* form : {"", "_all", "_at", "_at_all", "_shared", "_ordered"}) {
        for (const char* end : {"", "_c", "_begin", "_begin_c", "_end"}) {
          for (const char* start : {"", "i"})
            names.push_back(std::string("MPI_File_") + start + way + form + end);
        }
      }
    }
    return names;
  }();
  return all;
}

// Calls that lacuna had handled before this topic began.
std::map<std::string, int64_t> g_before;

std::atomic<int> g_handled{0};
void count_error(MPI_Comm*, int*, ...) { ++g_handled; }

}  // namespace

Topic::Topic(const char* name, void (*run)()) { topics().push_back({name, run}); }

void check(bool ok, const char* what, const char* file, int line) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  ++g_checks;
  if (ok || ++g_failures > kMostPrinted) return;
  std::fprintf(stderr, "%s:%d: rank %d: %s%s%s\n", file, line, g_rank, what,
               g_context.empty() ? "" : "; with ", g_context.c_str());
}

void context(std::string text) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  g_context = std::move(text);
}

void lacuna(bool on) { MPI_Pcontrol(on ? 1 : 0); }

int64_t taken(const char* function) {
  if (calls() == nullptr) return 0;
  const auto before = g_before.find(function);
  return calls()(function, 1) - (before != g_before.end() ? before->second : 0);
}

int64_t taken_in_all() {
  int64_t sum = 0;
  for (const std::string& name : data_functions()) sum += taken(name.c_str());
  return sum;
}

int64_t taken_by(const char* function, const std::function<void()>& body) {
  const int64_t before = taken(function);
  body();
  return taken(function) - before;
}

bool has_function(const char* name) {
  return dlsym(RTLD_NEXT, name) != nullptr && dlsym(RTLD_DEFAULT, name) != nullptr;
}

void* newer_function(const char* name) {
  for (const char* file : {"libmpi.so.12", "libmpi.so.40", "libmpich.so.12", "libmpi_abi.so.1"}) {
    void* library = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    const bool found = dlsym(library, name) != nullptr;
    dlclose(library);
    if (found) return dlsym(RTLD_DEFAULT, name);
  }
  return nullptr;
}

void return_errors(MPI_Comm comm) {
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(count_error, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Errhandler_free(&handler);
}

int handled_errors() { return g_handled; }

void with_each_handler(const std::function<void(bool own)>& body) {
  for (const bool own : {true, false}) {
#if defined(LACUNA_MPI_FAMILY_MPIABI)  // whose libraries disagree on MPI_ERRORS_RETURN
    if (!own) continue;
#endif
    for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
      if (own) return_errors(comm);
      if (!own) MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    }
    body(own);
  }
}

bool unpacks_nothing() {
  static const bool safe = [] {
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(version, &length);
    return std::strncmp(version, "MPICH Version:\t4.0", 18) != 0;
  }();
  return safe;
}

int64_t data_bytes(MPI_Datatype type, int count) {
  int size = 0;
  MPI_Type_size(type, &size);
  return int64_t{size} * count;
}

StatusView::StatusView(const MPI_Status& status, MPI_Datatype type)
    : source(status.MPI_SOURCE), tag(status.MPI_TAG) {
  MPI_Get_count(&status, type, &count);
  MPI_Get_elements(&status, type, &elements);
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  MPI_Test_cancelled(&status, &cancelled);
}

int class_of(int code) {
  int result = -1;
  MPI_Error_class(code, &result);
  return result;
}

}  // namespace test

using namespace test;

namespace {

// What lacuna is expected to do: handle some call, as otherwise nothing is tested; or handle none;
// or either, if it depends on the launcher whether lacuna is loaded.
enum class Expect { kSomething, kNothing, kWhatever };

// Runs one topic from a clean start and says how it went.
bool run_topic(const std::string& name, Expect expect) {
  g_checks = g_failures = 0;
  context("");
  lacuna(expect != Expect::kNothing);
  static bool is_first = true;  // nobody has set an error handler before it
  for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF})
    if (!is_first) MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
  is_first = false;
  g_before.clear();
  for (const std::string& function : data_functions()) {
    const int64_t so_far = taken(function.c_str());
    g_before[function] = so_far;
  }
  bool found = false;
  for (const Registered& topic : topics()) {
    if (topic.name != name) continue;
    topic.run();
    found = true;
  }
  context("");
  CHECK(found);
  int64_t mine = taken_in_all(), all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  CHECK(expect == Expect::kWhatever || (expect == Expect::kNothing ? all == 0 : all > 0));
  int counts[2] = {g_checks, g_failures};
  int sums[2] = {0, 0};
  MPI_Allreduce(counts, sums, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (g_rank == 0) std::printf("%s: %d checks, %d failed\n", name.c_str(), sums[0], sums[1]);
  std::fflush(stdout);
  return sums[1] == 0;
}

}  // namespace

// Usage: interpose_test [--without | --perhaps] [--threads] TOPIC ...
// With more ranks than cores, a rank that waits holds its core for a tick of some milliseconds, as
// sched_yield hardly gives up the core since Linux 6.6. So lacuna, complete() and MPICH, which call
// these functions while they wait, find them here before those of the C library (CMakeLists.txt).
extern "C" __attribute__((visibility("default"))) int sched_yield() noexcept {
  static const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  if (g_size > cores) {
    const timespec moment = {0, 1000};
    nanosleep(&moment, nullptr);
  }
  return 0;
}

extern "C" __attribute__((visibility("default"))) unsigned ucp_worker_progress(void* worker) {
  constexpr int kPatience = 30;
  static const auto next =
      reinterpret_cast<unsigned (*)(void*)>(dlsym(RTLD_NEXT, "ucp_worker_progress"));
  thread_local int in_vain = 0;
  const unsigned events = next(worker);
  in_vain = events == 0 ? in_vain + 1 : 0;
  if (in_vain % kPatience == kPatience - 1) sched_yield();
  return events;
}

int main(int argc, char** argv) {
  bool threads = false;
  Expect expect = Expect::kSomething;
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--without") == 0) {
      expect = Expect::kNothing;
    } else if (std::strcmp(argv[i], "--perhaps") == 0) {
      expect = Expect::kWhatever;
    } else if (std::strcmp(argv[i], "--threads") == 0) {
      threads = true;
    } else {
      names.push_back(argv[i]);
    }
  }
  if (names.empty()) {
    for (const Registered& topic : topics()) std::printf("%s\n", topic.name);
    return 2;
  }
  int provided = MPI_THREAD_SINGLE;
  if (threads) {
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  } else {
    MPI_Init(&argc, &argv);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  const char* direct = std::getenv("LACUNA_DIRECT");
  g_direct = direct != nullptr && direct[0] == '1';
  const char* pipeline = std::getenv("LACUNA_PIPELINE");
  g_pipelined = pipeline != nullptr && std::strcmp(pipeline, "all") == 0;
  MPI_Comm_size(MPI_COMM_WORLD, &g_size);
  bool good = !threads || provided == MPI_THREAD_MULTIPLE;
  good =
      good && (expect == Expect::kWhatever || dlsym(RTLD_DEFAULT, "lacuna_interposed") != nullptr);
  for (const std::string& name : names) good = run_topic(name, expect) && good;
  const int failures = g_failures;
  MPI_Finalize();  // may run checks that a topic has registered for it
  return good && g_failures == failures ? 0 : 1;
}
