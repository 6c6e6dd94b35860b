// SPDX-License-Identifier: BSD-3-Clause
//
// Locks that are held while the MPI library is called. The library may hold a lock of its own
// around a callback of the program's (Intel MPI 2021.19: those of generalized requests). A thread
// in such a callback must not wait for a lock of lacuna's: its holder may be waiting for the
// library's.
#ifndef LACUNA_INTERPOSE_LIBRARY_LOCKS_HPP_
#define LACUNA_INTERPOSE_LIBRARY_LOCKS_HPP_

#include <pthread.h>
#include <time.h>

#include <chrono>

namespace lacuna {

// Whether the MPI library is among the callers on this thread's stack. Unwinds the stack,
// which is slow.
bool in_callback() noexcept;

// `lock`: a std::unique_lock or std::shared_lock of a timed mutex, not locked yet. False: it was
// not locked, because this is a callback and another thread holds it.
template <typename Lock>
bool lock_outside_callbacks(Lock* lock) {
  constexpr std::chrono::milliseconds kUsual(1);  // held longer than that, it may be a deadlock
  if (lock->try_lock() || lock->try_lock_for(kUsual)) return true;
  if (in_callback()) return false;
  lock->lock();
  return true;
}

// A reader-writer lock that prefers a waiting writer. With std::shared_mutex, readers may starve
// one.
class SharedLock {
 public:
  void lock() noexcept { pthread_rwlock_wrlock(&lock_); }
  bool try_lock() noexcept { return pthread_rwlock_trywrlock(&lock_) == 0; }
  bool try_lock_for(std::chrono::nanoseconds most) noexcept {
    const timespec until = from_now(most);
    return pthread_rwlock_timedwrlock(&lock_, &until) == 0;
  }
  void unlock() noexcept { pthread_rwlock_unlock(&lock_); }

  void lock_shared() noexcept { pthread_rwlock_rdlock(&lock_); }
  bool try_lock_shared() noexcept { return pthread_rwlock_tryrdlock(&lock_) == 0; }
  bool try_lock_shared_for(std::chrono::nanoseconds most) noexcept {
    const timespec until = from_now(most);
    return pthread_rwlock_timedrdlock(&lock_, &until) == 0;
  }
  void unlock_shared() noexcept { pthread_rwlock_unlock(&lock_); }

 private:
  static timespec from_now(std::chrono::nanoseconds most) noexcept {
    constexpr int64_t kSecond = 1'000'000'000;
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    const int64_t ns = now.tv_nsec + most.count();
    return {now.tv_sec + static_cast<time_t>(ns / kSecond), static_cast<long>(ns % kSecond)};
  }

#if defined(PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP)
  pthread_rwlock_t lock_ = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
#else
  pthread_rwlock_t lock_ = PTHREAD_RWLOCK_INITIALIZER;
#endif
};

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_LIBRARY_LOCKS_HPP_
