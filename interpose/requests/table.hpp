// SPDX-License-Identifier: BSD-3-Clause
//
// The side table: what must happen when a request completes. Programs get the library's own request
// handles. An entry holds the packed data of a request and, for a receive, where they go.
//
// The library reuses a handle as soon as its request has completed, perhaps for another thread and
// for a request that is not in this table. So a completing call first *claims* its entries (claimed
// entries are found by nobody else), then calls the library, and then finishes each entry or puts
// it back. MPI allows only one thread at a time to complete a request, so no two claims compete.
#ifndef LACUNA_INTERPOSE_REQUESTS_TABLE_HPP_
#define LACUNA_INTERPOSE_REQUESTS_TABLE_HPP_

#include <atomic>
#include <cstdint>
#include <memory>

#include "interpose/direct/messages/incoming.hpp"
#include "interpose/direct/node/peers.hpp"
#include "interpose/functions/bodies.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/types/record.hpp"

namespace lacuna {

// What a persistent send packs at each start.
struct SendSource {
  PlanPtr plan;
  const void* buf = nullptr;
  MPI_Count count = 0;
  int64_t bytes = 0;
  Account account;
  // Each start sends a token instead, while serial_of(comm) (direct/rooms/ranks.hpp) equals this;
  // 0: never.
  uint64_t serial = 0;
  const direct::Peer* peer = nullptr;
  int far = -1;  // without a peer: the receiver's rank in MPI_COMM_WORLD (direct/pipeline/)
  SendMode mode = SendMode::kStandard;
  int dest = 0;
  int tag = 0;
  MPI_Comm comm;
};

// What lacuna does for a request of a collective, a file or a one-sided operation.
class Completion {
 public:
  Completion() = default;
  Completion(Completion&&) = default;
  virtual ~Completion() = default;
  // Before each start of a persistent request. False: a device has failed.
  virtual bool pack() const noexcept { return true; }
  // After the request has completed. `success` false: nothing is unpacked. Returns an error class.
  virtual int finish(bool success) noexcept = 0;
  // Whether MPI allows the program to free the request while it is active.
  virtual bool may_be_freed() const noexcept { return false; }
};

struct PendingRequest {
  uintptr_t key = 0;  // bits of the handle
  MPI_Request request;
  bool receive = false;
  bool persistent = false;   // in the table until it is freed
  bool active = false;       // persistent: started, and not yet seen complete
  uint64_t substituted = 0;  // active through a substitute (messages/persistent.cpp), numbered in
                             // the order of starts; 0: none
  MPI_Request substitute;    // null once it has completed
  bool passed_over = false;  // see requests/library_requests.hpp
  bool left_out = false;     // of the library's call, as it is_incomplete()
  int from = 0;              // a persistent receive: source and tag
  int tag = 0;
  Incoming incoming;                       // a receive
  Staging outgoing;                        // packed data of a send
  Staging token;                           // which a substitute sends for a pipelined message
  SendSource source;                       // a persistent send; of other sends only `comm` is set
  std::unique_ptr<Completion> completion;  // not of a message; `receive`: whether data come in

  PendingRequest* next = nullptr;  // in its bucket, or in the list of freed requests (freed.hpp)
  std::atomic<bool> claimed{false};
  PendingRequest* next_claimed = nullptr;
  int index = 0;  // index in the array of a completing call
};

// The request to pass to the library: the substitute, or `own`, which is the program's or a copy.
inline MPI_Request* outstanding_request(PendingRequest* entry, MPI_Request* own) noexcept {
  return entry->substituted != 0 ? &entry->substitute : own;
}

// Whether nonblocking calls may be handled: not where lacuna would not see all completions.
bool may_start(MPI_Datatype datatype, const MPI_Request* request) noexcept;

// Null: out of memory, and all 64 entries of the reserve are in use.
PendingRequest* new_pending() noexcept;
void drop_pending(PendingRequest* entry) noexcept;

// Whether a persistent request still exists after a library call; `now` is its handle. Open MPI
// 4.1.4 frees one that has ended with an error; the entry then becomes one of an ordinary request.
bool outlives_call(PendingRequest* entry, MPI_Request now) noexcept;

// For other requests: whether it has completed, with or without an error, which leaves
// MPI_REQUEST_NULL.
bool is_gone(const PendingRequest& entry, MPI_Request now) noexcept;

// For a request that the library has just started: a complete one needs no entry. It must not have
// one either: libraries use one shared handle for all such requests.
bool is_complete(MPI_Request request) noexcept;

// Call after the library has started a request with a Completion, or failed to. Returns the code
// for the program.
int settle_started(PendingRequest* entry, MPI_Request started, MPI_Request* request, int code);
// The same for a persistent request.
int settle_made(PendingRequest* entry, MPI_Request made, MPI_Request* request, int code);

// Puts the entry into the table, which owns it from then on.
void add_pending(PendingRequest* entry, MPI_Request request) noexcept;

// The same for a persistent request. It is inactive, and stays in the table until it is freed.
void add_persistent(PendingRequest* entry, MPI_Request request) noexcept;
void remove_persistent(PendingRequest* entry) noexcept;
// The entry of a persistent request, not claimed. Null: not lacuna's.
PendingRequest* find_persistent(MPI_Request request) noexcept;
// What MPI_Cancel of a request does: the library's call for it, or for its substitute; or nothing,
// as its message has been sent, or taken out of the library's queue for it. (Intel MPI would still
// cancel the receive, and lose the message.)
struct Cancelling {
  bool has_effect = true;
  MPI_Request* substitute = nullptr;
};
Cancelling cancelling_of(MPI_Request request) noexcept;
void activate(PendingRequest* entry) noexcept;

// Claims and returns the entry of a request. Null: not lacuna's, or inactive.
PendingRequest* claim_pending(MPI_Request request) noexcept;
// Undoes a claim: the request has not completed.
void put_back(PendingRequest* entry) noexcept;
// Finishes a claimed entry whose request has completed. `status`: of a success; null for a receive
// that failed: nothing is unpacked (sends need none). Removes the entry; a persistent one becomes
// inactive. Returns an error class for what failed in lacuna only.
int finish_pending(PendingRequest* entry, MPI_Status* status) noexcept;

// The same for a request that is complete but stays the program's (MPI_Request_get_status). The
// call that completes it later must report the same of a token, so some entries are kept.
int observe_pending(PendingRequest* entry, MPI_Status* status) noexcept;

// Whether the message of a request may come in pieces (direct/pipeline/).
bool may_be_in_pieces(PendingRequest* entry) noexcept;

// Whether lacuna can find out that a request has failed, and the program's error handler does not
// see that it was asked. Not with libmpi_abi of MPICH 5.
bool can_ask_quietly() noexcept;

// For calls that do not wait: whether a request's message is incomplete, as the library says, or as
// pieces of it are on their way. Such a request must not be passed
// to a call that completes it: the library may have completed it already. Unpacks the pieces that
// have come. False in doubt, and always without pipelined messages.
bool is_incomplete(PendingRequest* entry) noexcept;

// After MPI_Waitall with an error: whether the library has left requests incomplete that it would
// have waited for without statuses.
bool leaves_pending(int code, int count, const MPI_Status* statuses) noexcept;

// Returns what `call` returns. If the program's error handler throws out of the library,
// `otherwise` gives back what was claimed. (The exception is not caught: it belongs to another C++
// runtime.)
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

// Claims all entries of an array of requests, in its order.
class Claims {
 public:
  Claims(int count, const MPI_Request* requests) noexcept;

  PendingRequest* first() const { return first_; }
  bool empty() const { return first_ == nullptr; }
  bool any_receive() const { return any_receive_; }
  bool any_persistent() const { return any_persistent_; }
  void put_all_back() noexcept;
  bool any_substituted() const { return any_substituted_; }
  // Marks the requests that is_incomplete() says must not be passed to the library.
  void leave_out_incomplete() noexcept;
  bool any_left_out() const { return any_left_out_; }

 private:
  PendingRequest* first_ = nullptr;
  bool any_receive_ = false;
  bool any_persistent_ = false;
  bool any_substituted_ = false;
  bool any_left_out_ = false;
};

// Delivers what the request of an entry has brought. `status` null: it has failed, and nothing is
// unpacked. Returns an error class.
int deliver_entry(PendingRequest& entry, MPI_Status* status) noexcept;

// Takes a claimed entry out of the table, and turns all watches into entries (freed.hpp). The entry
// stays counted as pending.
void take_over(PendingRequest* entry) noexcept;

namespace detail {
// Buckets, by a hash of the handle. Read without a lock if there is one thread only.
inline constexpr unsigned kBucketBits = 12;
LACUNA_HIDDEN extern PendingRequest* g_buckets[1U << kBucketBits];

// Watches: at most one in each bucket. They exist only while there is one thread and nothing is
// irregular (gate.hpp), and become entries when a request is freed. So the call that completes one
// needs no locks, no atomic instructions, and nothing but the watch. The size is a power of two, so
// that a place is found by a shift.
struct alignas(sizeof(direct::Watch) > 32 ? 64 : 32) WatchPlace {
  direct::Watch watch;
};
LACUNA_HIDDEN extern WatchPlace g_watches[1U << kBucketBits];
LACUNA_HIDDEN extern int64_t g_watching;

// The lower 32 bits of a handle are enough: handles are small numbers or addresses close together.
// MPICH's are consecutive numbers: kind and pool in the upper bits, index in the lower ones.
inline size_t bucket_of(uintptr_t key) noexcept {
#if defined(LACUNA_MPI_FAMILY_MPICH)
  return key % (1U << kBucketBits);
#endif
  return static_cast<size_t>((static_cast<uint32_t>(key) * 0x9E3779B1U) >> (32 - kBucketBits));
}

// Compares eight bytes at once: compilers take two instructions to compare four in memory with 0.
inline bool is_empty(const direct::Watch& watch) noexcept {
  int64_t first = 0;
  __builtin_memcpy(&first, &watch, sizeof(first));
  return first == 0;
}

// Null: not watched. A handle whose bits are all 0 may find an empty place; it is no valid request,
// so the library's call fails, and nothing comes of it.
inline direct::Watch* find_watch(MPI_Request request) noexcept {
  direct::Watch& watch = g_watches[bucket_of(handle_bits(request))].watch;
  return watch.request == request ? &watch : nullptr;
}

// False: no entry belongs to this request.
inline bool has_entries(MPI_Request request) noexcept {
  return g_buckets[bucket_of(handle_bits(request))] != nullptr;
}

// Clears what is_empty() checks.
inline void end_watch(direct::Watch* watch) noexcept {
  __builtin_memset(static_cast<void*>(watch), 0, sizeof(int64_t));
  --g_watching;
}

void add_watch_slowly(const direct::Watch& watch) noexcept;
}  // namespace detail

// Added to Gate::irregular while the direct path is closed, so that receives check one variable
// only.
inline constexpr int kDirectClosed = 1 << 30;
// Added while calls are timed: timed calls take the steps that count, and others check no more than
// before.
inline constexpr int kTimed = 1 << 29;
inline constexpr int64_t kTimedWatching = INT64_MIN / 2;  // part of g_watching
inline bool is_regular() noexcept { return !anything_irregular(); }
// Whether even requests that are not lacuna's must take the full path.
inline bool needs_full_path() noexcept {
  return (g_gate.irregular.load(std::memory_order_acquire) & ~(kDirectClosed | kTimed)) != 0;
}
// Whether any receive is watched. False while calls are timed.
inline bool is_watching() noexcept { return detail::g_watching > 0; }

// Whether a call that completes requests may have anything to do for lacuna.
inline bool anything_outstanding() noexcept {
  return detail::g_watching != 0 || anything_pending();
}

// The same, without what timing of calls adds.
inline bool anything_outstanding_but_timing() noexcept {
  const bool timed = is_watched(kCosted);
  return detail::g_watching != (timed ? kTimedWatching : 0) ||
         g_gate.pending.load(std::memory_order_relaxed) != (timed ? 1 : 0);
}

// Adds a watch; if its bucket has one, adds a full entry instead. `watch` is complete except for
// its request, which the library has just written to `request`.
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
