// SPDX-License-Identifier: BSD-3-Clause
//
// TypeRecord: what lacuna knows about one MPI datatype handle. It is an attribute of the type, so
// that the library itself says when the type is gone (delete callback), whoever freed it and
// however long the library kept it. A small cache by handle avoids that query in most calls.
//
// Records are never returned to the system, only recycled: a stale pointer in the cache may be
// read, and its handle shows that it is stale. A correct program cannot free a type that is used in
// a call before that call has its record.
#ifndef LACUNA_INTERPOSE_TYPES_RECORD_HPP_
#define LACUNA_INTERPOSE_TYPES_RECORD_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/hash.hpp"
#include "interpose/inside/moved_type.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/policy/outcome.hpp"
#include "interpose/policy/policy.hpp"
#include "interpose/report/observed_type.hpp"
#include "mpi/header.hpp"
#include "plan/plan.hpp"

namespace lacuna {

inline constexpr int64_t kNoVerdict = -1;

struct TypeRecord : ObservedType {
  uint64_t structure = 0;  // the decoded type's hash
  int64_t extent_bytes = 0;
  int64_t true_lb = 0;
  int64_t true_extent_bytes = 0;
  double mean_run_bytes = 0;
  int64_t piece_bytes = 0;                   // plan/pattern.hpp
  bool single_run = false;                   // one element is one run: nothing to pack for count 1
  Pattern one_pattern = Pattern::kStrided;   // of one element
  Pattern many_pattern = Pattern::kStrided;  // of several
  int64_t wire_bytes = 1;
  int64_t most_disjoint = INT64_MAX;  // with more elements than that, some bytes overlap
  bool uniform = false;     // `wire` is the one basic type of the signature, not MPI_PACKED
  bool cuts_token = false;  // contiguous, and a token would end within a basic element
  bool passes = true;       // calls on it need not be examined
  bool one_passes = false;  // nor those with a count of 1
  Outcome outcome = Outcome::kPredefined;  // without a plan: why
  // Of a predefined type with gaps: its record as of a derived type, for receives that must be
  // packed.
  const TypeRecord* gapped = nullptr;
  // Analysed while kDevices was not set: analysed again where it is.
  bool knows_no_devices = false;
  // Whether messages pay, for the last count that was asked for (accept.cpp).
  mutable std::atomic<int64_t> verdict{kNoVerdict};
  TypeRecord* next_free = nullptr;
  inside::MovedType moved;  // for the fragments that the library moves

  // packed_form() below; outlives the type, until the record is used again or lacuna stops.
  mutable std::atomic<bool> has_packed_form{false};
  mutable MPI_Datatype packed_form;
  TypeRecord* next_of_all = nullptr;
};

namespace detail {
inline constexpr unsigned kCacheBits = 10;
extern std::atomic<TypeRecord*> g_type_cache[1U << kCacheBits];
// `busy`: set if another thread is analysing a type, so that nothing was done.
const TypeRecord* learn_type(MPI_Datatype datatype, bool* busy = nullptr) noexcept;

// How often a record was recycled: its type was freed, or could not be analysed.
LACUNA_HIDDEN extern std::atomic<uint64_t> g_recycled;

inline size_t cache_slot(uintptr_t handle) { return hash_slot(handle, kCacheBits); }

inline const TypeRecord* cached_record(MPI_Datatype datatype) noexcept {
  const uintptr_t handle = handle_bits(datatype);
  const TypeRecord* record = g_type_cache[cache_slot(handle)].load(std::memory_order_acquire);
  return record != nullptr && record->handle.load(std::memory_order_acquire) == handle ? record
                                                                                       : nullptr;
}

// A type that is committed and not analysed yet. If two types share a slot, one of them is analysed
// at its first use.
struct NewType {
  std::atomic<uintptr_t> handle{0};
  std::atomic<int64_t> size_bytes{0};
  std::atomic<int> uses{0};
};
LACUNA_HIDDEN extern NewType g_new_types[1U << kCacheBits];
inline constexpr int kUsesToLearn = 8;
inline constexpr int64_t kLittleData = 8192;  // bytes that the library moves faster than we decode

// Inline, as a call would give a stack frame to each wrapper that asks.
inline bool is_still_new(MPI_Datatype datatype, MPI_Count count, bool is_use = true) noexcept {
  const uintptr_t handle = handle_bits(datatype);
  NewType& type = g_new_types[cache_slot(handle)];
  if (type.handle.load(std::memory_order_acquire) != handle) return false;
  const int uses = type.uses.load(std::memory_order_relaxed) + 1;
  if (is_use) type.uses.store(uses, std::memory_order_relaxed);
  if (uses <= kUsesToLearn && count <= kLittleData &&
      count * type.size_bytes.load(std::memory_order_relaxed) <= kLittleData) {
    return true;
  }
  type.handle.store(0, std::memory_order_relaxed);  // no longer new
  return false;
}
}  // namespace detail

// As long as this number does not change, a handle that had a record denotes the same type.
inline uint64_t recycled_records() noexcept {
  return detail::g_recycled.load(std::memory_order_relaxed);
}

// For a type that has just been committed and that no call uses yet: if its commit has analysed it,
// it is analysed once more, as a kernel was registered for it meanwhile.
void analyse_again(MPI_Datatype datatype) noexcept;

// The record of a datatype, or nullptr if the call must be declined: an invalid or uncommitted
// handle, or another thread is analysing a type. The gate must be open.
inline const TypeRecord* type_record(MPI_Datatype datatype) noexcept {
  const TypeRecord* record = detail::cached_record(datatype);
  return record != nullptr ? record : detail::learn_type(datatype);
}

// Whether the library accepts the type for communication.
bool is_committed(MPI_Datatype datatype) noexcept;

// The record for a receive that may match a token. If another thread is analysing a type, it waits.
// nullptr: the library will refuse the type, there is no memory, or a callback must not wait.
const TypeRecord* watched_type(MPI_Datatype datatype) noexcept;
// Keeps a plan for the rest of a call, during which another thread may free the type.
inline PlanPtr keep_plan(const PlanPtr& plan) noexcept { return g_gate.threads ? plan : nullptr; }

// The account for moving data of this type in the current call.
inline Account account_of(const TypeRecord& record) noexcept {
  return is_watched(kReported | kVerified) ? account_of(record.reported_as) : Account{};
}

// Whether the cache says that calls on this type are always declined. That settles most calls that
// pass the gate for nothing.
inline bool is_never_handled(MPI_Datatype datatype) noexcept {
  const TypeRecord* record = detail::cached_record(datatype);
  return record != nullptr && record->passes;
}
inline bool is_never_handled(MPI_Datatype one, MPI_Datatype other) noexcept {
  return is_never_handled(one) && is_never_handled(other);
}

// No data in any element: nothing is moved, whatever the count.
inline bool is_empty(const TypeRecord& record) noexcept {
  return record.size_bytes == 0 && record.outcome == Outcome::kEmpty;
}
// Whether lacuna can move its data: it has a plan, or is contiguous.
inline bool can_be_moved(const TypeRecord& record) noexcept {
  return record.plan != nullptr || record.outcome == Outcome::kContiguous ||
         record.has_packed_form.load(std::memory_order_acquire);
}

// Whether the elements are one run, so that there is nothing to pack.
inline bool is_one_run(const TypeRecord& record, MPI_Count count) noexcept {
  return record.plan == nullptr || record.outcome == Outcome::kContiguous ||
         (count == 1 && record.single_run);
}
// Whether a device moves the elements if they are in its memory: all that have gaps, and one run if
// the library would read it by the CPU.
bool is_moved_on_device(const TypeRecord& record, MPI_Count count) noexcept;

// What there is to move in `count` elements of a type with a plan.
inline DataShape shape_of(const TypeRecord& record, MPI_Count count, int64_t bytes) noexcept {
  return {bytes, record.mean_run_bytes, count == 1 ? record.one_pattern : record.many_pattern,
          record.piece_bytes};
}

// Whether a token that is received into this type might lose bytes. Some libraries move such basic
// types element by element and leave out their padding (long double). And if elements overlap,
// later bytes overwrite earlier ones.
inline bool loses_bytes(const TypeRecord& record, MPI_Count count) noexcept {
  return !record.uniform || record.wire_bytes > 8 || count > record.most_disjoint;
}

// The record by which a receive that may match a token must be packed; null: it need not be.
inline const TypeRecord* packed_receive(const TypeRecord& record, MPI_Count count) noexcept {
  if (record.gapped != nullptr) return record.gapped;
  return record.plan != nullptr && loses_bytes(record, count) ? &record : nullptr;
}

// Forgets which calls need not be examined, as that was decided for data of the host.
void examine_all_types_again() noexcept;

// A verdict: a count, and below it a bit for each operation on messages that pays.
inline constexpr int kVerdictBits = 3;
constexpr bool is_message(Operation operation) noexcept {
  return operation == Operation::kSend || operation == Operation::kReceive ||
         operation == Operation::kDirect;
}
constexpr int64_t verdict_bit(Operation operation) noexcept {
  return operation == Operation::kSend ? 1 : operation == Operation::kReceive ? 2 : 4;
}

// Whether the verdict says that so many elements do not pay. kSend: neither packed nor by the
// direct path; kReceive: to receive; kDirect: none of the three.
inline bool is_known_futile(const TypeRecord& record, MPI_Count count,
                            Operation operation) noexcept {
  int64_t asked = verdict_bit(operation);
  if (operation == Operation::kSend) asked |= verdict_bit(Operation::kDirect);
  if (operation == Operation::kDirect) asked = (1 << kVerdictBits) - 1;
  const int64_t verdict = record.verdict.load(std::memory_order_relaxed);
  return is_message(operation) && verdict >> kVerdictBits == count && (verdict & asked) == 0;
}

// The same, and the report does not count the call.
inline bool is_futile(const TypeRecord& record, MPI_Count count, Operation operation) noexcept {
  return is_known_futile(record, count, operation) && !is_watched(kReported);
}

// The type has no gaps, so no table is asked; and the report does not count the call.
inline bool is_left_as_it_is(const TypeRecord& record) noexcept {
  return record.passes && record.outcome == Outcome::kContiguous && !is_watched(kReported);
}

// Whether a call with `count` elements is declined without an examination: as is_never_handled();
// or the elements are one run; or they are known not to pay; or the type is new and the data are so
// few that decoding it would cost more than it could gain.
inline bool is_left_alone(MPI_Datatype datatype, MPI_Count count, Operation operation) noexcept {
  const TypeRecord* record = detail::cached_record(datatype);
  if (record == nullptr) return !is_watched(kReported) && detail::is_still_new(datatype, count);
  return record->passes || (count == 1 && record->one_passes) ||
         is_futile(*record, count, operation);
}

// Whether a call that the report observes is declined because its type is new. `is_use`: counts as
// a use of the type; once for each call.
inline bool is_left_alone_but_reported(MPI_Datatype datatype, MPI_Count count,
                                       bool is_use) noexcept {
  return is_watched(kReported) && leaves_new_types_alone() &&
         detail::is_still_new(datatype, count, is_use);
}

// The record of a type if all calls with so many elements are declined, whatever their other
// arguments, and always with the same Outcome; else null. Not for a receive that may match a token.
const TypeRecord* known_to_be_left_alone(MPI_Datatype datatype, MPI_Count count,
                                         Operation operation) noexcept;

// count_slowly() (report/sampling.hpp) of a call that moves data in one type.
bool count_slowly(FunctionId function, const void* caller, MPI_Datatype datatype, MPI_Count count,
                  Operation operation) noexcept;

// What a call that lacuna may handle moves. The plan is the record's. To use it after the call has
// ended, or after other threads may know that it has begun and free the type, copy the pointer
// first (keep_plan()).
struct Decision {
  const TypeRecord* record = nullptr;
  int64_t bytes = 0;
  // Of a declined receive that may match a token: to be logged later. kOnDevice of an accepted
  // call: the data are a device's, and lacuna moves them there (interpose/device).
  Outcome why = Outcome::kHandled;

  bool is_on_device() const noexcept { return why == Outcome::kOnDevice; }
  // What is recorded of a call that is handled.
  Outcome handled() const noexcept {
    return is_on_device() ? Outcome::kByDevice : Outcome::kHandled;
  }
};

namespace detail {
Account watched_account(const Decision& decision) noexcept;
}
// The account for moving the data of this call.
inline Account account_of(const Decision& decision) noexcept {
  return is_watched(kReported | kVerified | kDevices) ? detail::watched_account(decision)
                                                      : Account{};
}

// Logs why a receive is declined; or, if it may match a token, keeps the reason in `job` for the
// code that completes it.
void decline_receive(const TypeRecord& record, Outcome why, int64_t bytes,
                     Decision* decision) noexcept;

// Whether lacuna may handle the data of this call, by all rules that need no communicator. False:
// decline.
bool examine(Operation operation, const void* buf, MPI_Count count, MPI_Datatype datatype,
             Decision* decision) noexcept;

// The memory of data, from `begin` to `end`.
struct MemoryRange {
  intptr_t begin;
  intptr_t end;
};
// The range of `count` elements. False: there are none, or an address overflows.
bool range_of(const void* buf, MPI_Count count, const TypeRecord& record,
              MemoryRange* range) noexcept;

// The steps of examine() that collectives do themselves. For `count` > 0 elements: how many bytes
// they have, and where the first one is. False: an address cannot be right.
bool locate(const void* buf, MPI_Count count, const TypeRecord& record, int64_t* bytes,
            const void** first) noexcept;

// A contiguous type with the signature and the size of one element: `count` of it are the packed
// form of `count` elements. So all ranks of a collective have the same counts, whether lacuna
// handles their part or not, and the library cuts its messages at the same places. (Open MPI's
// segments are made of whole elements; if ranks disagreed on an element's size, it would fail.)
// Null: the signature is mixed, or the library refuses.
MPI_Datatype packed_form(const TypeRecord& record) noexcept;

// How `bytes` of packed data travel: as `count` elements of `type`.
struct Wire {
  MPI_Datatype type{};
  MPI_Count count = 0;
};
Wire wire_of(const Decision& decision) noexcept;
// The library can count that far.
inline bool is_countable(const Wire& wire) noexcept {
  return fits_int(wire.count) || next_has_large();
}

// The error handler of Runtime::probe_comm.
void record_probe_error(MPI_Comm*, int*, ...);

// From now on, calls on predefined types are observed, too.
void watch_predefined_types() noexcept;

// Makes the keyval, the records of predefined types, and the empty cache. False: out of memory or
// refused by the library.
bool start_types(int* keyval) noexcept;
void stop_types(int keyval) noexcept;

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_TYPES_RECORD_HPP_
