// SPDX-License-Identifier: BSD-3-Clause
//
// Learning a type: ask the library whether it is committed, look for the attribute, else decode,
// plan and attach.
//
// Locks: `g_learning` is tried (a call that does not get it is declined), or waited for outside of
// callbacks (library/locks.hpp). The delete callback takes only `g_records`, a leaf.
#include "interpose/types/record.hpp"

#include <functional>
#include <limits>
#include <mutex>
#include <new>

#include "base/options.hpp"
#include "interpose/device/moves.hpp"
#include "interpose/functions/bodies.hpp"
#include "interpose/library/device.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/library/locks.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/observe/log.hpp"
#include "interpose/observe/verify.hpp"
#include "interpose/policy/policy.hpp"
#include "interpose/report/library_times.hpp"
#include "interpose/report/sampling.hpp"
#include "interpose/types/compiled.hpp"
#include "interpose/types/predefined_records.hpp"
#include "interpose/types/received_type.hpp"
#include "mpi/decode.hpp"
#include "plan/cache.hpp"
#include "type/text/text.hpp"

namespace lacuna {
namespace detail {

constinit std::atomic<TypeRecord*> g_type_cache[1U << kCacheBits] = {};
constinit NewType g_new_types[1U << kCacheBits] = {};
constinit std::atomic<uint64_t> g_recycled{0};

}  // namespace detail

namespace {

constinit std::timed_mutex g_learning;
constinit std::mutex g_records;
constinit TypeRecord* g_free = nullptr;
// How many types got a record. If it is unchanged, no type has got an attribute meanwhile.
constinit std::atomic<uint64_t> g_learned{0};
constinit TypeRecord* g_all = nullptr;

TypeRecord* new_record() noexcept {
  {
    const std::lock_guard<std::mutex> lock(g_records);
    if (TypeRecord* record = g_free) {
      g_free = record->next_free;
      return record;
    }
  }
  auto* record = new (std::nothrow) TypeRecord;
  if (record == nullptr) return nullptr;
  const std::lock_guard<std::mutex> lock(g_records);
  record->next_of_all = g_all;
  g_all = record;
  return record;
}

// Not in the delete callback: the library may hold locks there that freeing another type needs.
void drop_packed_form(const TypeRecord& record) noexcept {
  if (!record.has_packed_form.load(std::memory_order_acquire)) return;
  next_functions().MPI_Type_free(&record.packed_form);
  record.has_packed_form.store(false, std::memory_order_release);
}

void recycle(TypeRecord* record) noexcept {
  if (record->has_call_groups.exchange(false, std::memory_order_relaxed))
    forget_call_groups_of(*record);
  detail::g_recycled.fetch_add(1, std::memory_order_relaxed);
  const uintptr_t handle = record->handle.load(std::memory_order_relaxed);
  if (record->moved.plan != nullptr) inside::g_types.remove(handle);
  record->handle.store(0, std::memory_order_release);
  record->serial.store(0, std::memory_order_release);
  record->plan.reset();
  record->moved.reset(nullptr, 0, 1);
  record->text.clear();
  record->logged.store(0, std::memory_order_relaxed);
  record->verdict.store(kNoVerdict, std::memory_order_relaxed);
  const std::lock_guard<std::mutex> lock(g_records);
  record->next_free = g_free;
  g_free = record;
}

// A type that is copied does not take its record along: the copy is decoded when it is used.
int copy_attribute(MPI_Datatype, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

int delete_attribute(MPI_Datatype, int, void* value, void*) {
  recycle(static_cast<TypeRecord*>(value));
  return MPI_SUCCESS;
}

void remember(TypeRecord* record, uintptr_t handle) noexcept {
  detail::g_type_cache[detail::cache_slot(handle)].store(record, std::memory_order_release);
}

TypeRecord* attached_record(MPI_Datatype datatype) noexcept {
  void* value = nullptr;
  int found = 0;
  const int code =
      next_functions().MPI_Type_get_attr(datatype, runtime().type_keyval, &value, &found);
  return code == MPI_SUCCESS && found != 0 ? static_cast<TypeRecord*>(value) : nullptr;
}

thread_local bool t_probe_failed = false;

}  // namespace

// Packs nothing, on a private communicator that returns errors. That fails for invalid handles and
// for uncommitted types, with all known libraries.
bool is_committed(MPI_Datatype datatype) noexcept {
  char nothing = 0;
  int position = 0;
  t_probe_failed = false;
  const int code = next_functions().MPI_Pack(&nothing, 0, datatype, &nothing, 1, &position,
                                             runtime().probe_comm);
  return code == MPI_SUCCESS && !t_probe_failed;
}

namespace {

// The report counts calls on all types, and shows the time of their analysis. Returns the hash by
// which the report knows this type; 0: an equal type was reported before.
uint64_t tell_report(TypeRecord* record, int64_t begin_ns, uint64_t hash,
                     const std::function<std::string()>& text) {
  uint64_t known_by = 0;
  record->passes = false;
  record->reported_as = report_type(hash, now_ns() - begin_ns, [&] {
    const std::string whole = text();
    known_by = std::hash<std::string>()(whole);
    return TypeFacts{known_by, shortened(whole), record->size_bytes, record->mean_run_bytes,
                     record->plan != nullptr && record->many_pattern == Pattern::kTransposed};
  });
  return known_by;
}

void fill_undecoded(TypeRecord* record, const std::string& why, int64_t begin_ns) {
  record->outcome = Outcome::kUndecoded;
  record->passes = true;
  record->one_passes = false;
  record->size_bytes = 0;
  record->mean_run_bytes = 0;
  record->piece_bytes = 0;
  if (is_watched(kLogged)) record->text = why;
  if (is_watched(kReported))
    tell_report(record, begin_ns, std::hash<std::string>()(why), [&] { return why; });
}

void fill(TypeRecord* record, MPI_Datatype datatype) {
  const Runtime& rt = runtime();
  const bool reported = is_watched(kReported);
  const int64_t begin = reported ? now_ns() : 0;
  Result<DecodedType> decoded = decode_type(datatype, rt.mpi, *rt.predefined);
  if (!decoded) return fill_undecoded(record, decoded.error().message, begin);
  const TypePtr type = decoded->type;
  if (moves_wrong_bytes(rt.flavour, *type))
    return fill_undecoded(record, "the MPI library misplaces this type's data", begin);
  if (drops_padding(rt.flavour, *type))
    return fill_undecoded(
        record, "the MPI library sends the padding of long double in some messages only", begin);
  if (is_watched(kLogged)) record->text = print_type(*type, kLongestText);
  // Report and verification may need the type itself later.
  const bool may_be_on_devices = is_watched(kDevices);
  const bool is_watched_type = is_watched(kReported | kVerified | kCosted | kDevices);
  const PlanPtr plan = cached_plan(type, is_watched_type ? Keeps::kType : Keeps::kOutline);
  record->structure = type->hash;
  record->size_bytes = plan->size();
  record->extent_bytes = plan->extent();
  record->true_lb = type->true_lb;
  record->true_extent_bytes = type->true_extent();
  record->mean_run_bytes = plan->mean_run_bytes();
  record->piece_bytes = 0;
  record->single_run = !plan->is_empty() && plan->is_run(1);
  record->outcome = Outcome::kPredefined;  // a recycled record may have another
  if (plan->size() == 0) {
    record->outcome = Outcome::kEmpty;
  } else if (plan->is_contiguous()) {
    record->outcome = Outcome::kContiguous;
    if (may_be_on_devices && !device::library_knows_devices()) record->plan = plan;
  } else {
    const PlanPtr compiled = plan_with_registered(handle_bits(datatype), *type, plan);
    record->plan = compiled != nullptr ? compiled : plan;
    record->one_pattern = pattern_of(plan->root(1));
    record->many_pattern = pattern_of(plan->root(2));
    record->piece_bytes = piece_bytes(*type);
  }
  const bool uniform = decoded->uniform != rt.datatype_null;
  record->uniform = uniform;
  record->wire = uniform ? decoded->uniform : rt.packed;
  record->cuts_token = record->outcome == Outcome::kContiguous && !uniform &&
                       rt.flavour != Flavour::kOpenMpi &&
                       ends_within_element(*type, record->size_bytes);
  record->wire_bytes = uniform ? type->signature.uniform->size_bytes : 1;
  record->passes = record->plan == nullptr;
  record->most_disjoint = plan->most_disjoint();
  record->one_passes = record->single_run && !reported && !may_be_on_devices;
  record->knows_no_devices = !may_be_on_devices;
  if (is_watched(kVerified) && record->plan != nullptr)
    keep_for_verification(record->plan, datatype);
  if (reported) {
    const uint64_t known_by =
        tell_report(record, begin, type->hash, [&] { return print_type(*type); });
    if (known_by != 0 && is_watched(kCosted) && record->plan != nullptr)
      keep_for_timing(known_by, plan, datatype);
  }
  // A device packs it, and the CPU never does.
  if (record->outcome == Outcome::kContiguous && record->plan != nullptr)
    record->mean_run_bytes = std::numeric_limits<double>::infinity();
}

// Once for each type: data may be under way when it is examined again.
void move_inside(TypeRecord* record) noexcept {
  constexpr double kLongRuns = 256;  // the library copies them as fast
  if (record->plan == nullptr || record->outcome == Outcome::kContiguous ||
      (record->mean_run_bytes >= kLongRuns && !runtime().always)) {
    return;
  }
  // Where elements have no gaps within, the library ends fragments anywhere; elsewhere with a basic
  // element. Of several basic types it is not known where they end within the type.
  constexpr int64_t kMostUnit = 1024;
  int64_t unit = record->single_run ? 1 : record->wire_bytes;
  if (!record->single_run && !record->uniform)
    unit = record->size_bytes <= kMostUnit ? record->size_bytes : 0;
  record->moved.reset(record->plan, record->structure, unit);
  inside::g_types.add(record->handle.load(std::memory_order_relaxed), &record->moved);
}

TypeRecord* make_record(MPI_Datatype datatype) noexcept {
  notice_devices();
  TypeRecord* record = new_record();
  if (record == nullptr) return nullptr;
  drop_packed_form(*record);
  try {
    fill(record, datatype);
  } catch (...) {
    recycle(record);
    return nullptr;
  }
  if (next_functions().MPI_Type_set_attr(datatype, runtime().type_keyval, record) != MPI_SUCCESS) {
    recycle(record);
    return nullptr;
  }
  const uint64_t learned =
      g_learned.fetch_add(1, std::memory_order_release);  // after the attribute can be found
  record->serial.store(learned + 1, std::memory_order_release);
  record->handle.store(handle_bits(datatype), std::memory_order_release);
  if (is_open(kInsideSwitch)) move_inside(record);
  return record;
}

void refill(TypeRecord* record, MPI_Datatype datatype) noexcept try {
  record->plan.reset();
  fill(record, datatype);
  record->verdict.store(kNoVerdict, std::memory_order_relaxed);
} catch (...) {
  record->outcome = Outcome::kUndecoded;
}

constinit PredefinedRecords g_predefined_records;

}  // namespace

namespace detail {

const TypeRecord* learn_type(MPI_Datatype datatype, bool* busy) noexcept {
  const Runtime& rt = runtime();
  if (datatype == rt.datatype_null) return nullptr;
  const uintptr_t handle = handle_bits(datatype);
  if (TypeRecord* record = g_predefined_records.find(*rt.predefined, datatype)) {
    remember(record, handle);
    return record;
  }
  if (!is_committed(datatype)) return nullptr;
  const uint64_t learned = g_learned.load(std::memory_order_acquire);
  TypeRecord* record = attached_record(datatype);
  if (record == nullptr) {
    const std::unique_lock lock(g_learning, std::try_to_lock);
    if (!lock.owns_lock()) {
      if (busy != nullptr) *busy = true;
      return nullptr;
    }
    // Another thread may have been faster.
    if (g_learned.load(std::memory_order_acquire) != learned) record = attached_record(datatype);
    if (record == nullptr) record = make_record(datatype);
    if (record == nullptr) return nullptr;
  } else if (is_watched(kDevices) && record->knows_no_devices && !g_gate.threads) {
    refill(record, datatype);  // other threads may be reading it
  }
  remember(record, handle);
  return record;
}

}  // namespace detail

const TypeRecord* watched_type(MPI_Datatype datatype) noexcept {
  for (;;) {
    if (const TypeRecord* record = detail::cached_record(datatype)) return record;
    bool busy = false;
    const TypeRecord* record = detail::learn_type(datatype, &busy);
    if (record != nullptr || !busy) return record;
    std::unique_lock until_learned(g_learning, std::defer_lock);
    if (!lock_outside_callbacks(&until_learned)) return nullptr;
  }
}

void analyse_again(MPI_Datatype datatype) noexcept {
  if (detail::cached_record(datatype) == nullptr) return;
  if (TypeRecord* record = attached_record(datatype)) refill(record, datatype);
}

// MPICH releases its lock for a delete callback, also inside its progress engine, when an incoming
// message gives back the last reference to a type. Another thread may then enter progress. (4.0.2
// over UCX: of 40 jobs of four threads that free their types early, one failed with: Assertion
// `worker->inprogress++ == 0' failed.) So with threads, the attribute is deleted before the type.
int around_type_free(const Next& next, MPI_Datatype* datatype) {
  if (g_gate.threads && unlocks_for_callbacks(runtime().flavour) && datatype != nullptr &&
      detail::cached_record(*datatype) != nullptr && attached_record(*datatype) != nullptr)
    next.MPI_Type_delete_attr(*datatype, runtime().type_keyval);
  return next.MPI_Type_free(datatype);
}

void examine_all_types_again() noexcept {
  g_gate.learns_at_once = true;
  for (detail::NewType& type : detail::g_new_types) type.handle.store(0, std::memory_order_relaxed);
  for (std::atomic<TypeRecord*>& cached : detail::g_type_cache)
    cached.store(nullptr, std::memory_order_release);
  detail::g_recycled.fetch_add(1, std::memory_order_relaxed);
  const std::lock_guard<std::mutex> lock(g_records);
  for (TypeRecord* record = g_all; record != nullptr; record = record->next_of_all)
    record->verdict.store(kNoVerdict, std::memory_order_relaxed);
}

MPI_Datatype packed_form(const TypeRecord& record) noexcept {
  if (record.has_packed_form.load(std::memory_order_acquire)) return record.packed_form;
  const Next& next = next_functions();
  const MPI_Datatype null = runtime().datatype_null;
  const int64_t length = record.size_bytes / record.wire_bytes;
  if (!record.uniform || !fits_int(length)) return null;
  const std::unique_lock lock(g_learning, std::try_to_lock);
  if (!lock.owns_lock()) return null;
  if (record.has_packed_form.load(std::memory_order_acquire)) return record.packed_form;
  MPI_Datatype form = null;
  if (next.MPI_Type_contiguous(static_cast<int>(length), record.wire, &form) != MPI_SUCCESS ||
      form == null) {
    return null;
  }
  if (next.MPI_Type_commit(&form) != MPI_SUCCESS) {
    next.MPI_Type_free(&form);
    return null;
  }
  record.packed_form = form;
  record.has_packed_form.store(true, std::memory_order_release);
  return form;
}

void record_probe_error(MPI_Comm*, int*, ...) { t_probe_failed = true; }

bool start_types(int* keyval) noexcept {
  if (!g_predefined_records.fill(*runtime().predefined)) return false;
  return next_functions().MPI_Type_create_keyval(copy_attribute, delete_attribute, keyval,
                                                 nullptr) == MPI_SUCCESS;
}

void watch_predefined_types() noexcept { g_predefined_records.watch(); }

void stop_types(int keyval) noexcept {
  for (const TypeRecord* record = g_all; record != nullptr; record = record->next_of_all)
    drop_packed_form(*record);
  next_functions().MPI_Type_free_keyval(&keyval);
}

}  // namespace lacuna
