// SPDX-License-Identifier: BSD-3-Clause
//
// Arguments are noted when a call with them has succeeded, and get a request at the second call, so
// that what does not come again costs no request, and no request is asked for with arguments that
// the library has not taken before. What could be refused all the same is looked at before: the
// error must come out of the program's call.
//
// Only predefined types, which nobody frees. A request would keep a derived type alive, and the
// program would notice: by the delete callbacks of its attributes. For the same reason requests go
// before their communicator does.
#include "interpose/start/cache.hpp"

#include <atomic>
#include <mutex>

#include "interpose/library/device.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/messages/message.hpp"
#include "interpose/policy/policy.hpp"
#include "interpose/requests/behind.hpp"
#include "interpose/requests/freed.hpp"

namespace lacuna {
namespace {

struct Arguments {
  const void* buf;
  int count;
  MPI_Datatype datatype;
  int peer;
  int tag;
  MPI_Comm comm;
  bool sends;

  bool operator==(const Arguments&) const = default;
};

struct Entry {
  Arguments arguments{};
  MPI_Request request{};
  uint64_t last_use = 0;
  bool is_used = false;    // arguments are noted here
  bool is_made = false;    // and there is a request for them
  bool is_busy = false;    // a call is under way with it
  bool is_doomed = false;  // and its communicator has been freed meanwhile
};

// As many as a program may send and receive in turn; more of them push the oldest out.
constexpr unsigned kSetBits = 6;
constexpr int kWays = 4;

constinit Entry g_sets[1U << kSetBits][kWays]{};
constinit uint64_t g_uses = 0;
constinit std::mutex g_mutex;  // of the entries, where there are several threads
constinit std::atomic<bool> g_started{false};
constinit std::atomic<int64_t> g_calls{0};
constinit std::atomic<int64_t> g_requests{0};

// What the cache has displaced: by the library's name, and by PMPI.
struct Below {
  decltype(Next::MPI_Send) send;
  decltype(Next::MPI_Send_c) send_c;
  decltype(Next::MPI_Recv) recv;
  decltype(Next::MPI_Recv_c) recv_c;
};
constinit Below g_plain{};
constinit Below g_profiling{};

std::unique_lock<std::mutex> lock() noexcept {
  return g_gate.threads ? std::unique_lock<std::mutex>(g_mutex)
                        : std::unique_lock<std::mutex>(g_mutex, std::defer_lock);
}

Entry* set_of(const Arguments& arguments) noexcept {
  uint64_t hash = reinterpret_cast<uintptr_t>(arguments.buf);
  for (const uint64_t part :
       {uint64_t{static_cast<unsigned>(arguments.count)}, uint64_t{handle_bits(arguments.datatype)},
        uint64_t{static_cast<unsigned>(arguments.peer)},
        uint64_t{static_cast<unsigned>(arguments.tag)}, uint64_t{handle_bits(arguments.comm)},
        uint64_t{arguments.sends}}) {
    hash = (hash ^ part) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 32;
  }
  return g_sets[hash >> (32 - kSetBits) & ((1U << kSetBits) - 1)];
}

void free_request(MPI_Request* request) noexcept { next_functions().MPI_Request_free(request); }

// The entry of these arguments, for this call alone; nullptr: there is none, or a call is under
// way.
Entry* claim(const Arguments& arguments) noexcept {
  Entry* set = set_of(arguments);
  const auto held = lock();
  for (Entry* entry = set; entry != set + kWays; ++entry) {
    if (!entry->is_used || entry->is_busy || !(entry->arguments == arguments)) continue;
    entry->is_busy = true;
    entry->last_use = ++g_uses;
    return entry;
  }
  return nullptr;
}

// `keeps`: the request is as good as before.
void release(Entry* entry, bool keeps) noexcept {
  MPI_Request request = runtime().request_null;
  {
    const auto held = lock();
    entry->is_busy = false;
    if (keeps && !entry->is_doomed) return;
    if (entry->is_made) request = entry->request;
    *entry = Entry{};
  }
  if (request != runtime().request_null) free_request(&request);
}

// Takes the place of the oldest.
void note(const Arguments& arguments) noexcept {
  MPI_Request displaced = runtime().request_null;
  Entry* set = set_of(arguments);
  {
    const auto held = lock();
    Entry* oldest = nullptr;
    for (Entry* entry = set; entry != set + kWays; ++entry) {
      if (entry->is_used && entry->arguments == arguments) return;
      if (!entry->is_busy && (oldest == nullptr || entry->last_use < oldest->last_use))
        oldest = entry;
    }
    if (oldest == nullptr) return;
    if (oldest->is_made) displaced = oldest->request;
    *oldest = Entry{};
    oldest->arguments = arguments;
    oldest->last_use = ++g_uses;
    oldest->is_used = true;
  }
  if (displaced != runtime().request_null) free_request(&displaced);
}

// After an error that a handler of the program's has seen, a call may have returned MPI_SUCCESS:
// then nothing is known of its communicator. Errors of an invalid one are raised on these two.
bool tells_errors() noexcept {
  const Runtime& rt = runtime();
  const Next& next = next_functions();
  for (const MPI_Comm comm : {rt.comm_world, rt.comm_self}) {
    MPI_Errhandler handler = rt.errors_return;
    if (next.MPI_Comm_get_errhandler(comm, &handler) != MPI_SUCCESS) return false;
    if (let_go(&handler)) return false;
  }
  return true;
}

bool is_rank(int peer, MPI_Comm comm) noexcept {
  const Next& next = next_functions();
  int is_between_groups = 0;
  int ranks = 0;
  if (next.MPI_Comm_test_inter(comm, &is_between_groups) != MPI_SUCCESS) return false;
  const int code = is_between_groups != 0 ? next.MPI_Comm_remote_size(comm, &ranks)
                                          : next.MPI_Comm_size(comm, &ranks);
  return code == MPI_SUCCESS && peer >= 0 && peer < ranks;
}

bool is_tag(int tag) noexcept {
  int* most = nullptr;
  int found = 0;
  return next_functions().MPI_Comm_get_attr(runtime().comm_world, MPI_TAG_UB, &most, &found) ==
             MPI_SUCCESS &&
         found != 0 && tag >= 0 && tag <= *most;
}

// Whether the library cannot but make the request.
bool is_valid(const Arguments& arguments) noexcept {
  const Predefined* type = runtime().predefined->find(arguments.datatype);
  if (type == nullptr || type->basic == nullptr || arguments.count < 0 || !tells_errors())
    return false;
  const bool any_rank = !arguments.sends && arguments.peer == MPI_ANY_SOURCE;
  const bool any_tag = !arguments.sends && arguments.tag == MPI_ANY_TAG;
  return (any_tag || is_tag(arguments.tag)) &&
         (any_rank || is_rank(arguments.peer, arguments.comm));
}

bool make(Entry* entry) noexcept {
  const Arguments& the = entry->arguments;
  if (!is_valid(the)) return false;
  const Next& next = next_functions();
  MPI_Request made = runtime().request_null;
  const int code = the.sends ? next.MPI_Send_init(the.buf, the.count, the.datatype, the.peer,
                                                  the.tag, the.comm, &made)
                             : next.MPI_Recv_init(const_cast<void*>(the.buf), the.count,
                                                  the.datatype, the.peer, the.tag, the.comm, &made);
  if (code != MPI_SUCCESS || made == runtime().request_null) return false;
  entry->request = made;
  entry->is_made = true;
  g_requests.fetch_add(1, std::memory_order_relaxed);
  return true;
}

// Cheap; the rest is looked at when a request is made. Where calls are looked behind, nobody knows
// who has called.
bool may_be_cached(const Arguments& arguments, const void* caller) noexcept {
  constexpr uintptr_t kFirstPage = 4096;
  return is_open(kP2pSwitch) && plainly_predefined(arguments.datatype) &&
         arguments.peer != MPI_PROC_NULL &&
         reinterpret_cast<uintptr_t>(arguments.buf) >= kFirstPage &&
         !may_be_on_device(arguments.buf) && !called_by_mpi(caller) && !is_in_library();
}

// `plainly` does the call as it is. Not noexcept: an error handler of the program's may throw
// through the library, and could without the cache.
template <typename Plainly>
int by_cache(const Arguments& arguments, MPI_Status* status, const void* caller,
             const Plainly& plainly) {
  if (!may_be_cached(arguments, caller)) return plainly();
  Entry* entry = claim(arguments);
  if (entry == nullptr) {
    const int code = plainly();
    if (code == MPI_SUCCESS) note(arguments);
    return code;
  }
  if (!entry->is_made && !make(entry)) {
    release(entry, false);
    return plainly();
  }
  const Next& next = next_functions();
  int code = next.MPI_Start(&entry->request);
  if (code == MPI_SUCCESS) code = next.MPI_Wait(&entry->request, status);
  g_calls.fetch_add(1, std::memory_order_relaxed);
  release(entry, code == MPI_SUCCESS);
  return code;
}

template <const Below& below>
int cached_send(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                MPI_Comm comm) {
  return by_cache({buf, count, datatype, dest, tag, comm, true}, MPI_STATUS_IGNORE,
                  __builtin_return_address(0),
                  [&] { return below.send(buf, count, datatype, dest, tag, comm); });
}

template <const Below& below>
int cached_send_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm) {
  const auto plainly = [&] { return below.send_c(buf, count, datatype, dest, tag, comm); };
  if (!fits_int(count)) return plainly();
  return by_cache({buf, static_cast<int>(count), datatype, dest, tag, comm, true},
                  MPI_STATUS_IGNORE, __builtin_return_address(0), plainly);
}

template <const Below& below>
int cached_recv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                MPI_Status* status) {
  return by_cache({buf, count, datatype, source, tag, comm, false}, status,
                  __builtin_return_address(0),
                  [&] { return below.recv(buf, count, datatype, source, tag, comm, status); });
}

template <const Below& below>
int cached_recv_c(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                  MPI_Comm comm, MPI_Status* status) {
  const auto plainly = [&] {
    return below.recv_c(buf, count, datatype, source, tag, comm, status);
  };
  if (!fits_int(count)) return plainly();
  return by_cache({buf, static_cast<int>(count), datatype, source, tag, comm, false}, status,
                  __builtin_return_address(0), plainly);
}

template <Below& below>
void displace(Next* next) {
  below = {next->MPI_Send, next->MPI_Send_c, next->MPI_Recv, next->MPI_Recv_c};
  next->MPI_Send = &cached_send<below>;
  next->MPI_Send_c = &cached_send_c<below>;
  next->MPI_Recv = &cached_recv<below>;
  next->MPI_Recv_c = &cached_recv_c<below>;
}

// The requests of entries that are in use, in turn: only of this communicator, or of all (nullptr).
void forget(const MPI_Comm* comm) noexcept {
  for (auto& set : g_sets) {
    for (Entry& entry : set) {
      MPI_Request request = runtime().request_null;
      {
        const auto held = lock();
        if (!entry.is_used || (comm != nullptr && entry.arguments.comm != *comm)) continue;
        entry.is_doomed = entry.is_busy;
        if (entry.is_busy) continue;
        if (entry.is_made) request = entry.request;
        entry = Entry{};
      }
      if (request != runtime().request_null) free_request(&request);
    }
  }
}

void forget_before_free(const MPI_Comm* comm) noexcept {
  if (g_started.load(std::memory_order_relaxed) && comm != nullptr) forget(comm);
}

}  // namespace

void start_cache() noexcept {
  if (!g_started.exchange(true)) change_next(&displace<g_plain>, &displace<g_profiling>);
}

void stop_cache() noexcept {
  if (g_started.load(std::memory_order_relaxed)) forget(nullptr);
}

int around_comm_free(const Next& next, MPI_Comm* comm) {
  forget_before_free(comm);
  return next.MPI_Comm_free(comm);
}

int around_comm_disconnect(const Next& next, MPI_Comm* comm) {
  forget_before_free(comm);
  finish_freed_requests();
  if (comm != nullptr && *comm != MPI_COMM_NULL && waits_in_disconnect(runtime().flavour))
    finish_freed_requests_on(*comm);
  return next.MPI_Comm_disconnect(comm);
}

int64_t calls_by_cache() noexcept { return g_calls.load(std::memory_order_relaxed); }

int64_t requests_of_cache() noexcept { return g_requests.load(std::memory_order_relaxed); }

}  // namespace lacuna
