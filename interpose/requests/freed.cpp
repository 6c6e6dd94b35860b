// SPDX-License-Identifier: BSD-3-Clause
//
// Anyone pushes, and one thread at a time, whose turn it is, takes the whole list and pushes back
// what is not done. Others wait for their own turn, as what it is unpacking may be what they have
// just heard of. Not in a callback of the library's: what the one whose turn it is asks the library
// might then wait for a lock that the library holds around the callback.
#include "interpose/requests/freed.hpp"

#include <sched.h>
#include <sys/random.h>

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <new>

#include "exec/exec.hpp"
#include "interpose/direct/messages/probe.hpp"
#include "interpose/direct/messages/receive.hpp"
#include "interpose/library/locks.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/policy/policy.hpp"
#include "interpose/requests/behind.hpp"
#include "interpose/requests/table.hpp"

namespace lacuna {
namespace {

constinit std::atomic<PendingRequest*> g_list{nullptr};
constinit std::timed_mutex g_turn;
constinit std::atomic<int> g_receives{0};  // among them; what else is freed nobody hears of
constinit std::mutex g_mutex;              // of changing that number

class Turn {
 public:
  explicit Turn(bool waits) noexcept : lock_(g_turn, std::defer_lock) {
    if (waits && !is_in_library() && !direct::is_posting())
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
  if (before == 0 || before + change == 0) look_behind_calls(before == 0);
}

// It is over for lacuna: only now may others see that nothing is left to be unpacked.
void uncount(bool receive) noexcept {
  g_gate.pending.fetch_sub(1, std::memory_order_relaxed);
  if (receive) count_receives(-1);
  count_freed(-1);
}

void end(PendingRequest* entry, MPI_Status* status) noexcept {
  const bool receive = entry->receive;
  if (receive && status != nullptr) hand_over(*entry, status);
  if (entry->persistent && entry->request != runtime().request_null)
    next_functions().MPI_Request_free(&entry->request);
  drop_pending(entry);
  uncount(receive);
}

// Nobody knows of which communicator a matched message was: it may be of any.
bool may_be_on(const PendingRequest& entry, MPI_Comm comm) noexcept {
  if (entry.exchange != nullptr) return false;  // of a file
  if (!entry.receive) return handle_bits(entry.source.comm) == handle_bits(comm);
  return entry.incoming.matched || handle_bits(entry.incoming.comm) == handle_bits(comm);
}

// Asks about each, once. Whether some that may be on `comm` (null: none matters) are not complete.
// By whose turn it is.
bool ask_all(const MPI_Comm* comm) noexcept {
  const InLibrary inside;
  bool left = false;
  PendingRequest* entry = g_list.exchange(nullptr, std::memory_order_acquire);
  while (entry != nullptr) {
    PendingRequest* next = entry->next;
    int done = 0;
    MPI_Status status;
    const int code = next_functions().MPI_Test(under_way(entry, &entry->request), &done, &status);
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

// It stays counted as pending, so that completing calls keep looking at it.
void keep_freed(PendingRequest* entry) noexcept {
  take_over(entry);
  count_freed(1);
  if (entry->receive) count_receives(1);
  push(entry);
}

namespace detail {

void finish_freed_requests() noexcept {
  const Turn turn(g_receives.load(std::memory_order_acquire) != 0);
  if (turn.has()) ask_all(nullptr);
}

}  // namespace detail

void finish_freed_requests_on(MPI_Comm comm) noexcept {
  while (any_freed_requests()) {
    {
      const Turn turn(true);
      if (!turn.has() || !ask_all(&comm)) return;
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

// Nothing that is sent begins so. (Where there is less room, what comes comes at once.)
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
  return incoming.staging && incoming.bytes >= kMarkBytes;
}

}  // namespace

void mark(const Incoming& incoming) noexcept {
  if (is_marked(incoming)) std::memcpy(incoming.staging.data(), the_mark(), kMarkBytes);
}

namespace {

bool has_begun(const Incoming& incoming) noexcept {
  return is_marked(incoming) && std::memcmp(incoming.staging.data(), the_mark(), kMarkBytes) != 0;
}

// A receive that is the library's again. What it brings is known by what was there before, as
// nobody will say how much it was: what is the same need not be written.
struct Left {
  PendingRequest* entry;
  Staging before;  // what its staging held
  Left* next;
};
constinit Left* g_left = nullptr;

// False: its memory cannot be read, as it is a device's, or gone since. Or there is no memory.
bool remember(Incoming& incoming, Staging* before) noexcept {
  if (!direct::can_land_alone(&incoming)) return false;
  if (!incoming.staging) return true;
  *before = need_staging(incoming.bytes, false);
  if (!*before) return false;
  pack(*incoming.plan, incoming.buf, incoming.count, incoming.staging.data());
  std::memcpy(before->data(), incoming.staging.data(), static_cast<size_t>(incoming.bytes));
  return true;
}

void leave(PendingRequest* entry) noexcept {
  const Next& next = next_functions();
  const bool receives = entry->receive && entry->exchange == nullptr;
  const bool is_held = entry->substituted != 0;
  if (receives && (is_held || has_begun(entry->incoming))) {  // and so it will end
    MPI_Status status;
    return end(entry, next.MPI_Wait(under_way(entry, &entry->request), &status) == MPI_SUCCESS
                          ? &status
                          : nullptr);
  }
  auto* left = receives ? new (std::nothrow) Left{entry, Staging(), g_left} : nullptr;
  const bool is_kept = left != nullptr && remember(entry->incoming, &left->before);
  // The library completes it as it would have. Its data stay where they are, and the entry, too.
  if (entry->substituted != 0) next.MPI_Request_free(&entry->substitute);
  next.MPI_Request_free(&entry->request);
  uncount(entry->receive);
  if (is_kept)
    g_left = left;
  else
    delete left;
}

}  // namespace

void leave_freed_requests() noexcept {
  const Turn turn(true);
  if (!turn.has()) return;
  ask_all(nullptr);
  const InLibrary inside;
  PendingRequest* entry = g_list.exchange(nullptr, std::memory_order_acquire);
  while (entry != nullptr) {
    PendingRequest* next = entry->next;
    leave(entry);
    entry = next;
  }
}

// Without the library, which has ended.
void finish_left_requests() noexcept {
  for (; g_left != nullptr; g_left = g_left->next) {
    Incoming& incoming = g_left->entry->incoming;
    if (direct::land_alone(incoming) || !g_left->before) continue;
    const std::byte* packed = incoming.staging.data();
    const std::byte* before = g_left->before.data();
    int64_t changed = incoming.bytes;
    while (changed > 0 && packed[changed - 1] == before[changed - 1]) --changed;
    if (changed > 0) unpack_slice(*incoming.plan, packed, incoming.count, 0, changed, incoming.buf);
  }
}

}  // namespace lacuna
