// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/probe.hpp"

#include <cstddef>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#include "interpose/bodies.hpp"
#include "interpose/direct/receive.hpp"
#include "interpose/gate.hpp"
#include "interpose/next.hpp"
#include "interpose/runtime.hpp"

namespace lacuna {
namespace direct {

// A message that is out of the library's queue.
struct Held {
  uintptr_t comm;
  MPI_Status status;  // of the probe, corrected
  std::vector<std::byte> data;
  MPI_Request sent;   // to this rank itself, when it is on its way to a receive
  uintptr_t message;  // 0, or what a matched probe has given out for it
  Held* next = nullptr;
};

namespace detail {
constinit std::atomic<int> g_held{0};
}  // namespace detail

namespace {

constinit std::mutex g_mutex;
constinit Held* g_first = nullptr;
constinit std::atomic<int> g_tag{0};

bool matches(const Held& held, int source, int tag, MPI_Comm comm) noexcept {
  return held.message == 0 && held.comm == handle_bits(comm) &&
         (source == MPI_ANY_SOURCE || source == held.status.MPI_SOURCE) &&
         (tag == MPI_ANY_TAG || tag == held.status.MPI_TAG);
}

Held** find(int source, int tag, MPI_Comm comm) noexcept {
  for (Held** link = &g_first; *link != nullptr; link = &(*link)->next) {
    if (matches(**link, source, tag, comm)) return link;
  }
  return nullptr;
}

bool look_up(int source, int tag, MPI_Comm comm, MPI_Status* status) noexcept {
  const std::lock_guard<std::mutex> lock(g_mutex);
  Held** link = find(source, tag, comm);
  if (link == nullptr) return false;
  if (status != MPI_STATUS_IGNORE) {
    const int error = status->MPI_ERROR;  // not a probe's to change
    *status = (*link)->status;
    status->MPI_ERROR = error;
  }
  return true;
}

void append(Held* held) noexcept {
  const std::lock_guard<std::mutex> lock(g_mutex);
  Held** link = &g_first;
  while (*link != nullptr) link = &(*link)->next;
  *link = held;
  detail::g_held.fetch_add(1, std::memory_order_release);
}

Held* unlink(Held** link) noexcept {
  Held* held = *link;
  *link = held->next;
  detail::g_held.fetch_sub(1, std::memory_order_release);
  return held;
}

// Takes a matched message out of the library. Null: an error, which the library has raised.
Held* take_out(MPI_Comm comm, MPI_Message* message, const MPI_Status& status) {
  const int64_t bytes = bytes_of(status);
  auto* held = new Held{handle_bits(comm), status, {}, {}, 0};
  held->data.resize(static_cast<size_t>(bytes));
  MPI_Status received;
  if (next_functions().MPI_Mrecv(held->data.data(), static_cast<int>(bytes), runtime().packed,
                                 message, &received) != MPI_SUCCESS) {
    delete held;
    return nullptr;
  }
  Token token;
  if (bytes == kTokenBytes) {
    std::memcpy(&token, held->data.data(), sizeof(token));
    if (is_token(token)) set_bytes(&held->status, token.bytes);
  }
  return held;
}

int new_tag() noexcept { return g_tag.fetch_add(1, std::memory_order_relaxed) & 0x3FFF; }

// Sends the held bytes to this rank itself.
int post(Held* held) noexcept {
  const int tag = new_tag();
  next_functions().MPI_Isend(held->data.data(), static_cast<int>(held->data.size()),
                             runtime().packed, 0, tag, runtime().probe_comm, &held->sent);
  return tag;
}

// The library's own handle for a held message.
bool as_message(Held* held, MPI_Message* message) noexcept {
  const int tag = post(held);
  MPI_Status status;
  int flag = 0;
  while (flag == 0) {
    if (next_functions().MPI_Improbe(0, tag, runtime().probe_comm, &flag, message, &status) !=
        MPI_SUCCESS) {
      return false;
    }
  }
  held->message = handle_bits(*message);
  return true;
}

}  // namespace

void Detour::start(int* source, int* tag, MPI_Comm* comm) noexcept {
  if (!any_held()) return;
  {
    const std::lock_guard<std::mutex> lock(g_mutex);
    Held** link = find(*source, *tag, *comm);
    if (link == nullptr) return;
    held_ = unlink(link);
  }
  taken_ = true;
  source_ = held_->status.MPI_SOURCE;
  tag_ = held_->status.MPI_TAG;
  *tag = post(held_);
  *source = 0;
  *comm = runtime().probe_comm;
}

void Detour::start(const MPI_Message& message) noexcept {
  if (!any_held()) return;
  const std::lock_guard<std::mutex> lock(g_mutex);
  for (Held** link = &g_first; *link != nullptr; link = &(*link)->next) {
    if ((*link)->message != handle_bits(message)) continue;
    held_ = unlink(link);
    taken_ = true;
    source_ = held_->status.MPI_SOURCE;
    tag_ = held_->status.MPI_TAG;
    return;
  }
}

void Detour::finish() noexcept {
  if (held_ == nullptr) return;
  next_functions().MPI_Wait(&held_->sent, MPI_STATUS_IGNORE);
  delete held_;
  held_ = nullptr;
}

}  // namespace direct

using direct::Held;

// MPI_Probe: `flag` is null.
Answer take_probe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) noexcept try {
  if (source == MPI_PROC_NULL) return kDeclined;
  const Next& next = next_functions();
  for (;;) {
    if (direct::look_up(source, tag, comm, status)) {
      if (flag != nullptr) *flag = 1;
      return taken(MPI_SUCCESS);
    }
    MPI_Status own{};
    if (status != MPI_STATUS_IGNORE) own = *status;
    int found = 1;
    const int code = flag != nullptr ? next.MPI_Iprobe(source, tag, comm, &found, &own)
                                     : next.MPI_Probe(source, tag, comm, &own);
    if (code != MPI_SUCCESS || found == 0 || direct::bytes_of(own) != direct::kTokenBytes) {
      if (flag != nullptr && code == MPI_SUCCESS) *flag = found;
      if (status != MPI_STATUS_IGNORE && found != 0) *status = own;
      return taken(code);
    }
    MPI_Message message;
    MPI_Status matched;
    if (next.MPI_Improbe(own.MPI_SOURCE, own.MPI_TAG, comm, &found, &message, &matched) !=
        MPI_SUCCESS) {
      continue;
    }
    if (found == 0) continue;  // another thread was faster
    if (Held* held = direct::take_out(comm, &message, matched)) direct::append(held);
  }
} catch (...) {
  return kDeclined;
}

// MPI_Mprobe: `flag` is null.
Answer take_mprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                   MPI_Status* status) noexcept try {
  if (source == MPI_PROC_NULL || message == nullptr) return kDeclined;
  const Next& next = next_functions();
  Held* held = nullptr;
  if (direct::any_held()) {
    const std::lock_guard<std::mutex> lock(direct::g_mutex);
    if (Held** link = direct::find(source, tag, comm)) held = direct::unlink(link);
  }
  MPI_Status own{};
  if (status != MPI_STATUS_IGNORE) own = *status;
  if (held == nullptr) {
    int found = 1;
    const int code = flag != nullptr ? next.MPI_Improbe(source, tag, comm, &found, message, &own)
                                     : next.MPI_Mprobe(source, tag, comm, message, &own);
    if (flag != nullptr && code == MPI_SUCCESS) *flag = found;
    if (code == MPI_SUCCESS && found != 0 && direct::bytes_of(own) == direct::kTokenBytes)
      held = direct::take_out(comm, message, own);
    if (held == nullptr) {
      if (status != MPI_STATUS_IGNORE && found != 0) *status = own;
      return taken(code);
    }
  }
  if (!direct::as_message(held, message)) return taken(MPI_ERR_OTHER);
  const int error = own.MPI_ERROR;
  own = held->status;
  own.MPI_ERROR = error;
  direct::append(held);
  if (flag != nullptr) *flag = 1;
  if (status != MPI_STATUS_IGNORE) *status = own;
  return taken(MPI_SUCCESS);
} catch (...) {
  return kDeclined;
}

}  // namespace lacuna
