// SPDX-License-Identifier: BSD-3-Clause
//
// Helper threads: results, and what must not happen to programs that fork, exit, unload the
// library, use signals, or pack from several threads. The random ladder runs with LACUNA_THREADS=3
// too (property.engine.threads).
#include "exec/threads.hpp"

#include <dirent.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "exec/exec.hpp"
#include "lacuna/lacuna.h"
#include "type/text/text.hpp"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace lacuna {
namespace {

bool g_is_child = false;  // made by fork

// Set before anything reads an option.
const bool g_set = setenv("LACUNA_THREADS", "3", 1) == 0;

Machine eager_machine() {
  Machine m;
  m.parallel_bytes = 512;
  return m;
}

PlanPtr planned(const std::string& text) {
  static const Machine eager = eager_machine();
  auto type = parse_type(text);
  EXPECT_TRUE(type.ok()) << text;
  return make_plan(std::move(type).value(), default_kernels(), eager);
}

// Packs and unpacks a matrix by columns; true: rightly.
bool transposes(size_t n) {
  std::vector<double> matrix(n * n);
  std::iota(matrix.begin(), matrix.end(), 1.0);
  const std::string s = std::to_string(n);
  const PlanPtr plan = planned("resized(0, 8, vector(" + s + ", 1, " + s + ", double))");
  std::vector<double> packed(n * n, -1);
  pack(*plan, matrix.data(), static_cast<int64_t>(n), packed.data());
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      if (packed[i * n + j] != matrix[j * n + i]) return false;
    }
  }
  std::vector<double> back(n * n, -1);
  unpack(*plan, packed.data(), static_cast<int64_t>(n), back.data());
  return back == matrix;
}

// Threads of this process that are called "lacuna-...".
int helpers_alive() {
  int found = 0;
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return -1;
  while (const dirent* task = readdir(tasks)) {
    std::ifstream file(std::string("/proc/self/task/") + task->d_name + "/comm");
    std::string name;
    std::getline(file, name);
    found += name.rfind("lacuna-", 0) == 0;
  }
  closedir(tasks);
  return found;
}

struct Counts {
  std::atomic<int> calls[100] = {};
};

void count_call(void* context, int64_t part) { ++static_cast<Counts*>(context)->calls[part]; }

TEST(Threads, EachPartOnce) {
  for (int round = 0; round < 200; ++round) {
    Counts counts;
    ASSERT_TRUE(run_with_help(2, 100, &count_call, &counts));
    for (const auto& calls : counts.calls) ASSERT_EQ(calls, 1);
  }
  Counts counts;
  EXPECT_FALSE(run_with_help(0, 100, &count_call, &counts));
  EXPECT_FALSE(run_with_help(2, 1, &count_call, &counts));
  EXPECT_EQ(counts.calls[0], 0);
}

TEST(Threads, SmallMessagesStartNone) {
  const int before = helpers_alive();
  std::vector<double> from(64), to(32);
  pack(*planned("vector(32, 1, 2, double)"), from.data(), 1, to.data());
  EXPECT_EQ(helpers_alive(), before);
}

TEST(Threads, MoveEveryKindOfType) {
  for (const size_t n : {17u, 64u, 200u, 333u}) EXPECT_TRUE(transposes(n)) << n;
  EXPECT_EQ(helpers_alive(), 2);
  for (const char* text :
       {"double", "vector(1000, 1, 3, int)", "indexed([3, 5, 1], [0, 4, 11], int)",
        "struct([1, 700], [0, 8000], [vector(99, 3, 4, short), int])",
        "contiguous(9, indexed_block(2, [9, 3, 0], double))"}) {
    const PlanPtr plan = planned(text);
    for (const int64_t count : {1, 7, 3000}) {
      const size_t span = static_cast<size_t>(plan->extent() * count) + 16384;
      std::vector<std::byte> mem(span);
      for (size_t i = 0; i < span; ++i) mem[i] = static_cast<std::byte>(i * 7 + i / 251);
      const int64_t bytes = count * plan->size();
      std::vector<std::byte> want(static_cast<size_t>(bytes)), got(want.size());
      move_part<true>(*plan, mem.data(), count, 0, bytes, want.data(), bytes);
      pack(*plan, mem.data(), count, got.data());
      EXPECT_EQ(got, want) << text;
      const int64_t begin = bytes / 7;
      std::fill(got.begin(), got.end(), std::byte{0});
      pack_slice(*plan, mem.data(), count, begin, bytes, got.data() + begin);
      EXPECT_TRUE(std::equal(got.begin() + begin, got.end(), want.begin() + begin)) << text;
      std::vector<std::byte> one(span), other(span);
      move_part<false>(*plan, one.data(), count, 0, bytes, want.data(), bytes);
      unpack(*plan, want.data(), count, other.data());
      EXPECT_EQ(one, other) << text;
    }
  }
}

TEST(Threads, ServeOneCallerAndLeaveTheOthersAlone) {
  std::atomic<int> right{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 6; ++t) {
    callers.emplace_back([&] {
      for (int round = 0; round < 20; ++round) right += transposes(100);
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(right, 120);
  EXPECT_EQ(helpers_alive(), 2);
}

std::atomic<int> g_signals_elsewhere{0};
pthread_t g_main;

void on_signal(int) {
  if (!pthread_equal(pthread_self(), g_main)) ++g_signals_elsewhere;
}

TEST(Threads, TakeNoSignals) {
  ASSERT_TRUE(transposes(200));
  g_main = pthread_self();
  signal(SIGUSR1, &on_signal);
  for (int i = 0; i < 200; ++i) kill(getpid(), SIGUSR1);
  EXPECT_EQ(g_signals_elsewhere, 0);
  signal(SIGUSR1, SIG_DFL);
}

// ThreadSanitizer and QEMU cannot follow a fork of several threads.
#if !defined(__SANITIZE_THREAD__) && !defined(LACUNA_EMULATED)

enum class End { kExit, kQuickly };  // with the destructors, or without

int exit_code_of_child(int (*body)(), End end = End::kExit) {
  std::fflush(nullptr);  // else the child would write it again
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // so that a child that hangs is an error
    g_is_child = true;
    const int code = body();
    if (end == End::kQuickly) _exit(code);
    std::exit(code);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Threads, AreStartedAnewInAForkedChild) {
  ASSERT_TRUE(transposes(200));
  ASSERT_EQ(helpers_alive(), 2);
  EXPECT_EQ(exit_code_of_child([] {
              if (helpers_alive() != 0) return 1;
              if (!transposes(200)) return 2;
              return helpers_alive() == 2 ? 0 : 3;
            }),
            0);
  EXPECT_EQ(exit_code_of_child([] { return 0; }), 0);  // never uses them
  EXPECT_TRUE(transposes(200));
}

// AddressSanitizer's allocator (of GCC before 14) does not support forks while another thread is in
// it: now and then a child waits for a lock whose holder does not exist in it.
#ifndef __SANITIZE_ADDRESS__

TEST(Threads, ForkWhileAnotherThreadHasThem) {
  // Makes first what is made at first use: if another thread were making it at the fork, the child
  // would wait for that thread, which it does not have.
  EXPECT_TRUE(transposes(200));
  std::atomic<bool> done{false};
  std::thread packer([&] {
    while (!done) transposes(200);
  });
  for (int i = 0; i < 10; ++i) {
    // The memory of the packer in the parent is a leak in the child.
    EXPECT_EQ(exit_code_of_child([] { return transposes(200) ? 0 : 1; }, End::kQuickly), 0);
  }
  done = true;
  packer.join();
}

#endif  // not AddressSanitizer

TEST(Threads, ExitWhileTheyWork) {
  EXPECT_EQ(exit_code_of_child([] {
              std::thread([] {
#ifdef __SANITIZE_ADDRESS__
                __lsan_disable();  // the thread still holds memory at the end
#endif
                for (;;) transposes(300);
              }).detach();
              usleep(20000);
              return 0;
            }),
            0);
}

#endif  // can follow a fork

// The library stays mapped (nodelete), its threads with it: one team, however often it is loaded.
TEST(Threads, StayWhenTheLibraryIsClosed) {
  const int before = helpers_alive();
  for (int round = 0; round < 3; ++round) {
    void* library = dlopen(LACUNA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    const auto parse =
        reinterpret_cast<decltype(&lacuna_type_parse)>(dlsym(library, "lacuna_type_parse"));
    const auto create =
        reinterpret_cast<decltype(&lacuna_plan_create)>(dlsym(library, "lacuna_plan_create"));
    const auto pack_it = reinterpret_cast<decltype(&lacuna_pack)>(dlsym(library, "lacuna_pack"));
    const auto destroy =
        reinterpret_cast<decltype(&lacuna_plan_destroy)>(dlsym(library, "lacuna_plan_destroy"));
    const auto forget =
        reinterpret_cast<decltype(&lacuna_type_destroy)>(dlsym(library, "lacuna_type_destroy"));
    lacuna_type* type = nullptr;
    lacuna_plan* plan = nullptr;
    ASSERT_EQ(parse("vector(1000000, 1, 2, double)", &type), LACUNA_OK);
    ASSERT_EQ(create(type, &plan), LACUNA_OK);
    const std::vector<double> from(2000000, 1.5);
    std::vector<double> to(1000000);
    ASSERT_EQ(pack_it(plan, from.data(), 1, to.data()), LACUNA_OK);
    EXPECT_EQ(to, std::vector<double>(1000000, 1.5));
    EXPECT_EQ(helpers_alive(), before + 2);
    destroy(plan);
    forget(type);
    ASSERT_EQ(dlclose(library), 0);
    EXPECT_EQ(helpers_alive(), before + 2);
  }
}

}  // namespace
}  // namespace lacuna

#ifdef __SANITIZE_ADDRESS__
// In a child, LeakSanitizer looks for the threads of the parent, and now and then does not end.
extern "C" int __lsan_is_turned_off() { return lacuna::g_is_child ? 1 : 0; }
#endif
