// SPDX-License-Identifier: BSD-3-Clause
//
// A list for all windows with the same hash, sorted by number, with a mutex that is used only with
// MPI_THREAD_MULTIPLE; and the bodies of the synchronisation calls.
#include "interpose/rma/held_operations.hpp"

#include <mutex>

#include "base/hash.hpp"
#include "interpose/functions/bodies.hpp"
#include "interpose/library/next.hpp"
#include "interpose/types/packing.hpp"

namespace lacuna {
namespace {

constexpr unsigned kListBits = 5;

struct List {
  std::mutex mutex;
  HeldOperation* first = nullptr;
  HeldOperation* last = nullptr;
  uint64_t number = 0;  // of the last operation ever added
};
constinit List g_lists[1U << kListBits];

List& list_of(uintptr_t window) { return g_lists[hash_slot(window, kListBits)]; }

std::unique_lock<std::mutex> lock(List& list) {
  return g_gate.threads ? std::unique_lock(list.mutex) : std::unique_lock<std::mutex>();
}

void give_back(HeldOperation* operation, bool success) {
  if (operation->incoming && success) {
    unpack_for(operation->account, *operation->plan, operation->incoming.data(), operation->bytes,
               operation->count, operation->buf);
  }
  operation->incoming.reset();
  operation->outgoing.reset();
}

// Decrements the count last: while it is not zero, other threads come here and wait for the lock.
void end(List& list, HeldOperation* operation, bool success) {
  HeldOperation*& before = operation->previous != nullptr ? operation->previous->next : list.first;
  HeldOperation*& after = operation->next != nullptr ? operation->next->previous : list.last;
  before = operation->next;
  after = operation->previous;
  give_back(operation, success);
  operation->listed = false;
  if (!operation->has_request) delete operation;
  g_gate.held.fetch_sub(1, std::memory_order_release);
}

}  // namespace

void hold(HeldOperation* operation, MPI_Win window, int target) {
  operation->window = handle_bits(window);
  operation->target = target;
  List& list = list_of(operation->window);
  const auto locked = lock(list);
  operation->listed = true;
  operation->number = ++list.number;
  operation->previous = list.last;
  (list.last != nullptr ? list.last->next : list.first) = operation;
  list.last = operation;
  g_gate.held.fetch_add(1, std::memory_order_release);
}

// What the CPU unpacks cannot fail; data of devices are left to the library.
int HeldOperation::finish(bool success) noexcept {
  if (window == 0) {
    give_back(this, success);
    return MPI_SUCCESS;
  }
  List& list = list_of(window);
  const auto locked = lock(list);
  if (listed) end(list, this, success);
  return MPI_SUCCESS;
}

Synchronization::Synchronization(MPI_Win window, int target)
    : window_(handle_bits(window)), target_(target) {
  List& list = list_of(window_);
  const auto locked = lock(list);
  for (const HeldOperation* held = list.last; held != nullptr; held = held->previous) {
    if (!concerns(*held)) continue;
    last_ = held->number;
    return;
  }
}

void Synchronization::end(bool success) const {
  List& list = list_of(window_);
  const auto locked = lock(list);
  for (HeldOperation* held = list.first; held != nullptr && held->number <= last_;) {
    HeldOperation* next = held->next;
    if (concerns(*held)) lacuna::end(list, held, success);
    held = next;
  }
}

namespace {

// Makes the library's call and ends the operations that it has completed. Declined if there are
// none.
template <typename Ask>
Answer synchronize(MPI_Win win, int target, const Ask& ask) {
  const Synchronization synchronization(win, target);
  if (!synchronization.concerns_any()) return kDeclined;
  const int code = ask(next_functions());
  if (code == MPI_SUCCESS) synchronization.end(true);
  return handled(code);
}

}  // namespace

Answer handle_win_fence(int assert, MPI_Win win) {
  return synchronize(win, kAllTargets,
                     [&](const Next& next) { return next.MPI_Win_fence(assert, win); });
}

Answer handle_win_complete(MPI_Win win) {
  return synchronize(win, kAllTargets,
                     [&](const Next& next) { return next.MPI_Win_complete(win); });
}

Answer handle_win_unlock(int rank, MPI_Win win) {
  return synchronize(win, rank, [&](const Next& next) { return next.MPI_Win_unlock(rank, win); });
}

Answer handle_win_unlock_all(MPI_Win win) {
  return synchronize(win, kAllTargets,
                     [&](const Next& next) { return next.MPI_Win_unlock_all(win); });
}

Answer handle_win_flush(int rank, MPI_Win win) {
  return synchronize(win, rank, [&](const Next& next) { return next.MPI_Win_flush(rank, win); });
}

Answer handle_win_flush_all(MPI_Win win) {
  return synchronize(win, kAllTargets,
                     [&](const Next& next) { return next.MPI_Win_flush_all(win); });
}

Answer handle_win_flush_local(int rank, MPI_Win win) {
  return synchronize(win, rank,
                     [&](const Next& next) { return next.MPI_Win_flush_local(rank, win); });
}

Answer handle_win_flush_local_all(MPI_Win win) {
  return synchronize(win, kAllTargets,
                     [&](const Next& next) { return next.MPI_Win_flush_local_all(win); });
}

// Operations that are still held were never synchronised.
Answer handle_win_free(MPI_Win* win) {
  if (win == nullptr) return kDeclined;
  const Synchronization synchronization(*win, kAllTargets);
  if (!synchronization.concerns_any()) return kDeclined;
  const int code = next_functions().MPI_Win_free(win);
  if (code == MPI_SUCCESS) synchronization.end(false);
  return handled(code);
}

}  // namespace lacuna
