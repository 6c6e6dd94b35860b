// SPDX-License-Identifier: BSD-3-Clause
//
// The side table: what must happen when a request completes. Requests stay the library's own
// handles; an entry here says whose packed data it carries and, for a receive, where they go.
//
// Handles are reused at once when a request has completed, perhaps by another thread and for a
// request that is not in this table. So a completing call claims its entries before it asks the
// library (a claimed entry is found by nobody else) and then either finishes each or puts it back.
// MPI allows one thread at a time to complete a request, so a claim never meets another.
#ifndef LACUNA_INTERPOSE_REQUESTS_TABLE_HPP_
#define LACUNA_INTERPOSE_REQUESTS_TABLE_HPP_

#include <atomic>
#include <cstdint>
#include <memory>

#include "interpose/collectives/side.hpp"
#include "interpose/direct/messages/incoming.hpp"
#include "interpose/direct/node/peers.hpp"
#include "interpose/library/bodies.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/rma/held_operations.hpp"

namespace lacuna {

// What a persistent send packs at each start.
struct SendSource {
  PlanPtr plan;
  const void* buf = nullptr;
  MPI_Count count = 0;
  int64_t bytes = 0;
  Account account;
  // A token instead, as long as the communicator lives that had this life (direct/node/peers.hpp).
  // 0: never.
  uint64_t life = 0;
  const direct::Peer* peer = nullptr;
  SendMode mode = SendMode::kStandard;
  int dest = 0;
  int tag = 0;
  MPI_Comm comm;
};

struct PendingRequest {
  uintptr_t key = 0;  // bits of the handle
  MPI_Request request;
  bool receive = false;
  bool persistent = false;   // in the table until it is freed
  bool active = false;       // persistent: started, and not seen to be complete
  uint64_t substituted = 0;  // active, while the library's own persistent request is not: the how
                             // manieth of these
  MPI_Request substitute;    // what the library has under way for it; null once that has ended
  bool passed_over = false;  // when a call was given a request that has no substitute
  int from = 0;              // a persistent receive: source and tag
  int tag = 0;
  Incoming incoming;                   // a receive
  Staging outgoing;                    // a send
  SendSource source;                   // a persistent send; of others the communicator
  std::unique_ptr<Exchange> exchange;  // a collective; `receive` says whether anything comes in
  HeldOperation* held = nullptr;       // a one-sided operation, and so it does here

  PendingRequest* next = nullptr;  // in its bucket, or in the list of freed requests (freed.hpp)
  std::atomic<bool> claimed{false};
  PendingRequest* next_claimed = nullptr;
  int index = 0;  // in the array of a completing call
};

// The request that the library has under way for it: `own` is the program's, or a copy.
inline MPI_Request* under_way(PendingRequest* entry, MPI_Request* own) noexcept {
  return entry->substituted != 0 ? &entry->substitute : own;
}

// Where completions may escape our eyes, nothing may be started that waits for them.
bool may_start(MPI_Datatype datatype, const MPI_Request* request) noexcept;

// nullptr: no memory, and so has been for the 64 before that are not complete.
PendingRequest* new_pending() noexcept;
void drop_pending(PendingRequest* entry) noexcept;

// Whether a persistent request that the library was asked about is still there, after a call that
// `now` is its handle. Open MPI 4.1.4 frees one that has ended with an error; then the entry is
// that of any other request.
bool outlives_call(PendingRequest* entry, MPI_Request now) noexcept;

// Of others: a request that has ended, with or without an error, leaves MPI_REQUEST_NULL behind.
bool is_gone(const PendingRequest& entry, MPI_Request now) noexcept;

// Asked of what the library has just started: what is complete when it returns needs no entry. More
// than thrift: libraries give all such calls one shared request handle, which must not be in the
// table.
bool is_complete(MPI_Request request) noexcept;

// collectives/call.cpp. Moves the exchange to where it lives until the call has completed. nullptr:
// no memory.
PendingRequest* new_pending_exchange(Exchange* exchange);
// After the library has started it, or not. The code that the program gets.
int settle_started(PendingRequest* entry, MPI_Request started, MPI_Request* request, int code);
// The same for a request that is to be started later: entry and request begin their life together,
// or the call has failed.
int settle_made(PendingRequest* entry, MPI_Request made, MPI_Request* request, int code);

// From here on the entry belongs to the table.
void add_pending(PendingRequest* entry, MPI_Request request) noexcept;

// The same for a persistent request, which is inactive and stays in the table until it is freed.
void add_persistent(PendingRequest* entry, MPI_Request request) noexcept;
void remove_persistent(PendingRequest* entry) noexcept;
// The entry of a persistent request, not claimed; nullptr if it is not lacuna's.
PendingRequest* find_persistent(MPI_Request request) noexcept;
// Its message has been taken out of the library's queue. (Intel MPI would still cancel the receive
// that lacuna has led to it, and lose the message.)
bool is_past_cancelling(MPI_Request request) noexcept;
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

// After MPI_Waitall: an error, which its statuses tell of, has kept it from waiting for the rest,
// and would not have if nobody had wanted them.
bool leaves_pending(int code, int count, const MPI_Status* statuses) noexcept;

// What `call` returns. The program's error handler may throw out of the library: then `otherwise`
// gives back what was claimed. (Nothing is caught: the exception is of another C++ runtime.)
template <typename Call, typename Otherwise>
int or_else(const Call& call, const Otherwise& otherwise) {
  struct Guard {
    ~Guard() {
      if (thrown) otherwise();
    }
    const Otherwise& otherwise;
    bool thrown = true;
  } guard{otherwise};
  const int code = call();
  guard.thrown = false;
  return code;
}

// All claims of an array of requests, in its order.
class Claims {
 public:
  Claims(int count, const MPI_Request* requests) noexcept;

  PendingRequest* first() const { return first_; }
  bool empty() const { return first_ == nullptr; }
  bool any_receive() const { return any_receive_; }
  bool any_persistent() const { return any_persistent_; }
  void put_all_back() noexcept;
  bool any_substituted() const { return any_substituted_; }

 private:
  PendingRequest* first_ = nullptr;
  bool any_receive_ = false;
  bool any_persistent_ = false;
  bool any_substituted_ = false;
};

// What a receive or a collective that has ended well has brought goes to where the program wants
// it.
int hand_over(PendingRequest& entry, MPI_Status* status) noexcept;

// Takes a claimed entry out of the table, and from now on all in the long way (freed.hpp). It stays
// counted as pending.
void take_over(PendingRequest* entry) noexcept;

namespace detail {
// By the hash of a request's handle. Read without a lock where there is one thread only.
inline constexpr unsigned kBucketBits = 12;
LACUNA_HIDDEN extern PendingRequest* g_buckets[1U << kBucketBits];

// Watches: at most one in each bucket, made only while there is one thread and nothing is irregular
// (gate.hpp), and entries once a request is freed: no locks, no atomic instructions, no look at
// anything else in the call that completes one.
// A place is found by a shift.
struct alignas(sizeof(direct::Watch) > 32 ? 64 : 32) WatchPlace {
  direct::Watch watch;
};
LACUNA_HIDDEN extern WatchPlace g_watches[1U << kBucketBits];
LACUNA_HIDDEN extern int64_t g_watching;

// The lower half is enough: handles are small numbers or neighbours in memory. MPICH's are
// neighbours themselves: kind and pool above, place in the pool below.
inline size_t bucket_of(uintptr_t key) noexcept {
#if defined(LACUNA_MPI_FAMILY_MPICH)
  return key % (1U << kBucketBits);
#endif
  return static_cast<size_t>((static_cast<uint32_t>(key) * 0x9E3779B1U) >> (32 - kBucketBits));
}

// Eight bytes at once, as compilers take two instructions to compare four in memory with 0.
inline bool is_empty(const direct::Watch& watch) noexcept {
  int64_t first = 0;
  __builtin_memcpy(&first, &watch, sizeof(first));
  return first == 0;
}

// Null: this request is not watched. One whose bits are all 0, which is no request of any library,
// may be found empty; the library's call then fails, and nothing comes of it.
inline direct::Watch* find_watch(MPI_Request request) noexcept {
  direct::Watch& watch = g_watches[bucket_of(handle_bits(request))].watch;
  return watch.request == request ? &watch : nullptr;
}

// False: no entry of the table is this request's, and none can be.
inline bool has_entries(MPI_Request request) noexcept {
  return g_buckets[bucket_of(handle_bits(request))] != nullptr;
}

// What it says is over with it, as far as is_empty() looks.
inline void end_watch(direct::Watch* watch) noexcept {
  __builtin_memset(static_cast<void*>(watch), 0, sizeof(int64_t));
  --g_watching;
}

void add_watch_slowly(const direct::Watch& watch) noexcept;
}  // namespace detail

// Part of Gate::irregular while the direct path is closed: so that receives have one thing to ask.
inline constexpr int kDirectClosed = 1 << 30;
// And while calls are timed: so that those that need not be have no more to ask than before, but
// all that are go through the steps that count.
inline constexpr int kTimed = 1 << 29;
inline constexpr int64_t kTimedWatching = INT64_MIN / 2;  // part of g_watching
inline bool is_regular() noexcept { return !anything_irregular(); }
// Whether even a request that is none of lacuna's must not pass.
inline bool takes_long_way() noexcept {
  return (g_gate.irregular.load(std::memory_order_acquire) & ~(kDirectClosed | kTimed)) != 0;
}
// Whether some receive is watched; false where calls are timed.
inline bool is_watching() noexcept { return detail::g_watching > 0; }

// Whether a call that completes requests may have anything to do for lacuna.
inline bool anything_under_way() noexcept { return detail::g_watching != 0 || anything_pending(); }

// The same, but for the timing of calls.
inline bool anything_under_way_but_timing() noexcept {
  const bool timed = is_watched(kCosted);
  return detail::g_watching != (timed ? kTimedWatching : 0) ||
         g_gate.pending.load(std::memory_order_relaxed) != (timed ? 1 : 0);
}

// One at a time for each bucket is kept as a Watch, others, and those that are claimed, as entries
// of the table. `watch` is in memory, all but its request, which the library has just written.
inline void add_watch(const direct::Watch& watch, MPI_Request request) noexcept {
  direct::Watch& place = detail::g_watches[detail::bucket_of(handle_bits(request))].watch;
  if (__builtin_expect(!detail::is_empty(place), 0)) {
    direct::Watch other = watch;
    other.request = request;
    return detail::add_watch_slowly(other);
  }
  __builtin_memcpy(&place, &watch, sizeof(place));
  place.request = request;
  ++detail::g_watching;
}

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_REQUESTS_TABLE_HPP_
