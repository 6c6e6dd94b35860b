// SPDX-License-Identifier: BSD-3-Clause
//
// A list of freed requests. Any thread may push. One thread at a time takes the whole list, tests
// its requests, and pushes back the incomplete ones. Other threads wait for it, as the data that it
// is unpacking may be those that they have just learnt of. They do not wait in a callback of the
// library: the library may hold a lock around the callback, for which the testing thread waits.
#include "interpose/requests/freed.hpp"

#include <sched.h>
#include <sys/random.h>

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <new>

#include "exec/exec.hpp"
#include "interpose/device/moves.hpp"
#include "interpose/direct/messages/probe.hpp"
#include "interpose/direct/messages/receive.hpp"
#include "interpose/library/locks.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/policy/policy.hpp"
#include "interpose/requests/after_calls.hpp"
#include "interpose/requests/table.hpp"

namespace lacuna {
namespace {

constinit std::atomic<PendingRequest*> g_list{nullptr};
constinit std::timed_mutex g_testing;
constinit std::atomic<int> g_receives{0};  // receives in the list
constinit std::mutex g_mutex;              // to change g_receives

class TestingLock {
 public:
  explicit TestingLock(bool waits) noexcept : lock_(g_testing, std::defer_lock) {
    if (waits && !is_in_library() && !direct::holds_posting_lock())
      static_cast<void>(lock_outside_callbacks(&lock_));
    else
      static_cast<void>(lock_.try_lock());
  }
  bool has() const noexcept { return lock_.owns_lock(); }

 private:
  std::unique_lock<std::timed_mutex> lock_;
};

void push(PendingRequest* entry) noexcept {
  entry->next = g_list.load(std::memory_order_relaxed);
  while (!g_list.compare_exchange_weak(entry->next, entry, std::memory_order_release)) {
  }
}

void count_receives(int change) noexcept {
  const std::lock_guard<std::mutex> lock(g_mutex);
  const int before = g_receives.fetch_add(change, std::memory_order_acq_rel);
  if (before == 0 || before + change == 0) finish_after_calls(before == 0);
}

// Call last, as other threads may then see that nothing is left to be unpacked.
void uncount(bool receive) noexcept {
  g_gate.pending.fetch_sub(1, std::memory_order_relaxed);
  if (receive) count_receives(-1);
  count_freed(-1);
}

void end(PendingRequest* entry, MPI_Status* status) noexcept {
  const bool receive = entry->receive;
  deliver_entry(*entry, status);
  if (entry->persistent && entry->request != runtime().request_null)
    next_functions().MPI_Request_free(&entry->request);
  drop_pending(entry);
  uncount(receive);
}

// Whether the request may belong to `comm`. The communicator of a matched message is unknown.
bool may_be_on(const PendingRequest& entry, MPI_Comm comm) noexcept {
  if (entry.completion != nullptr) return false;  // of a file
  if (!entry.receive) return handle_bits(entry.source.comm) == handle_bits(comm);
  return entry.incoming.matched || handle_bits(entry.incoming.comm) == handle_bits(comm);
}

// Tests each request once. Returns whether requests that may be on `comm` are incomplete (null
// `comm`: always false). The caller holds g_testing.
bool test_all(const MPI_Comm* comm) noexcept {
  const InLibrary inside;
  bool left = false;
  PendingRequest* entry = g_list.exchange(nullptr, std::memory_order_acquire);
  while (entry != nullptr) {
    PendingRequest* next = entry->next;
    int done = 0;
    int code = MPI_SUCCESS;
    MPI_Status status;
    if (!is_incomplete(entry))
      code = next_functions().MPI_Test(outstanding_request(entry, &entry->request), &done, &status);
    if (code == MPI_SUCCESS && done == 0) {
      left = left || (comm != nullptr && may_be_on(*entry, *comm));
      push(entry);
    } else {
      end(entry, code == MPI_SUCCESS ? &status : nullptr);
    }
    entry = next;
  }
  return left;
}

}  // namespace

// The entry stays counted as pending, so that completing calls keep testing it.
void keep_freed(PendingRequest* entry) noexcept {
  take_over(entry);
  count_freed(1);
  if (entry->receive) count_receives(1);
  push(entry);
}

namespace detail {

void finish_freed_requests() noexcept {
  const TestingLock testing(g_receives.load(std::memory_order_acquire) != 0);
  if (testing.has()) test_all(nullptr);
}

}  // namespace detail

void finish_freed_requests_on(MPI_Comm comm) noexcept {
  while (any_freed_requests()) {
    {
      const TestingLock testing(true);
      if (!testing.has() || !test_all(&comm)) return;
    }
    sched_yield();
  }
}

int disconnect_after_freed(const Next& next, MPI_Comm* comm) {
  finish_freed_requests();
  if (comm != nullptr && *comm != MPI_COMM_NULL && waits_in_disconnect(runtime().flavour))
    finish_freed_requests_on(*comm);
  return next.MPI_Comm_disconnect(comm);
}

namespace {

// 16 random bytes, with which no message begins. (Receives with less room complete at once when a
// message comes.)
constexpr int64_t kMarkBytes = 16;
const std::byte* the_mark() noexcept {
  static const std::array<std::byte, kMarkBytes> mark = [] {
    std::array<std::byte, kMarkBytes> bits{};
    static_cast<void>(getrandom(bits.data(), bits.size(), 0));
    return bits;
  }();
  return mark.data();
}

bool is_marked(const Incoming& incoming) noexcept {
  return incoming.staging && incoming.bytes >= kMarkBytes &&
         !(incoming.account.on_device && device::is_device_memory(incoming.staging.data()));
}

}  // namespace

void mark(const Incoming& incoming) noexcept {
  if (is_marked(incoming)) std::memcpy(incoming.staging.data(), the_mark(), kMarkBytes);
}

namespace {

bool has_begun(const Incoming& incoming) noexcept {
  return is_marked(incoming) && std::memcmp(incoming.staging.data(), the_mark(), kMarkBytes) != 0;
}

// A receive that was given back to the library. Nobody will tell how many bytes came; so its
// staging is compared with what it held before: equal bytes need not be written.
struct ReturnedReceive {
  PendingRequest* entry;
  Staging before;  // content of its staging
  ReturnedReceive* next;
};
constinit ReturnedReceive* g_returned = nullptr;

// Fills the staging with what the program's buffer holds, and keeps a copy. False: the buffer
// cannot be read (a device, or freed since), or out of memory.
bool remember(Incoming& incoming, Staging* before) noexcept {
  if (!direct::can_move_alone(&incoming)) return false;
  if (!incoming.staging) return true;
  *before = need_staging(incoming.bytes, false);
  if (!*before) return false;
  pack(*incoming.plan, incoming.buf, incoming.count, incoming.staging.data());
  std::memcpy(before->data(), incoming.staging.data(), static_cast<size_t>(incoming.bytes));
  return true;
}

void return_to_library(PendingRequest* entry) noexcept {
  const Next& next = next_functions();
  const bool receives = entry->receive && entry->completion == nullptr;
  const bool is_held = entry->incoming.redirected;
  // Data have come, so it will complete.
  if (receives && (is_held || entry->incoming.arriving != nullptr || has_begun(entry->incoming))) {
    MPI_Status status;
    return end(entry,
               next.MPI_Wait(outstanding_request(entry, &entry->request), &status) == MPI_SUCCESS
                   ? &status
                   : nullptr);
  }
  auto* left =
      receives ? new (std::nothrow) ReturnedReceive{entry, Staging(), g_returned} : nullptr;
  const bool is_kept = left != nullptr && remember(entry->incoming, &left->before);
  // The library completes it as it would without lacuna. Its staging, and so the entry, must stay.
  if (entry->substituted != 0) next.MPI_Request_free(&entry->substitute);
  next.MPI_Request_free(&entry->request);
  uncount(entry->receive);
  if (is_kept)
    g_returned = left;
  else
    delete left;
}

}  // namespace

void leave_freed_requests() noexcept {
  const TestingLock testing(true);
  if (!testing.has()) return;
  test_all(nullptr);
  const InLibrary inside;
  PendingRequest* entry = g_list.exchange(nullptr, std::memory_order_acquire);
  while (entry != nullptr) {
    PendingRequest* next = entry->next;
    return_to_library(entry);
    entry = next;
  }
}

// No library calls here: MPI has been finalised.
void finish_left_requests() noexcept {
  for (; g_returned != nullptr; g_returned = g_returned->next) {
    Incoming& incoming = g_returned->entry->incoming;
    if (direct::move_payload_alone(incoming) || !g_returned->before) continue;
    const std::byte* packed = incoming.staging.data();
    const std::byte* before = g_returned->before.data();
    int64_t changed = incoming.bytes;
    while (changed > 0 && packed[changed - 1] == before[changed - 1]) --changed;
    if (changed > 0) unpack_slice(*incoming.plan, packed, incoming.count, 0, changed, incoming.buf);
  }
}

}  // namespace lacuna
