// SPDX-License-Identifier: BSD-3-Clause
//
// The rules by which all families accept or decline a call. Nothing here has a side effect.
#include <algorithm>
#include <cstdint>

#include "interpose/device/moves.hpp"
#include "interpose/library/device.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/observe/log.hpp"
#include "interpose/report/sampling.hpp"
#include "interpose/types/record.hpp"

namespace lacuna {
namespace {

// No program owns the first page: an address there is a mistake (or a sentinel such as MPI_IN_PLACE
// in Open MPI), and the library must report it. With MPI_BOTTOM, absolute displacements lead to the
// data.
bool in_a_program(intptr_t address) { return static_cast<uintptr_t>(address) >= 4096; }

constexpr MPI_Count kMostJudged = MPI_Count{1} << 48;

// Whether a message pays. Programs repeat messages, so the verdict for the last count is kept.
bool message_pays(Operation operation, const TypeRecord& record, MPI_Count count,
                  int64_t bytes) noexcept {
  int64_t verdict = record.verdict.load(std::memory_order_relaxed);
  if (verdict >> kVerdictBits == count) return (verdict & verdict_bit(operation)) != 0;
  const DataShape load = shape_of(record, count, bytes);
  if (count > kMostJudged) return pays(*runtime().messages, operation, load);
  verdict = count << kVerdictBits;
  for (const Operation each : {Operation::kSend, Operation::kReceive, Operation::kDirect}) {
    if (pays(*runtime().messages, each, load)) verdict |= verdict_bit(each);
  }
  // Where data may be on a device, calls must be examined even if they do not pay.
  constexpr int64_t kAll = (1 << kVerdictBits) - 1;
  if (!is_watched(kDevices) || (verdict & kAll) == kAll)
    record.verdict.store(verdict, std::memory_order_relaxed);
  return (verdict & verdict_bit(operation)) != 0;
}

bool is_worth_it(Operation operation, const TypeRecord& record, MPI_Count count,
                 int64_t bytes) noexcept {
  if (runtime().always) return true;
  return is_message(operation)
             ? message_pays(operation, record, count, bytes)
             : pays(*runtime().messages, operation, shape_of(record, count, bytes));
}

// Why every call with this count is declined; kHandled: it is not.
Outcome passing(const TypeRecord& record, MPI_Count count, bool is_new) noexcept {
  if (record.plan == nullptr) return record.outcome;
  if (is_new) return Outcome::kNew;
  return count == 1 && record.single_run ? Outcome::kOneRun : Outcome::kHandled;
}

// For a call that the CPU would not handle: whether its data are a device's, and are moved there,
// whatever the tables say, as libraries copy run by run. Not in one-sided operations and files. By
// the direct path, all but short ones.
[[gnu::noinline]] bool is_moved_by_device(Operation operation, const void* buf, MPI_Count count,
                                          const TypeRecord& record, Decision* decision) noexcept {
  if (operation > Operation::kDirect || !is_moved_on_device(record, count)) return false;
  int64_t bytes = 0;
  const void* data = nullptr;
  DevicePlace place;
  if (!locate(buf, count, record, &bytes, &data) ||
      (operation == Operation::kDirect && bytes < kLeastDirectOfDevice && !runtime().always) ||
      where_is(data, &place) != Where::kDevice || !device::prepare(place, record.plan, count)) {
    return false;
  }
  decision->record = &record;
  decision->bytes = bytes;
  decision->why = Outcome::kOnDevice;
  return true;
}

}  // namespace

bool range_of(const void* buf, MPI_Count count, const TypeRecord& record,
              MemoryRange* range) noexcept {
  intptr_t first = 0;
  intptr_t span = 0;
  intptr_t last = 0;
  if (count <= 0 ||
      __builtin_add_overflow(reinterpret_cast<intptr_t>(buf), record.true_lb, &first) ||
      __builtin_mul_overflow(static_cast<int64_t>(count - 1), record.extent_bytes, &span) ||
      __builtin_add_overflow(first, span, &last)) {
    return false;
  }
  range->begin = std::min(first, last);
  return !__builtin_add_overflow(std::max(first, last), record.true_extent_bytes, &range->end);
}

bool locate(const void* buf, MPI_Count count, const TypeRecord& record, int64_t* bytes,
            const void** data) noexcept {
  if (buf == MPI_IN_PLACE) return false;
  if (__builtin_mul_overflow(static_cast<int64_t>(count), record.size_bytes, bytes)) return false;
  intptr_t first = 0;
  intptr_t span = 0;
  intptr_t last = 0;
  if (__builtin_add_overflow(reinterpret_cast<intptr_t>(buf), record.true_lb, &first) ||
      __builtin_mul_overflow(static_cast<int64_t>(count - 1), record.extent_bytes, &span) ||
      __builtin_add_overflow(first, span, &last)) {
    return false;
  }
  *data = reinterpret_cast<const void*>(first);
  return in_a_program(first) && in_a_program(last);
}

bool is_moved_on_device(const TypeRecord& record, MPI_Count count) noexcept {
  return record.plan != nullptr && (!is_one_run(record, count) || !device::library_knows_devices());
}

const TypeRecord* known_to_be_left_alone(MPI_Datatype datatype, MPI_Count count,
                                         Operation operation) noexcept {
  const TypeRecord* record = detail::cached_record(datatype);
  if (record == nullptr || detail::is_still_new(datatype, count, false)) return nullptr;
  const bool is_left = passing(*record, count, false) != Outcome::kHandled ||
                       is_known_futile(*record, count, operation);
  return is_left ? record : nullptr;
}

void decline_receive(const TypeRecord& record, Outcome why, int64_t bytes,
                     Decision* decision) noexcept {
  if (receives_direct()) {
    count_type(record, why, bytes);
    decision->why = why;
  } else {
    log_type(record, why, bytes);
  }
}

bool examine(Operation operation, const void* buf, MPI_Count count, MPI_Datatype datatype,
             Decision* decision) noexcept {
  if (count <= 0) return false;
  // A send that the direct path declines is examined again, and counts as one use of the type.
  const bool is_new = is_left_alone_but_reported(datatype, count, operation != Operation::kDirect);
  const TypeRecord* record = type_record(datatype);
  if (record == nullptr) return false;
  const auto say = [&](Outcome why, int64_t of_bytes) {
    if (operation == Operation::kReceive) {
      decline_receive(*record, why, of_bytes, decision);
    } else if (operation != Operation::kDirect) {
      log_type(*record, why, of_bytes);
    }
  };
  int64_t bytes = 0;
  const auto is_devices = [&] {
    return is_watched(kDevices) && is_moved_by_device(operation, buf, count, *record, decision);
  };
  if (const Outcome why = passing(*record, count, is_new); why != Outcome::kHandled) {
    if (is_devices()) return true;
    const bool countable = !__builtin_mul_overflow(int64_t{count}, record->size_bytes, &bytes);
    say(why, countable ? bytes : 0);
    return false;
  }
  const void* data = nullptr;
  if (!locate(buf, count, *record, &bytes, &data)) return false;
  if (operation == Operation::kSend && !record->uniform &&
      breaks_structs(runtime().flavour, runtime().mpich_major, bytes)) {
    say(Outcome::kMixed, bytes);
    return false;
  }
  if (!is_worth_it(operation, *record, count, bytes)) {
    if (is_devices()) return true;
    say(Outcome::kLongRuns, bytes);
    return false;
  }
  if (may_be_on_device(data)) {
    if (is_devices()) return true;
    say(Outcome::kOnDevice, bytes);
    return false;
  }
  decision->record = record;
  decision->bytes = bytes;
  return true;
}

namespace detail {

Account watched_account(const Decision& decision) noexcept {
  Account account = account_of(*decision.record);
  account.on_device = decision.is_on_device() ? 1 : 0;
  return account;
}

}  // namespace detail

Wire wire_of(const Decision& decision) noexcept {
  return {decision.record->wire, decision.bytes / decision.record->wire_bytes};
}

bool count_slowly(FunctionId function, const void* caller, MPI_Datatype datatype, MPI_Count count,
                  Operation operation) noexcept {
  CallGroupKey key{
      .caller = caller, .type = datatype, .function = function, .octave = octave_of_count(count)};
  if (count < 0) return false;
  if (!plainly_predefined(datatype)) {
    key.record = known_to_be_left_alone(datatype, count, operation);
    if (key.record == nullptr) return false;
  }
  return count_slowly(key, count);
}

}  // namespace lacuna
