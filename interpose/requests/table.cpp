// SPDX-License-Identifier: BSD-3-Clause
//
// The table: buckets in shards. Each shard has a mutex, which is used only with
// MPI_THREAD_MULTIPLE.
#include "interpose/requests/table.hpp"

#include <mutex>

#include "interpose/direct/messages/arriving_message.hpp"
#include "interpose/direct/messages/receive.hpp"
#include "interpose/direct/pipeline/pipeline.hpp"
#include "interpose/library/error_handlers.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/memory/reserve.hpp"

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

}  // namespace

int deliver_entry(PendingRequest& entry, MPI_Status* status) noexcept {
  if (entry.completion == nullptr)
    return entry.receive && status != nullptr ? deliver(entry.incoming, status) : MPI_SUCCESS;
  return entry.completion->finish(status != nullptr);
}

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
  // An old watch with this handle was a receive of the library itself, which completed without
  // lacuna.
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

bool outlives_call(PendingRequest* entry, MPI_Request now) noexcept {
  if (!entry->persistent || entry->substituted != 0) return false;
  if (handle_bits(now) == entry->key) return true;
  entry->persistent = false;
  count_persistent(-1);
  return false;
}

bool is_gone(const PendingRequest& entry, MPI_Request now) noexcept {
  return entry.substituted != 0 ? entry.substitute == runtime().request_null
                                : handle_bits(now) != entry.key;
}

namespace {

// The first entry of `request` for which `fits` is true. `fits` is called under the bucket's lock.
template <typename Fits>
PendingRequest* find(MPI_Request request, const Fits& fits) noexcept {
  const uintptr_t key = handle_bits(request);
  const size_t bucket = bucket_of(key);
  const BucketLock lock(bucket);
  PendingRequest* entry = g_buckets[bucket];
  while (entry != nullptr && (entry->key != key || !fits(*entry))) entry = entry->next;
  return entry;
}

}  // namespace

PendingRequest* find_persistent(MPI_Request request) noexcept {
  return find(request, [](const PendingRequest& entry) { return entry.persistent; });
}

// Claimed entries are skipped: another thread is completing that request, and the library has given
// its handle to this one.
Cancelling cancelling_of(MPI_Request request) noexcept {
  PendingRequest* const entry = find(request, [](const PendingRequest& found) {
    return !found.claimed.load(std::memory_order_acquire) &&
           (found.substituted != 0 || found.incoming.redirected);
  });
  if (entry == nullptr) return {};
  if (entry->incoming.redirected || !entry->receive) return {false};
  return {true, &entry->substitute};
}

void activate(PendingRequest* entry) noexcept {
  if (entry->active) return;
  entry->active = true;
  count_pending(1);
}

namespace {

// Null: it can bring no token; or out of memory (reserve included), so that a token in it would be
// taken for data, which is better than losing the request.
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

// The bucket has a watch already. A watch of the library's own receive is replaced: it may have
// completed unseen. Otherwise the new one becomes a full entry.
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

// From now on there are irregular requests, which only the full path handles.
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
  return find(request, [](PendingRequest& entry) {
    if (entry.claimed.load(std::memory_order_acquire) || (entry.persistent && !entry.active))
      return false;
    entry.claimed.store(true, std::memory_order_relaxed);
    return true;
  });
}

void put_back(PendingRequest* entry) noexcept {
  entry->claimed.store(false, std::memory_order_release);
}

int finish_pending(PendingRequest* entry, MPI_Status* status) noexcept {
  const int code = deliver_entry(*entry, status);
  count_pending(-1);
  if (entry->persistent) {
    entry->active = false;
    entry->substituted = 0;
    entry->passed_over = false;
    put_back(entry);
    return code;
  }
  unlink(entry);
  drop_pending(entry);
  return code;
}

int observe_pending(PendingRequest* entry, MPI_Status* status) noexcept {
  const bool brings = entry->receive && status != nullptr && entry->completion == nullptr;
  if (!brings && entry->substituted == 0) return finish_pending(entry, status);
  Incoming& incoming = entry->incoming;
  const int code = brings ? deliver(incoming, status) : MPI_SUCCESS;
  // The library's own request of one with a substitute is inactive: only this entry knows its
  // result.
  if (brings && incoming.payload_bytes < 0 && entry->substituted != 0)
    incoming.payload_bytes = direct::bytes_of(*status);
  if (incoming.payload_bytes >= 0 || entry->substituted != 0) {
    put_back(entry);
    return reports_errors_at_completion(runtime().flavour) ? MPI_SUCCESS : code;
  }
  finish_pending(entry, nullptr);
  return code;
}

namespace {

using IsComplete = int (*)(MPI_Request);
[[maybe_unused]] IsComplete is_complete_of_library() noexcept {
  static const auto found =
      reinterpret_cast<IsComplete>(mpi_data_symbol("MPIX_Request_is_complete"));
  return found;
}

// Whether a request is complete, well or not; it stays the program's. The completing call raises
// the error of a failed one, so this one must not: MPI_Request_get_status does, on MPICH and Intel
// MPI. For that MPICH 4.2 has a function of its own, which does no progress. In those before, and
// in Intel MPI, the error is raised on MPI_COMM_WORLD; in libmpi_abi of MPICH 5, which lacks that
// function, perhaps on MPI_COMM_SELF (SilencedErrors). `status`: of a complete one, unless
// `has_status` is false.
bool look(MPI_Request request, MPI_Status* status, bool* has_status) noexcept {
  const Next& next = next_functions();
  int done = 0;
  int code = MPI_SUCCESS;
  *has_status = true;
#if !defined(LACUNA_MPI_FAMILY_OMPI)
  if (const IsComplete is_complete = is_complete_of_library(); is_complete != nullptr) {
    direct::let_library_work();
    *has_status = false;
    return is_complete(request) != 0;
  }
  const SilencedErrors silence(true);
#endif
  code = next.MPI_Request_get_status(request, &done, status);
  return code != MPI_SUCCESS || done != 0;
}

}  // namespace

bool can_ask_quietly() noexcept {
#if defined(LACUNA_MPI_FAMILY_OMPI)
  return true;
#else
  return runtime().flavour != Flavour::kMpich || runtime().mpich_major < 5 ||
         is_complete_of_library() != nullptr;
#endif
}

bool may_be_in_pieces(PendingRequest* entry) noexcept {
  return direct::has_pipeline() && entry->receive && entry->completion == nullptr &&
         entry->incoming.payload_bytes < 0 && direct::has_room_for_pieces(&entry->incoming);
}

bool is_incomplete(PendingRequest* entry) noexcept {
  if (!may_be_in_pieces(entry)) return false;
  Incoming& incoming = entry->incoming;
  if (incoming.arriving == nullptr) {
    MPI_Status status{};
    bool has_status = false;
    if (!look(*outstanding_request(entry, &entry->request), &status, &has_status)) return true;
    if (!direct::begin_arriving(&incoming, has_status ? &status : nullptr)) return false;
  }
  return !direct::advance_arriving(&incoming, false);
}

int settle_started(PendingRequest* entry, MPI_Request started, MPI_Request* request, int code) {
  if (started == runtime().request_null) {
    drop_pending(entry);
    return code;
  }
  *request = started;
  if (is_complete(started)) {
    const MPI_Comm comm = entry->incoming.comm;
    const int error_class = entry->completion->finish(true);
    drop_pending(entry);
    return error_class == MPI_SUCCESS ? code : raise_error(comm, error_class);
  }
  add_pending(entry, started);
  return code;
}

int settle_made(PendingRequest* entry, MPI_Request made, MPI_Request* request, int code) {
  if (made == runtime().request_null) {
    drop_pending(entry);
    return code;
  }
  *request = made;
  add_persistent(entry, made);
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
    entry->left_out = false;
    entry->next_claimed = nullptr;
    *end = entry;
    end = &entry->next_claimed;
    any_receive_ = any_receive_ || entry->receive;
    any_persistent_ = any_persistent_ || entry->persistent;
    any_substituted_ = any_substituted_ || entry->substituted != 0;
  }
}

void Claims::leave_out_incomplete() noexcept {
  if (!direct::has_pipeline()) return;
  for (PendingRequest* entry = first_; entry != nullptr; entry = entry->next_claimed) {
    entry->left_out = is_incomplete(entry);
    any_left_out_ = any_left_out_ || entry->left_out;
  }
}

void Claims::put_all_back() noexcept {
  for (PendingRequest* entry = first_; entry != nullptr;) {
    PendingRequest* next = entry->next_claimed;
    put_back(entry);
    entry = next;
  }
  first_ = nullptr;
}

void take_over(PendingRequest* entry) noexcept {
  make_entries_of_watches();
  unlink(entry);
  if (entry->persistent) count_persistent(-1);
}

}  // namespace lacuna
