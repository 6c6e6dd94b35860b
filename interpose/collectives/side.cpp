// SPDX-License-Identifier: BSD-3-Clause
//
// Which sides of a collective are handled. The rule is careful: a side is handled if packing would
// pay in a message between two ranks (policy.cpp), with the bytes of one pair, for each pair that
// has data. What collectives do besides (trees that pack again at each rank, split messages) only
// makes gaps more expensive.
#include "interpose/collectives/side.hpp"

#include <cstring>
#include <limits>
#include <utility>

#include "interpose/device/moves.hpp"
#include "interpose/direct/pipeline/pipeline.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/observe/log.hpp"
#include "interpose/types/guard.hpp"
#include "interpose/types/packing.hpp"

namespace lacuna {

// What has been found out about a side so far.
struct Side::Benefit {
  bool gaps = false;           // some data have gaps
  const void* data = nullptr;  // of some pair
  const TypeRecord* record = nullptr;
};

namespace {

bool sends_to(Flow flow, Flow way) noexcept {
  return (static_cast<unsigned>(flow) & static_cast<unsigned>(way)) != 0;
}

const std::byte* moved(const void* buf, int64_t bytes) noexcept {
  // As an integer: MPI_BOTTOM with absolute displacements is no pointer arithmetic.
  return reinterpret_cast<const std::byte*>(reinterpret_cast<intptr_t>(buf) + bytes);
}

bool is_movable(const TypeRecord* record) noexcept {
  if (record != nullptr && record->plan == nullptr) log_type(*record, record->outcome);
  return record != nullptr && record->plan != nullptr;
}

// Fewer bytes between two ranks are left to the library, whatever the tables say of messages: a
// collective costs about 0.2 us more than a message
// (docs/experiments/2026-11-27-collectives-packed.md).
int64_t least_bytes_to_carry() noexcept {
  switch (runtime().flavour) {
    case Flavour::kOpenMpi:
      return 2048;
    case Flavour::kIntelMpi:
      return 1024;
    default:
      return 0;
  }
}

// Intel MPI's collectives copy long runs once, between the caches; packing would be slower.
double most_run_to_carry() noexcept {
  return runtime().flavour == Flavour::kIntelMpi ? 256 : std::numeric_limits<double>::infinity();
}

// Open MPI (5.0.11) moves guarded types element by element, so small elements are slow.
int64_t least_element_to_carry(Operation operation) noexcept {
  return guards() && is_message(operation) ? 256 : 0;
}

// The type in place of the program's. Guarded only in messages, not in file operations.
MPI_Datatype form_of(Operation operation, const TypeRecord& record) noexcept {
  if (!guards() || !is_message(operation) || record.plan == nullptr) return packed_form(record);
  Wire wire = {record.wire, record.size_bytes / record.wire_bytes};
  return record.uniform && guard(&wire) ? wire.type : runtime().datatype_null;
}

}  // namespace

bool pays_to_pack(Operation operation, const TypeRecord& record, MPI_Count count,
                  int64_t bytes) noexcept {
  const Runtime& rt = runtime();
  if (bytes < least_bytes_to_carry() || record.mean_run_bytes > most_run_to_carry() ||
      record.size_bytes < least_element_to_carry(operation)) {
    return false;
  }
  // Between nodes the library packs whole, and in some collectives again at each step. (Ranks of
  // one node have shared memory then, so few of their collectives come here.)
  const DataShape shape = shape_of(record, count, bytes);
  return pays(*rt.messages, operation, shape) || (direct::has_pipeline() && is_message(operation) &&
                                                  pays_in_pieces(rt.flavour, *rt.messages, shape));
}

// Whether the data of this pair permit the side to be handled.
bool Side::weigh(Operation operation, const TypeRecord& record, MPI_Count count, int64_t bytes,
                 Benefit* gain) const noexcept {
  gain->record = &record;
  if (is_watched(kDevices) && may_be_on_device(gain->data)) {
    gain->gaps = gain->gaps || is_moved_on_device(record, count);
    return true;
  }
  const bool has_gaps = !is_one_run(record, count);
  gain->gaps = gain->gaps || has_gaps;
  if (runtime().always) return true;
  if (has_gaps && pays_to_pack(operation, record, count, bytes)) return true;
  log_type(record, Outcome::kLongRuns, bytes);
  return false;
}

// Where the data are: the host's, or one device's, which then moves them; else kElsewhere. The
// parts that are moved decide, each by itself: an absent neighbour has no data, and with MPI_BOTTOM
// one part may be a device's and the next the host's.
Where Side::where(Operation operation) const noexcept {
  if (segments_.size() > 1 && !has_device_runtime()) return Where::kHost;
  const bool may_move = is_watched(kDevices) && is_message(operation);
  size_t on_device = 0;
  for (const Segment& part : segments_) {
    DevicePlace place;
    const Where found = where_is(
        part.plan != nullptr ? moved(part.memory, part.plan->offset()) : part.memory, &place);
    if (found == Where::kHost) continue;
    if (found == Where::kElsewhere || !may_move) return Where::kElsewhere;
    const auto prepare = on_device++ == 0 ? device::prepare : device::prepare_also;
    if (!prepare(place, part.plan, part.count)) return Where::kElsewhere;
  }
  if (on_device == 0) return Where::kHost;
  return on_device == segments_.size() ? Where::kDevice : Where::kElsewhere;
}

// Borrows memory for the packed data, after all pairs have been weighed.
bool Side::begin(Operation operation, const TypeRecord* record, bool blocking) noexcept {
  if (runtime().has_type_component && is_message(operation)) {
    log_type(*record, Outcome::kSeenByComponent, bytes_);
    return false;
  }
  const Where where = this->where(operation);
  const bool on_device = where == Where::kDevice;
  if (where == Where::kElsewhere) {
    log_type(*record, Outcome::kOnDevice, bytes_);
    return false;
  }
  Staging staging = on_device ? device::borrow_pinned(bytes_) : borrow_staging(bytes_, blocking);
  if (!staging) {
    log_type(*record, Outcome::kNoMemory, bytes_);
    return false;
  }
  staging_ = std::move(staging);
  account_ = account_of(*record);
  account_.on_device = on_device ? 1 : 0;
  for (const Segment& part : segments_) comes_in_ = comes_in_ || sends_to(part.flow, Flow::kIn);
  log_type(*record, on_device ? Outcome::kByDevice : Outcome::kHandled, bytes_);
  return true;
}

bool Side::pack_all() const noexcept {
  if (account_.on_device) return move_on_device(Flow::kOut);
  for (const Segment& part : segments_) {
    if (!sends_to(part.flow, Flow::kOut)) continue;
    std::byte* const packed = staging_.data() + part.at;
    if (part.plan != nullptr)
      pack_for(account_, *part.plan, part.memory, part.count, packed);
    else
      std::memcpy(packed, part.memory, static_cast<size_t>(part.bytes));
  }
  return true;
}

bool Side::unpack_all() const noexcept {
  if (account_.on_device) return move_on_device(Flow::kIn);
  for (const Segment& part : segments_) {
    if (!sends_to(part.flow, Flow::kIn)) continue;
    const std::byte* const packed = staging_.data() + part.at;
    if (part.plan != nullptr)
      unpack_for(account_, *part.plan, packed, part.bytes, part.count, part.memory);
    else
      std::memcpy(part.memory, packed, static_cast<size_t>(part.bytes));
  }
  return true;
}

// Some at a time, for whose list the stack has room.
bool Side::move_on_device(Flow way) const noexcept {
  constexpr size_t kAtOnce = 32;
  device::Slice slices[kAtOnce];
  size_t count = 0;
  const bool packs = way == Flow::kOut;
  const Stopwatch watch(account_, packs ? Way::kPack : Way::kUnpack);
  const auto move = [&] { return device::move_slices(packs, {slices, std::exchange(count, 0)}); };
  bool ok = true;
  for (const Segment& part : segments_) {
    if (!sends_to(part.flow, way)) continue;
    if (is_watched(kReported)) report_device_bytes(account_, part.bytes);
    slices[count++] = {
        {part.plan.get(), part.count, part.memory}, 0, part.bytes, staging_.data() + part.at};
    if (count == kAtOnce) ok = move() && ok;
  }
  return move() && ok;
}

// Assigns the next bytes of the staging; they are kept free if nothing is moved.
void Side::add(const TypeRecord& record, const void* memory, MPI_Count count, int64_t bytes,
               Flow flow) {
  if (flow != Flow::kNone) {
    const int64_t skipped = record.plan == nullptr ? record.true_lb : 0;
    segments_.push_back(
        {record.plan, const_cast<std::byte*>(moved(memory, skipped)), count, bytes_, bytes, flow});
  }
  bytes_ += bytes;
}

template <typename Displacement>
bool Side::place(int64_t displacement) {
  if constexpr (std::is_same_v<Displacement, int>) {
    if (!fits_int(displacement)) return false;
    small_displacements_.push_back(static_cast<int>(displacement));
  } else {
    displacements_.push_back(displacement);
  }
  return true;
}

bool Side::handle(Operation operation, const void* buf, MPI_Count count, MPI_Datatype datatype,
                  int pairs, const Flows& flows, bool blocking) noexcept try {
  if (buf == MPI_IN_PLACE || count <= 0 || pairs <= 0) return false;
  const TypeRecord* record = type_record(datatype);
  if (!is_movable(record)) return false;
  MPI_Count all = 0;
  int64_t bytes = 0;
  const void* data = nullptr;
  if (__builtin_mul_overflow(count, MPI_Count{pairs}, &all) ||
      !locate(buf, all, *record, &bytes, &data)) {
    return false;
  }
  Benefit gain;
  gain.data = data;
  if (!weigh(operation, *record, count, bytes / pairs, &gain) || !gain.gaps) return false;
  form_ = form_of(operation, *record);
  if (form_ == runtime().datatype_null) {
    log_type(*record, Outcome::kMixed);
    return false;
  }
  // Adjacent pairs with the same flow become one part.
  for (int begin = 0, end = 0; begin < pairs; begin = end) {
    const Flow flow = flows.at(begin);
    while (end < pairs && flows.at(end) == flow) ++end;
    add(*record, moved(buf, begin * count * record->extent_bytes), (end - begin) * count,
        (end - begin) * count * record->size_bytes, flow);
  }
  return this->begin(operation, record, blocking);
} catch (...) {
  return false;
}

template <typename Count, typename Displacement>
bool Side::handle(Operation operation, const void* buf, const Count* counts,
                  const Displacement* displacements, MPI_Datatype datatype, int pairs,
                  const Flows& flows, bool blocking) noexcept try {
  if (buf == MPI_IN_PLACE || counts == nullptr || displacements == nullptr) return false;
  const TypeRecord* record = type_record(datatype);
  if (!is_movable(record)) return false;
  Benefit gain;
  for (int i = 0; i < pairs; ++i) {
    const Count count = counts[i];
    if (count < 0 || !place<Displacement>(bytes_ / record->size_bytes)) return false;
    const Flow flow = flows.at(i);
    if (count == 0) continue;
    int64_t offset = 0;
    int64_t bytes = 0;
    int64_t sum = 0;
    if (__builtin_mul_overflow(int64_t{displacements[i]}, record->extent_bytes, &offset) ||
        !locate(moved(buf, offset), count, *record, &bytes, &gain.data) ||
        __builtin_add_overflow(bytes_, bytes, &sum)) {
      return false;
    }
    if (flow != Flow::kNone && !weigh(operation, *record, count, bytes, &gain)) return false;
    add(*record, moved(buf, offset), count, bytes, flow);
  }
  if (!gain.gaps) return false;
  form_ = form_of(operation, *record);
  if (form_ == runtime().datatype_null) {
    log_type(*record, Outcome::kMixed);
    return false;
  }
  return begin(operation, record, blocking);
} catch (...) {
  return false;
}

template <typename Count, typename Displacement>
bool Side::handle(Operation operation, const void* buf, const Count* counts,
                  const Displacement* displacements, const MPI_Datatype* datatypes, int pairs,
                  const Flows& flows, bool blocking) noexcept try {
  if (buf == MPI_IN_PLACE || counts == nullptr || displacements == nullptr ||
      datatypes == nullptr) {
    return false;
  }
  Benefit gain;
  for (int i = 0; i < pairs; ++i) {
    const Count count = counts[i];
    if (count < 0 || !place<Displacement>(bytes_)) return false;
    const Flow flow = flows.at(i);
    forms_.push_back(datatypes[i]);
    if (count == 0) continue;  // the library ignores the type
    const TypeRecord* record = type_record(datatypes[i]);
    if (record == nullptr) return false;
    if (is_empty(*record)) continue;
    if (!can_be_moved(*record)) return false;
    int64_t bytes = 0;
    int64_t sum = 0;
    const void* place_of = moved(buf, displacements[i]);
    if (!locate(place_of, count, *record, &bytes, &gain.data) ||
        __builtin_add_overflow(bytes_, bytes, &sum)) {
      return false;
    }
    if (flow != Flow::kNone && !weigh(operation, *record, count, bytes, &gain)) return false;
    forms_.back() = form_of(operation, *record);
    if (forms_.back() == runtime().datatype_null) {
      log_type(*record, Outcome::kMixed);
      return false;
    }
    add(*record, place_of, count, bytes, flow);
  }
  return gain.gaps && begin(operation, gain.record, blocking);
} catch (...) {
  return false;
}

bool is_sound(MPI_Count count, MPI_Datatype datatype) noexcept {
  return count >= 0 && type_record(datatype) != nullptr;
}

#define LACUNA_INSTANTIATE(Count, Displacement)                                         \
  template bool Side::handle(Operation, const void*, const Count*, const Displacement*, \
                             MPI_Datatype, int, const Flows&, bool) noexcept;           \
  template bool Side::handle(Operation, const void*, const Count*, const Displacement*, \
                             const MPI_Datatype*, int, const Flows&, bool) noexcept;
LACUNA_INSTANTIATE(int, int)
LACUNA_INSTANTIATE(int, MPI_Aint)
LACUNA_INSTANTIATE(MPI_Count, MPI_Aint)
#undef LACUNA_INSTANTIATE

}  // namespace lacuna
