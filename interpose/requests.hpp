// SPDX-License-Identifier: BSD-3-Clause
//
// The side table: what must happen when a request completes. Requests stay the library's own
// handles; an entry here says whose packed data it carries and, for a receive, where they go.
//
// Handles are reused at once when a request has completed, perhaps by another thread and for a
// request that is not in this table. So a completing call claims its entries before it asks the
// library (a claimed entry is found by nobody else) and then either finishes each or puts it back.
// MPI allows one thread at a time to complete a request, so a claim never meets another.
#ifndef LACUNA_INTERPOSE_REQUESTS_HPP_
#define LACUNA_INTERPOSE_REQUESTS_HPP_

#include <atomic>
#include <cstdint>
#include <memory>

#include "interpose/exchange.hpp"
#include "interpose/gate.hpp"
#include "interpose/transfer.hpp"
#include "interpose/windows.hpp"

namespace lacuna {

namespace direct {

// A nonblocking receive into a predefined type that may bring a token: what it takes to look for
// one when it completes, and nothing more, as there are many and seldom is there a token.
struct Watch {
  uintptr_t key;  // bits of the handle; 0: nothing is watched here
  void* buf;
  MPI_Datatype datatype;
  MPI_Comm comm;
  int count;
};

}  // namespace direct

struct PendingRequest {
  uintptr_t key = 0;  // bits of the handle
  MPI_Request request;
  bool receive = false;
  bool persistent = false;  // in the table until it is freed
  bool active = false;      // persistent: started, and not seen to be complete
  bool early = false;       // started, but over at once, without the library's request
  int from = 0;             // a persistent receive: source and tag
  int tag = 0;
  Incoming incoming;                   // a receive
  Staging outgoing;                    // a send
  SendSource source;                   // a persistent send
  std::unique_ptr<Exchange> exchange;  // a collective; `receive` says whether anything comes in
  HeldOperation* held = nullptr;       // a one-sided operation, and so it does here

  PendingRequest* next = nullptr;  // in its bucket, or in the list of freed requests
  std::atomic<bool> claimed{false};
  PendingRequest* next_claimed = nullptr;
  int index = 0;  // in the array of a completing call
};

// Where completions may escape our eyes, nothing may be started that waits for them.
bool may_start(MPI_Datatype datatype, const MPI_Request* request) noexcept;

// nullptr: no memory.
PendingRequest* new_pending() noexcept;
void drop_pending(PendingRequest* entry) noexcept;

// Asked of what the library has just started: what is complete when it returns needs no entry. More
// than thrift: libraries give all such calls one shared request handle, which must not be in the
// table.
bool is_complete(MPI_Request request) noexcept;

// carry.cpp. Moves the exchange to where it lives until the call has completed. nullptr: no memory.
PendingRequest* new_pending_exchange(Exchange* exchange) noexcept;
// After the library has started it, or not. The code that the program gets.
int settle_started(PendingRequest* entry, MPI_Request started, MPI_Request* request,
                   int code) noexcept;
// The same for a request that is to be started later: entry and request begin their life together,
// or the call has failed.
int settle_made(PendingRequest* entry, MPI_Request made, MPI_Request* request, int code) noexcept;

// From here on the entry belongs to the table.
void add_pending(PendingRequest* entry, MPI_Request request) noexcept;

// The same for a persistent request, which is inactive and stays in the table until it is freed.
void add_persistent(PendingRequest* entry, MPI_Request request) noexcept;
void remove_persistent(PendingRequest* entry) noexcept;
// The entry of a persistent request, not claimed; nullptr if it is not lacuna's.
PendingRequest* find_persistent(MPI_Request request) noexcept;
void activate(PendingRequest* entry) noexcept;

// The entry of a request, claimed; nullptr if it is not lacuna's, or inactive.
PendingRequest* claim_pending(MPI_Request request) noexcept;
// The request has not completed.
void put_back(PendingRequest* entry) noexcept;
// The request has completed: successfully with this status (a send needs none), or not (nullptr for
// a receive: nothing is unpacked). Removes the entry; a persistent one becomes inactive. What went
// wrong only here, as an error class.
int finish_pending(PendingRequest* entry, MPI_Status* status) noexcept;

// The same for a request that is complete but stays the program's: the call that ends it has a
// status, too, which must say of a token what this one says.
int observe_pending(PendingRequest* entry, MPI_Status* status) noexcept;

// All claims of an array of requests, in its order.
class Claims {
 public:
  Claims(int count, const MPI_Request* requests) noexcept;

  PendingRequest* first() const { return first_; }
  bool empty() const { return first_ == nullptr; }
  bool any_receive() const { return any_receive_; }
  bool any_persistent() const { return any_persistent_; }
  void put_all_back() noexcept;
  // An early one, if there is any; then all others are put back.
  PendingRequest* keep_early() noexcept;

 private:
  PendingRequest* first_ = nullptr;
  bool any_receive_ = false;
  bool any_persistent_ = false;
};

// MPI_Request_free: takes a claimed entry over; the program's handle is gone, the request lives on
// here.
void keep_freed(PendingRequest* entry) noexcept;

namespace detail {
void finish_freed_requests() noexcept;

// By the hash of a request's handle. Read without a lock where there is one thread only.
inline constexpr unsigned kBucketBits = 12;
extern PendingRequest* g_buckets[1U << kBucketBits];
extern direct::Watch g_watches[1U << kBucketBits];

inline size_t bucket_of(uintptr_t key) noexcept {
  return static_cast<size_t>((key * 0x9E3779B97F4A7C15U) >> (64 - kBucketBits));
}

// Null: this request is not watched.
inline direct::Watch* find_watch(MPI_Request request) noexcept {
  const uintptr_t key = handle_bits(request);
  direct::Watch& watch = g_watches[bucket_of(key)];
  return watch.key == key && key != 0 ? &watch : nullptr;
}

// False: no entry of the table is this request's, and none can be.
inline bool has_entries(MPI_Request request) noexcept {
  return g_buckets[bucket_of(handle_bits(request))] != nullptr;
}

// What it says stays there until the next one takes its place.
inline void end_watch(direct::Watch* watch) noexcept {
  watch->key = 0;
  g_gate.pending.fetch_sub(1, std::memory_order_relaxed);
}

void add_watch_as_entry(const direct::Watch& watch, MPI_Request request) noexcept;
}  // namespace detail

inline bool any_freed_requests() noexcept {
  return g_gate.freed.load(std::memory_order_relaxed) != 0;
}

// Whether a call that completes this request has anything to do for lacuna. True in doubt.
inline bool may_concern(const MPI_Request* request) noexcept {
  if (request == nullptr || any_freed_requests() || g_gate.threads) return true;
  const uintptr_t key = handle_bits(*request);
  return detail::g_watches[detail::bucket_of(key)].key == key || detail::has_entries(*request);
}

// The receive that has this request. One at a time for each bucket is kept as a Watch, others, and
// those that are claimed, as entries of the table.
inline void add_watch(MPI_Request request, void* buf, int count, MPI_Datatype datatype,
                      MPI_Comm comm) noexcept {
  const uintptr_t key = handle_bits(request);
  direct::Watch& place = detail::g_watches[detail::bucket_of(key)];
  if (__builtin_expect(place.key != 0, 0))
    return detail::add_watch_as_entry({key, buf, datatype, comm, count}, request);
  place = {key, buf, datatype, comm, count};
  g_gate.pending.fetch_add(1, std::memory_order_relaxed);
}

// Finishes those freed requests that have completed meanwhile.
inline void finish_freed_requests() noexcept {
  if (any_freed_requests()) detail::finish_freed_requests();
}
// In MPI_Finalize: finishes all, without waiting for a message that may never come.
void abandon_freed_requests() noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_REQUESTS_HPP_
