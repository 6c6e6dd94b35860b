// SPDX-License-Identifier: BSD-3-Clause
//
// The table: buckets in shards, a mutex for each, taken only where the program may call MPI from
// several threads at once.
#include "interpose/requests.hpp"

#include <mutex>

#include "interpose/next.hpp"
#include "interpose/reserve.hpp"
#include "interpose/runtime.hpp"

namespace lacuna {
namespace detail {

constinit PendingRequest* g_buckets[1U << kBucketBits] = {};
constinit WatchPlace g_watches[1U << kBucketBits] = {};
constinit int64_t g_watching = 0;

}  // namespace detail

using detail::bucket_of;
using detail::g_buckets;
using detail::kBucketBits;

namespace {

constexpr unsigned kShardBits = 6;

constinit std::mutex g_shards[1U << kShardBits];
constinit Reserve<PendingRequest> g_reserve;

// Freed requests: anyone pushes, one thread at a time takes the whole list and pushes back what is
// not done. No lock, as the library may call back into the program, and that into us, while we ask
// it.
constinit std::atomic<PendingRequest*> g_freed_list{nullptr};
constinit std::atomic<bool> g_finishing{false};

class BucketLock {
 public:
  explicit BucketLock(size_t bucket) noexcept {
    if (!g_gate.threads) return;
    mutex_ = &g_shards[bucket >> (kBucketBits - kShardBits)];
    mutex_->lock();
  }
  ~BucketLock() {
    if (mutex_ != nullptr) mutex_->unlock();
  }
  BucketLock(const BucketLock&) = delete;
  BucketLock& operator=(const BucketLock&) = delete;

 private:
  std::mutex* mutex_ = nullptr;
};

void unlink(PendingRequest* entry) noexcept {
  const size_t bucket = bucket_of(entry->key);
  const BucketLock lock(bucket);
  PendingRequest** link = &g_buckets[bucket];
  while (*link != entry) link = &(*link)->next;
  *link = entry->next;
}

void count_pending(int64_t change) noexcept {
  g_gate.pending.fetch_add(change, std::memory_order_relaxed);
}

// What an operation that has succeeded brought goes to where the program wants it.
int hand_over(PendingRequest& entry, MPI_Status* status) noexcept {
  if (entry.exchange == nullptr) return deliver(entry.incoming, status);
  entry.exchange->in.unpack_all();
  return MPI_SUCCESS;
}

}  // namespace

PendingRequest* new_pending() noexcept { return g_reserve.make(); }

void drop_pending(PendingRequest* entry) noexcept { g_reserve.drop(entry); }

bool is_complete(MPI_Request request) noexcept {
  int done = 0;
  return next_functions().MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE) ==
             MPI_SUCCESS &&
         done != 0;
}

namespace {

void insert(PendingRequest* entry, MPI_Request request) noexcept {
  entry->request = request;
  entry->key = handle_bits(request);
  // The library's own receive that had this handle has completed inside the library.
  if (direct::Watch* left = detail::find_watch(request)) detail::end_watch(left);
  const size_t bucket = bucket_of(entry->key);
  const BucketLock lock(bucket);
  entry->next = g_buckets[bucket];
  g_buckets[bucket] = entry;
}

void count_persistent(int64_t change) noexcept {
  g_gate.persistent.fetch_add(change, std::memory_order_relaxed);
}

}  // namespace

void add_pending(PendingRequest* entry, MPI_Request request) noexcept {
  insert(entry, request);
  count_pending(1);
}

void add_persistent(PendingRequest* entry, MPI_Request request) noexcept {
  entry->persistent = true;
  insert(entry, request);
  count_persistent(1);
}

void remove_persistent(PendingRequest* entry) noexcept {
  unlink(entry);
  count_persistent(-1);
}

PendingRequest* find_persistent(MPI_Request request) noexcept {
  const uintptr_t key = handle_bits(request);
  const size_t bucket = bucket_of(key);
  const BucketLock lock(bucket);
  for (PendingRequest* entry = g_buckets[bucket]; entry != nullptr; entry = entry->next) {
    if (entry->key == key && entry->persistent) return entry;
  }
  return nullptr;
}

void activate(PendingRequest* entry) noexcept {
  if (entry->active) return;
  entry->active = true;
  count_pending(1);
}

namespace {

// Null: there is nothing to look for, or no memory and no reserve, so that a token in it would be
// taken for data; better that than to lose the request.
PendingRequest* as_entry(const direct::Watch& watch) noexcept {
  if (called_by_mpi(watch.caller)) return nullptr;
  PendingRequest* entry = new_pending();
  if (entry == nullptr) return nullptr;
  entry->receive = true;
  if (watch_plain(watch, &entry->incoming)) return entry;
  drop_pending(entry);
  return nullptr;
}

}  // namespace

namespace detail {

// The bucket has a watch already. One of the library's own has to go: it may have completed without
// our seeing it.
void add_watch_slowly(const direct::Watch& watch) noexcept {
  direct::Watch& place = g_watches[bucket_of(handle_bits(watch.request))].watch;
  if (called_by_mpi(place.caller)) {
    place = watch;
  } else if (PendingRequest* entry = as_entry(watch)) {
    add_pending(entry, watch.request);
  }
}

}  // namespace detail

namespace {

void make_entry_of(direct::Watch* watch) noexcept {
  const direct::Watch old = *watch;
  detail::end_watch(watch);
  if (PendingRequest* entry = as_entry(old)) add_pending(entry, old.request);
}

// What is irregular from now on is looked at in the long way only.
void make_entries_of_watches() noexcept {
  for (detail::WatchPlace& place : detail::g_watches) {
    if (detail::g_watching == 0) return;
    if (!detail::is_empty(place.watch)) make_entry_of(&place.watch);
  }
}

}  // namespace

PendingRequest* claim_pending(MPI_Request request) noexcept {
  const uintptr_t key = handle_bits(request);
  direct::Watch* watch = detail::find_watch(request);
  if (watch != nullptr && key != 0) make_entry_of(watch);
  const size_t bucket = bucket_of(key);
  const BucketLock lock(bucket);
  for (PendingRequest* entry = g_buckets[bucket]; entry != nullptr; entry = entry->next) {
    if (entry->key != key || entry->claimed.load(std::memory_order_acquire)) continue;
    if (entry->persistent && !entry->active) continue;
    entry->claimed.store(true, std::memory_order_relaxed);
    return entry;
  }
  return nullptr;
}

void put_back(PendingRequest* entry) noexcept {
  entry->claimed.store(false, std::memory_order_release);
}

int finish_pending(PendingRequest* entry, MPI_Status* status) noexcept {
  int code = MPI_SUCCESS;
  if (entry->held != nullptr) {
    end_with_request(entry->held, status != nullptr);
  } else if (entry->receive && status != nullptr) {
    code = hand_over(*entry, status);
  }
  count_pending(-1);
  if (entry->persistent) {
    entry->active = false;
    entry->early = false;
    put_back(entry);
    return code;
  }
  unlink(entry);
  drop_pending(entry);
  return code;
}

int observe_pending(PendingRequest* entry, MPI_Status* status) noexcept {
  if (entry->early) {  // only lacuna knows that it is not inactive
    const int code =
        entry->receive && status != nullptr ? deliver(entry->incoming, status) : MPI_SUCCESS;
    put_back(entry);
    return code;
  }
  if (!entry->receive || status == nullptr || entry->exchange != nullptr || entry->held != nullptr)
    return finish_pending(entry, status);
  const int code = deliver(entry->incoming, status);
  if (entry->incoming.landed >= 0) {
    put_back(entry);
    return code;
  }
  finish_pending(entry, nullptr);
  return code;
}

Claims::Claims(int count, const MPI_Request* requests) noexcept {
  if (requests == nullptr) return;
  const MPI_Request null = runtime().request_null;
  PendingRequest** end = &first_;
  for (int i = 0; i < count; ++i) {
    if (requests[i] == null) continue;
    PendingRequest* entry = claim_pending(requests[i]);
    if (entry == nullptr) continue;
    entry->index = i;
    entry->next_claimed = nullptr;
    *end = entry;
    end = &entry->next_claimed;
    any_receive_ = any_receive_ || entry->receive;
    any_persistent_ = any_persistent_ || entry->persistent;
  }
}

PendingRequest* Claims::keep_early() noexcept {
  PendingRequest* early = first_;
  while (early != nullptr && !early->early) early = early->next_claimed;
  if (early == nullptr) return nullptr;
  for (PendingRequest* entry = first_; entry != nullptr;) {
    PendingRequest* next = entry->next_claimed;
    if (entry != early) put_back(entry);
    entry = next;
  }
  first_ = nullptr;
  return early;
}

void Claims::put_all_back() noexcept {
  for (PendingRequest* entry = first_; entry != nullptr;) {
    PendingRequest* next = entry->next_claimed;
    put_back(entry);
    entry = next;
  }
  first_ = nullptr;
}

namespace {

void push_freed(PendingRequest* entry) noexcept {
  entry->next = g_freed_list.load(std::memory_order_relaxed);
  while (!g_freed_list.compare_exchange_weak(entry->next, entry, std::memory_order_release)) {
  }
}

void finish_freed(PendingRequest* entry, MPI_Status* status) noexcept {
  if (entry->receive && status != nullptr) hand_over(*entry, status);
  count_freed(-1);
  count_pending(-1);
  if (entry->persistent && entry->request != runtime().request_null)
    next_functions().MPI_Request_free(&entry->request);
  drop_pending(entry);
}

}  // namespace

// It stays counted as pending, so that completing calls keep looking at it.
void keep_freed(PendingRequest* entry) noexcept {
  make_entries_of_watches();
  unlink(entry);
  if (entry->persistent) count_persistent(-1);
  count_freed(1);
  push_freed(entry);
}

namespace detail {

void finish_freed_requests() noexcept {
  if (g_finishing.exchange(true, std::memory_order_acquire)) return;
  PendingRequest* entry = g_freed_list.exchange(nullptr, std::memory_order_acquire);
  while (entry != nullptr) {
    PendingRequest* next = entry->next;
    int done = 0;
    MPI_Status status;
    const int code = next_functions().MPI_Test(&entry->request, &done, &status);
    if (code == MPI_SUCCESS && done == 0) {
      push_freed(entry);
    } else {
      finish_freed(entry, code == MPI_SUCCESS ? &status : nullptr);
    }
    entry = next;
  }
  g_finishing.store(false, std::memory_order_release);
}

}  // namespace detail

// A send goes back to the library, which completes it as it would have; its data stay where they
// are. A receive whose message has not come by now is cancelled, for waiting might never end.
void abandon_freed_requests() noexcept {
  finish_freed_requests();
  const Next& next = next_functions();
  PendingRequest* entry = g_freed_list.exchange(nullptr, std::memory_order_acquire);
  while (entry != nullptr) {
    PendingRequest* rest = entry->next;
    MPI_Status status;
    bool ok = false;
    if (entry->receive && entry->exchange == nullptr) {
      ok = next.MPI_Cancel(&entry->request) == MPI_SUCCESS &&
           next.MPI_Wait(&entry->request, &status) == MPI_SUCCESS;
      if (!ok) entry->incoming.staging.abandon();
    } else {
      next.MPI_Request_free(&entry->request);
      entry->outgoing.abandon();
      [[maybe_unused]] Exchange* left = entry->exchange.release();
    }
    finish_freed(entry, ok ? &status : nullptr);
    entry = rest;
  }
}

}  // namespace lacuna
