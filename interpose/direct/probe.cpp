// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/probe.hpp"

#include <sched.h>

#include <cstddef>
#include <cstring>
#include <mutex>
#include <new>

#include "interpose/bodies.hpp"
#include "interpose/direct/peers.hpp"
#include "interpose/direct/receive.hpp"
#include "interpose/gate.hpp"
#include "interpose/group.hpp"
#include "interpose/next.hpp"
#include "interpose/reserve.hpp"
#include "interpose/runtime.hpp"

namespace lacuna {
namespace direct {

// A message that is out of the library's queue.
struct Held {
  MPI_Comm comm{};
  uint64_t life = 0;      // of it
  MPI_Status status{};    // what a probe tells of it
  bool received = false;  // into `bytes`, as it may be a token
  Token bytes{};
  MPI_Message message{};   // not received: the library's; else what a matched probe has given out
  bool given_out = false;  // the program has `message`
  MPI_Request sent{};      // to this rank itself
  Held* next = nullptr;
};

namespace {

constinit std::mutex g_mutex;   // of the list
constinit std::mutex g_taking;  // one thread at a time takes out, or tells the library of a receive
constinit Held* g_first = nullptr;
constinit Reserve<Held> g_reserve;
constinit std::atomic<int> g_tag{0};

bool matches(const Held& held, int source, int tag, MPI_Comm comm) noexcept {
  return !held.given_out && handle_bits(held.comm) == handle_bits(comm) &&
         (source == MPI_ANY_SOURCE || source == held.status.MPI_SOURCE) &&
         (tag == MPI_ANY_TAG || tag == held.status.MPI_TAG);
}

Held** find(int source, int tag, MPI_Comm comm) noexcept {
  for (Held** link = &g_first; *link != nullptr; link = &(*link)->next) {
    if (matches(**link, source, tag, comm)) return link;
  }
  return nullptr;
}

// What no library writes: as long as it stands there, the library has left the field alone. (MPI
// says that MPI_ERROR is not a probe's to change; MPICH 4.0.2 does.)
constexpr int kUntold = -123456789;

MPI_Status untold() noexcept {
  MPI_Status status{};
  status.MPI_SOURCE = kUntold;
  status.MPI_ERROR = kUntold;
  return status;
}

// The caller's status as the library would have written it.
void tell(const MPI_Status& found, MPI_Status* status) noexcept {
  if (status == MPI_STATUS_IGNORE || found.MPI_SOURCE == kUntold) return;
  const int error = status->MPI_ERROR;
  *status = found;
  if (found.MPI_ERROR == kUntold) status->MPI_ERROR = error;
}

bool look_up(int source, int tag, MPI_Comm comm, MPI_Status* status) noexcept {
  const std::lock_guard<std::mutex> lock(g_mutex);
  Held** link = find(source, tag, comm);
  if (link == nullptr) return false;
  tell((*link)->status, status);
  return true;
}

void append(Held* held) noexcept {
  const std::lock_guard<std::mutex> lock(g_mutex);
  Held** link = &g_first;
  while (*link != nullptr) link = &(*link)->next;
  *link = held;
  count_held_back(1);
}

Held* unlink(Held** link) noexcept {
  Held* held = *link;
  *link = held->next;
  held->next = nullptr;
  count_held_back(-1);
  return held;
}

Held* claim(int source, int tag, MPI_Comm comm) noexcept {
  const std::lock_guard<std::mutex> lock(g_mutex);
  Held** link = find(source, tag, comm);
  return link != nullptr ? unlink(link) : nullptr;
}

// What has just been taken out of the library's queue on `comm`: received, if it may be a token.
void keep(MPI_Comm comm, Held* held) noexcept {
  held->comm = comm;
  static_cast<void>(peer_of(comm, 0));  // which gives it a life, if it has none yet
  held->life = life_of(comm);
  if (bytes_of(held->status) != kTokenBytes) return;
  MPI_Status received;
  next_functions().MPI_Mrecv(&held->bytes, static_cast<int>(kTokenBytes), runtime().packed,
                             &held->message, &received);
  held->received = true;
  if (is_token(held->bytes)) set_bytes(&held->status, held->bytes.bytes);
}

// Takes the next message of a sender out of the library's queue. False: there is none, or an error.
bool take_out(int source, MPI_Comm comm, Held* held) noexcept {
  int found = 0;
  if (next_functions().MPI_Improbe(source, MPI_ANY_TAG, comm, &found, &held->message,
                                   &held->status) != MPI_SUCCESS ||
      found == 0) {
    return false;
  }
  keep(comm, held);
  return true;
}

// Holds all messages up to the one that a probe has found.
void hold_up_to(const MPI_Status& found, MPI_Comm comm) noexcept {
  const std::lock_guard<std::mutex> lock(g_taking);
  while (!look_up(found.MPI_SOURCE, found.MPI_TAG, comm, MPI_STATUS_IGNORE)) {
    Held* held = g_reserve.make();
    if (held == nullptr) return;
    if (!take_out(found.MPI_SOURCE, comm, held)) {
      g_reserve.drop(held);
      return;
    }
    held->status.MPI_ERROR = found.MPI_ERROR;  // as probes write it, or not
    append(held);
  }
}

int new_tag() noexcept { return g_tag.fetch_add(1, std::memory_order_relaxed) & 0x3FFF; }

// Sends what was received to this rank itself; the tag.
int post(Held* held) noexcept {
  const int tag = new_tag();
  next_functions().MPI_Isend(&held->bytes, static_cast<int>(kTokenBytes), runtime().packed, 0, tag,
                             runtime().probe_comm, &held->sent);
  return tag;
}

// The library's own handle for what was received.
bool as_message(Held* held) noexcept {
  const int tag = post(held);
  MPI_Status status;
  for (int flag = 0; flag == 0;) {
    if (next_functions().MPI_Improbe(0, tag, runtime().probe_comm, &flag, &held->message,
                                     &status) != MPI_SUCCESS) {
      return false;
    }
  }
  return true;
}

// MPI says that tags may be this large; how much larger, the library says.
bool is_tag(int tag) noexcept {
  constexpr int kSure = 32767;
  if (tag <= kSure) return tag >= 0 || tag == MPI_ANY_TAG;
  int* most = nullptr;
  int found = 0;
  return next_functions().MPI_Comm_get_attr(runtime().comm_world, MPI_TAG_UB, &most, &found) ==
             MPI_SUCCESS &&
         found != 0 && tag <= *most;
}

bool can_match(int source, int tag, MPI_Comm comm) {
  Group group;
  int code = MPI_SUCCESS;
  return comm != MPI_COMM_NULL && is_tag(tag) && ask_group(comm, &group, &code) &&
         (source == MPI_ANY_SOURCE || (source >= 0 && source < group.pairs));
}

bool takes_turns() noexcept { return g_gate.threads && receives_direct(); }

}  // namespace

Posting::Posting() noexcept : locked_(takes_turns()) {
  if (locked_) g_taking.lock();
}

Posting::Posting(int source, int tag, MPI_Comm comm)
    : locked_(takes_turns() && can_match(source, tag, comm)) {
  if (locked_) g_taking.lock();
}

Posting::~Posting() {
  if (locked_) g_taking.unlock();
}

void Detour::start(int* source, int* tag, MPI_Comm* comm) noexcept {
  if (!any_held()) return;
  held_ = claim(*source, *tag, *comm);
  if (held_ == nullptr) return;
  taken_ = true;
  source_ = held_->status.MPI_SOURCE;
  tag_ = held_->status.MPI_TAG;
  is_own_ = held_->received;
  if (!held_->received) {
    is_message_ = true;
    message_ = held_->message;
    return;
  }
  *tag = post(held_);
  *source = 0;
  *comm = runtime().probe_comm;
}

void Detour::start(const MPI_Message& message) noexcept {
  if (!any_held()) return;
  const std::lock_guard<std::mutex> lock(g_mutex);
  for (Held** link = &g_first; *link != nullptr; link = &(*link)->next) {
    if (!(*link)->given_out || (*link)->message != message) continue;
    held_ = unlink(link);
    taken_ = true;
    is_own_ = true;
    source_ = held_->status.MPI_SOURCE;
    tag_ = held_->status.MPI_TAG;
    return;
  }
}

MPI_Comm Detour::comm() const noexcept {
  const bool lives = held_->life != 0 && life_of(held_->comm) == held_->life;
  return lives ? held_->comm : runtime().comm_world;
}

void Detour::finish() noexcept {
  if (held_ == nullptr) return;
  if (held_->received) next_functions().MPI_Wait(&held_->sent, MPI_STATUS_IGNORE);
  g_reserve.drop(held_);
  held_ = nullptr;
}

}  // namespace direct

using direct::Held;
using direct::tell;
using direct::untold;

namespace {

// A call that waits in the library would not see what another thread takes out of its queue
// meanwhile: where there are threads, it looks again and again instead.
bool may_wait_inside(const int* flag) noexcept { return flag == nullptr && !g_gate.threads; }

// What the program gets of a message that lacuna has taken out.
Answer give_out(Held* held, int* flag, MPI_Message* message, MPI_Status* status) noexcept {
  tell(held->status, status);
  if (flag != nullptr) *flag = 1;
  if (!held->received) {
    *message = held->message;
    direct::g_reserve.drop(held);
    return watched(MPI_SUCCESS);
  }
  if (!direct::as_message(held)) return taken(MPI_ERR_OTHER);
  *message = held->message;
  held->given_out = true;
  direct::append(held);
  return taken(MPI_SUCCESS);
}

}  // namespace

// MPI_Probe: `flag` is null.
Answer take_probe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  if (source == MPI_PROC_NULL) return kDeclined;
  const Next& next = next_functions();
  for (;;) {
    MPI_Status own = untold();
    int found = flag != nullptr ? *flag : 1;
    {
      // What one thread holds back between these two, the other one would miss.
      const direct::Posting looking(source, tag, comm);
      if (direct::any_held() && direct::look_up(source, tag, comm, status)) {
        if (flag != nullptr) *flag = 1;
        return taken(MPI_SUCCESS);
      }
      const int code = may_wait_inside(flag) ? next.MPI_Probe(source, tag, comm, &own)
                                             : next.MPI_Iprobe(source, tag, comm, &found, &own);
      if (code != MPI_SUCCESS) return taken(code);
    }
    if (found == 0 && flag == nullptr) {
      sched_yield();
    } else if (found == 0 || direct::bytes_of(own) != direct::kTokenBytes) {
      if (flag != nullptr) *flag = found;
      if (found != 0) tell(own, status);
      return watched(MPI_SUCCESS);
    } else {
      direct::hold_up_to(own, comm);
    }
  }
}

// MPI_Mprobe: `flag` is null. Nothing need be held: what is taken out is the program's.
Answer take_mprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                   MPI_Status* status) {
  if (source == MPI_PROC_NULL || message == nullptr) return kDeclined;
  const Next& next = next_functions();
  for (;;) {
    MPI_Status own = untold();
    int found = flag != nullptr ? *flag : 1;
    {
      const direct::Posting looking(source, tag, comm);
      if (Held* held = direct::any_held() ? direct::claim(source, tag, comm) : nullptr)
        return give_out(held, flag, message, status);
      const int code = may_wait_inside(flag)
                           ? next.MPI_Mprobe(source, tag, comm, message, &own)
                           : next.MPI_Improbe(source, tag, comm, &found, message, &own);
      if (code != MPI_SUCCESS) return taken(code);
    }
    if (found == 0 && flag == nullptr) {
      sched_yield();
      continue;
    }
    const bool may_be_token = found != 0 && direct::bytes_of(own) == direct::kTokenBytes;
    Held* held = may_be_token ? direct::g_reserve.make() : nullptr;
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
