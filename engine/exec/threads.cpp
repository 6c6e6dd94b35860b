// SPDX-License-Identifier: BSD-3-Clause
//
// The helper threads; they work on one job at a time.
#include "exec/threads.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <new>

#include "base/options.hpp"

namespace lacuna {
namespace {

constexpr int64_t kMostHelpers = 255;

struct Job {
  void (*work)(void* context, int64_t part);
  void* context;
  int64_t parts;
  std::atomic<int64_t> next{0};

  void help() {
    for (;;) {
      const int64_t part = next.fetch_add(1, std::memory_order_relaxed);
      if (part >= parts) return;
      work(context, part);
    }
  }
};

class Team {
 public:
  explicit Team(Team* parents) : parents_(parents) {}

  bool run(int64_t helpers, Job* job);
  void stop();
  bool is_ours() const { return owner_ == getpid(); }

 private:
  static void* main_of(void* team);
  void wait_for_jobs();
  void hire(int64_t helpers);

  std::atomic_flag busy_;  // the thread that set it owns what follows
  pthread_t threads_[kMostHelpers];
  int64_t hired_ = 0;

  std::mutex mutex_;  // guards what follows
  std::condition_variable called_;
  std::condition_variable left_;
  Job* job_ = nullptr;
  int64_t wanted_ = 0;  // helpers that may still join the job
  int64_t inside_ = 0;  // helpers that work on it
  bool stopped_ = false;

  const pid_t owner_ = getpid();
  // The parent's team after a fork: unusable, since its lock may be held for ever; kept reachable
  // for leak checkers.
  [[maybe_unused]] Team* const parents_;
};

// Never destroyed: a thread may pack while static objects are destroyed.
std::atomic<Team*> g_team{nullptr};
std::atomic<bool> g_ended{false};

void* Team::main_of(void* team) {
  static_cast<Team*>(team)->wait_for_jobs();
  return nullptr;
}

void Team::wait_for_jobs() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    called_.wait(lock, [&] { return stopped_ || (job_ != nullptr && wanted_ > 0); });
    if (stopped_) return;
    Job* job = job_;
    --wanted_;
    ++inside_;
    lock.unlock();
    job->help();
    lock.lock();
    if (--inside_ == 0) left_.notify_one();
  }
}

void Team::hire(int64_t helpers) {
  if (hired_ >= helpers) return;
  // Signals are for the program's own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return;
  while (hired_ < helpers) {
    pthread_t* thread = &threads_[hired_];
    if (pthread_create(thread, nullptr, &main_of, this) != 0) break;
    ++hired_;
    char name[16] = "lacuna-";
    std::to_chars(name + 7, name + sizeof(name) - 1, hired_);
    pthread_setname_np(*thread, name);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool Team::run(int64_t helpers, Job* job) {
  if (busy_.test_and_set(std::memory_order_acquire)) return false;
  hire(helpers);
  helpers = std::min(helpers, hired_);
  if (helpers > 0) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      job_ = job;
      wanted_ = helpers;
    }
    for (int64_t i = 0; i < helpers; ++i) called_.notify_one();
    job->help();
    std::unique_lock<std::mutex> lock(mutex_);
    job_ = nullptr;
    left_.wait(lock, [&] { return inside_ == 0; });
  }
  busy_.clear(std::memory_order_release);
  return helpers > 0;
}

// Does not wait if a thread uses the helpers: that may be the thread that ends the process, in a
// signal handler.
void Team::stop() {
  if (busy_.test_and_set(std::memory_order_acquire)) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }
  called_.notify_all();
  for (int64_t i = 0; i < hired_; ++i) pthread_join(threads_[i], nullptr);
  hired_ = 0;
}

Team* team_of_this_process() {
  Team* team = g_team.load(std::memory_order_acquire);
  if (team != nullptr && team->is_ours()) return team;
  Team* fresh = new (std::nothrow) Team(team);
  if (fresh == nullptr) return nullptr;
  if (g_team.compare_exchange_strong(team, fresh, std::memory_order_acq_rel)) return fresh;
  delete fresh;
  return team;  // another thread was first
}

// The library is about to be unloaded, or the process to end: no helper may be left in its code.
[[gnu::destructor]] void end_threads() {
  g_ended.store(true, std::memory_order_relaxed);
  Team* team = g_team.load(std::memory_order_acquire);
  if (team != nullptr && team->is_ours()) team->stop();
}

}  // namespace

int64_t thread_limit() noexcept { return option_integer(OptionId::kThreads); }

bool run_with_help(int64_t helpers, int64_t parts, void (*work)(void* context, int64_t part),
                   void* context) noexcept {
  helpers = std::min({helpers, parts - 1, kMostHelpers});
  if (helpers < 1 || g_ended.load(std::memory_order_relaxed)) return false;
  Team* team = team_of_this_process();
  if (team == nullptr) return false;
  Job job{work, context, parts};
  return team->run(helpers, &job);
}

}  // namespace lacuna
