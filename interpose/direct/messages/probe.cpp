// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/messages/probe.hpp"

#include <sched.h>

#include <cstddef>
#include <cstring>
#include <mutex>
#include <new>
#include <shared_mutex>

#include "interpose/direct/messages/held.hpp"
#include "interpose/direct/messages/receive.hpp"
#include "interpose/direct/node/peers.hpp"
#include "interpose/direct/rooms/ranks.hpp"
#include "interpose/functions/bodies.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/library/locks.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/memory/reserve.hpp"

namespace lacuna {
namespace direct {

namespace {

constinit std::mutex g_held_mutex;  // guards g_held and g_given_out
// Exclusive: to take messages out of the library's queue. Shared: to look at the held messages and
// then call the library (class PostingLock).
constinit SharedLock g_taking;
constinit HeldMessages g_held;
constinit HeldList<&Held::next, &Held::link>
    g_given_out;  // matched probes have given these to the program
constinit Reserve<Held> g_reserve;
constinit std::atomic<int> g_tag{0};

// A value that no library writes: shows whether a probe has written the field. (Probes must not
// change MPI_ERROR; MPICH 4.0.2 does.)
constexpr int kUnwritten = -123456789;

MPI_Status unwritten_status() noexcept {
  MPI_Status status{};
  status.MPI_SOURCE = kUnwritten;
  status.MPI_ERROR = kUnwritten;
  return status;
}

// Copies to the caller's status as the library would have written it.
void tell(const MPI_Status& found, MPI_Status* status) noexcept {
  if (status == MPI_STATUS_IGNORE || found.MPI_SOURCE == kUnwritten) return;
  const int error = status->MPI_ERROR;
  *status = found;
  if (found.MPI_ERROR == kUnwritten) status->MPI_ERROR = error;
}

bool look_up(int source, int tag, MPI_Comm comm, MPI_Status* status) noexcept {
  const std::lock_guard<std::mutex> lock(g_held_mutex);
  const Held* held = g_held.find(source, tag, comm);
  if (held == nullptr) return false;
  tell(held->status, status);
  return true;
}

void hold(Held* held) noexcept {
  const std::lock_guard<std::mutex> lock(g_held_mutex);
  g_held.add(held);
  count_held_back(1);
}

Held* claim(int source, int tag, MPI_Comm comm) noexcept {
  const std::lock_guard<std::mutex> lock(g_held_mutex);
  Held* held = g_held.find(source, tag, comm);
  if (held == nullptr) return nullptr;
  g_held.remove(held);
  count_held_back(-1);
  return held;
}

// Whether to receive a message that a probe has found. Nothing else is received, as that would
// complete a synchronous send.
bool may_be_token(MPI_Comm comm, const MPI_Status& found) noexcept {
  return bytes_of(found) == kTokenBytes && may_send_token(comm, found.MPI_SOURCE);
}

// Completes `held`, just taken out of the library's queue: receives the message if it may be a
// token.
void keep(MPI_Comm comm, Held* held) noexcept {
  held->comm = comm;
  static_cast<void>(peer_of(comm, 0));  // so that serial_of() knows the communicator
  held->serial = serial_of(comm);
  if (!may_be_token(comm, held->status)) return;
  MPI_Status received;
  next_functions().MPI_Mrecv(&held->bytes, static_cast<int>(kTokenBytes), runtime().packed,
                             &held->message, &received);
  held->received = true;
  if (is_outstanding(held->bytes)) set_bytes(&held->status, held->bytes.bytes);
}

thread_local bool t_holds_taking = false;  // this thread holds g_taking

bool must_lock() noexcept { return g_gate.threads && receives_direct() && !t_holds_taking; }

// Takes g_taking exclusively. In a callback perhaps not, as PostingLock.
class TakingOut {
 public:
  TakingOut() noexcept {
    if (must_lock()) t_holds_taking = lock_outside_callbacks(&lock_);
  }
  ~TakingOut() {
    if (lock_.owns_lock()) t_holds_taking = false;
  }
  TakingOut(const TakingOut&) = delete;
  TakingOut& operator=(const TakingOut&) = delete;

 private:
  std::unique_lock<SharedLock> lock_{g_taking, std::defer_lock};
};

// Holds all messages up to the one that a probe has found. False: out of memory. There may be
// nothing to hold, if another thread has received it in the meantime.
bool hold_up_to(const MPI_Status& found, MPI_Comm comm) noexcept {
  const TakingOut alone;
  if (look_up(found.MPI_SOURCE, found.MPI_TAG, comm, MPI_STATUS_IGNORE)) return true;
  for (bool is_it = false; !is_it;) {
    Held* held = g_reserve.make();
    if (held == nullptr) return false;
    int there = 0;
    const int code = next_functions().MPI_Improbe(found.MPI_SOURCE, MPI_ANY_TAG, comm, &there,
                                                  &held->message, &held->status);
    if (code != MPI_SUCCESS || there == 0) {
      g_reserve.drop(held);
      return code == MPI_SUCCESS;
    }
    keep(comm, held);
    held->status.MPI_ERROR = found.MPI_ERROR;  // written, or left alone, as probes do
    is_it = matches(*held, found.MPI_SOURCE, found.MPI_TAG, comm);
    hold(held);
  }
  return true;
}

int new_tag() noexcept { return g_tag.fetch_add(1, std::memory_order_relaxed) & 0x3FFF; }

// Sends a received message to this rank itself, on the private communicator.
int post(Held* held, int* tag) noexcept {
  *tag = new_tag();
  return next_functions().MPI_Isend(&held->bytes, static_cast<int>(kTokenBytes), runtime().packed,
                                    0, *tag, runtime().probe_comm, &held->sent);
}

void give(Held* held) noexcept {
  const std::lock_guard<std::mutex> lock(g_held_mutex);
  g_given_out.append(held);
  count_held_back(1);
}

// Makes an MPI_Message of the library for a message that was received.
bool as_message(Held* held) noexcept {
  int tag = 0;
  if (post(held, &tag) != MPI_SUCCESS) return false;
  MPI_Status status;
  for (int flag = 0; flag == 0;) {
    if (next_functions().MPI_Improbe(0, tag, runtime().probe_comm, &flag, &held->message,
                                     &status) != MPI_SUCCESS) {
      return false;
    }
  }
  return true;
}

// MPI guarantees tags up to 32767. For larger ones the library is asked.
bool is_tag(int tag) noexcept {
  constexpr int kSure = 32767;
  if (tag <= kSure) return tag >= 0 || tag == MPI_ANY_TAG;
  int* most = nullptr;
  int found = 0;
  return next_functions().MPI_Comm_get_attr(runtime().comm_world, MPI_TAG_UB, &most, &found) ==
             MPI_SUCCESS &&
         found != 0 && tag <= *most;
}

}  // namespace

bool can_match(int source, int tag, MPI_Comm comm) {
  CommInfo group;
  int code = MPI_SUCCESS;
  return comm != MPI_COMM_NULL && is_tag(tag) && comm_info_of(comm, &group, &code) &&
         (source == MPI_ANY_SOURCE || (source >= 0 && source < group.pairs));
}

bool is_tag_of_send(int tag) noexcept { return tag != MPI_ANY_TAG && is_tag(tag); }

bool can_send(int dest, int tag, MPI_Comm comm) {
  return dest != MPI_ANY_SOURCE && tag != MPI_ANY_TAG && can_match(dest, tag, comm);
}

bool holds_posting_lock() noexcept { return t_holds_taking; }

PostingLock::PostingLock(bool locks) noexcept {
  if (!locks) return;
  std::shared_lock lock(g_taking, std::defer_lock);
  locked_ = t_holds_taking = lock_outside_callbacks(&lock);
  lock.release();
}

PostingLock::PostingLock() noexcept : PostingLock(must_lock()) {}

PostingLock::PostingLock(int source, int tag, MPI_Comm comm)
    : PostingLock(must_lock() && can_match(source, tag, comm)) {}

PostingLock::~PostingLock() {
  if (!locked_) return;
  t_holds_taking = false;
  g_taking.unlock_shared();
}

void HeldReceive::start(int* source, int* tag, MPI_Comm* comm) noexcept {
  if (!any_held()) return;
  held_ = claim(*source, *tag, *comm);
  if (held_ == nullptr) return;
  redirected_ = true;
  source_ = held_->status.MPI_SOURCE;
  tag_ = held_->status.MPI_TAG;
  is_own_ = held_->received;
  if (!held_->received) {
    is_message_ = true;
    message_ = held_->message;
    return;
  }
  post(held_, tag);
  *source = 0;
  *comm = runtime().probe_comm;
}

void HeldReceive::start(const MPI_Message& message) noexcept {
  if (!any_held()) return;
  const std::lock_guard<std::mutex> lock(g_held_mutex);
  held_ = g_given_out.find([&](const Held& held) { return held.message == message; });
  if (held_ == nullptr) return;
  g_given_out.remove(held_);
  count_held_back(-1);
  redirected_ = true;
  is_own_ = true;
  source_ = held_->status.MPI_SOURCE;
  tag_ = held_->status.MPI_TAG;
}

MPI_Comm HeldReceive::comm() const noexcept {
  const bool lives = held_->serial != 0 && serial_of(held_->comm) == held_->serial;
  return lives ? held_->comm : runtime().comm_world;
}

void HeldReceive::finish() noexcept {
  if (held_ == nullptr) return;
  if (held_->received) next_functions().MPI_Wait(&held_->sent, MPI_STATUS_IGNORE);
  g_reserve.drop(held_);
  held_ = nullptr;
}

}  // namespace direct

using direct::Held;
using direct::tell;
using direct::unwritten_status;

namespace {

// A thread that waits in the library would not see messages that another thread takes out of its
// queue. So with threads, the probe polls.
bool may_wait_inside(const int* flag) noexcept { return flag == nullptr && !g_gate.threads; }

// Hands a message that lacuna has taken out to a matched probe of the program.
Answer give_out(Held* held, int* flag, MPI_Message* message, MPI_Status* status) noexcept {
  tell(held->status, status);
  if (flag != nullptr) *flag = 1;
  if (!held->received) {
    *message = held->message;
    direct::g_reserve.drop(held);
    return watched(MPI_SUCCESS);
  }
  if (!direct::as_message(held)) return handled(MPI_ERR_OTHER);
  *message = held->message;
  direct::give(held);
  return handled(MPI_SUCCESS);
}

}  // namespace

// MPI_Probe: `flag` is null.
Answer handle_probe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  if (source == MPI_PROC_NULL) return kDeclined;
  const Next& next = next_functions();
  for (;;) {
    MPI_Status own = unwritten_status();
    int found = flag != nullptr ? *flag : 1;
    {
      // Between the search and the library's probe no other thread may take messages out.
      const direct::PostingLock looking(source, tag, comm);
      if (direct::any_held() && direct::look_up(source, tag, comm, status)) {
        if (flag != nullptr) *flag = 1;
        return handled(MPI_SUCCESS);
      }
      const int code = may_wait_inside(flag) ? next.MPI_Probe(source, tag, comm, &own)
                                             : next.MPI_Iprobe(source, tag, comm, &found, &own);
      if (code != MPI_SUCCESS) return handled(code);
    }
    finish_freed_requests();
    if (found == 0 && flag == nullptr) {
      sched_yield();
    } else if (found == 0 || !direct::may_be_token(comm, own) || !direct::hold_up_to(own, comm)) {
      if (flag != nullptr) *flag = found;
      if (found != 0) tell(own, status);
      return watched(MPI_SUCCESS);
    }
  }
}

// MPI_Mprobe: `flag` is null. Nothing is held: the program gets the message.
Answer handle_mprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                     MPI_Status* status) {
  if (source == MPI_PROC_NULL || message == nullptr) return kDeclined;
  const Next& next = next_functions();
  for (;;) {
    MPI_Status own = unwritten_status();
    int found = flag != nullptr ? *flag : 1;
    {
      const direct::PostingLock looking(source, tag, comm);
      if (Held* held = direct::any_held() ? direct::claim(source, tag, comm) : nullptr)
        return give_out(held, flag, message, status);
      const int code = may_wait_inside(flag)
                           ? next.MPI_Mprobe(source, tag, comm, message, &own)
                           : next.MPI_Improbe(source, tag, comm, &found, message, &own);
      if (code != MPI_SUCCESS) return handled(code);
    }
    finish_freed_requests();
    if (found == 0 && flag == nullptr) {
      sched_yield();
      continue;
    }
    const bool may_be = found != 0 && direct::may_be_token(comm, own);
    Held* held = may_be ? direct::g_reserve.make() : nullptr;
    if (held == nullptr) {
      if (flag != nullptr) *flag = found;
      if (found != 0) tell(own, status);
      return watched(MPI_SUCCESS);
    }
    held->message = *message;
    held->status = own;
    direct::keep(comm, held);
    return give_out(held, flag, message, status);
  }
}

}  // namespace lacuna
