// SPDX-License-Identifier: BSD-3-Clause
//
// One side of a collective call, with packed data. Each rank decides for each of its two sides
// (what it sends, what it receives) alone. A side that is handled keeps its counts, and its type
// becomes the packed form (types/record.hpp), which has the same signature and size. So whatever
// other ranks decide, the library sees the collective that the program has called.
#ifndef LACUNA_INTERPOSE_COLLECTIVES_SIDE_HPP_
#define LACUNA_INTERPOSE_COLLECTIVES_SIDE_HPP_

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "interpose/functions/answer.hpp"
#include "interpose/library/device.hpp"
#include "interpose/memory/staging.hpp"
#include "interpose/policy/policy.hpp"
#include "interpose/requests/table.hpp"
#include "interpose/types/record.hpp"

namespace lacuna {

// What happens to a part of a side: packed before the call, unpacked after it, both, or nothing.
enum class Flow : uint8_t { kNone = 0, kOut = 1, kIn = 2, kBoth = 3 };

// What happens to the data of each pair, that is, of each rank or neighbour.
struct Flows {
  Flow all = Flow::kNone;
  int own = -1;  // the pair that is different, if data stay in place
  Flow own_flow = Flow::kNone;
  const std::vector<char>* absent = nullptr;  // neighbours that are MPI_PROC_NULL

  Flow at(int pair) const noexcept {
    if (absent != nullptr && (*absent)[static_cast<size_t>(pair)] != 0) return Flow::kNone;
    return pair == own ? own_flow : all;
  }
};

// Elements of one type that follow each other in memory.
struct Segment {
  PlanPtr plan;  // null: contiguous
  std::byte* memory;
  MPI_Count count;
  int64_t at;  // offset in the staging
  int64_t bytes;
  Flow flow;
};

// Whether packing pays for `bytes` with gaps between two ranks, in a collective.
bool pays_to_pack(Operation operation, const TypeRecord& record, MPI_Count count,
                  int64_t bytes) noexcept;

// A side that lacuna handles, and what MPI gets instead of its buffer, displacements and types.
class Side {
 public:
  // The same count for each pair, one after the other (MPI_Gather and kin). False: declined.
  bool handle(Operation operation, const void* buf, MPI_Count count, MPI_Datatype datatype,
              int pairs, const Flows& flows, bool blocking) noexcept;
  // Counts and displacements, in extents of the one type (MPI_Gatherv and kin).
  template <typename Count, typename Displacement>
  bool handle(Operation operation, const void* buf, const Count* counts,
              const Displacement* displacements, MPI_Datatype datatype, int pairs,
              const Flows& flows, bool blocking) noexcept;
  // Counts, displacements in bytes and types (MPI_Alltoallw and kin).
  template <typename Count, typename Displacement>
  bool handle(Operation operation, const void* buf, const Count* counts,
              const Displacement* displacements, const MPI_Datatype* datatypes, int pairs,
              const Flows& flows, bool blocking) noexcept;

  bool handled() const noexcept { return static_cast<bool>(staging_); }
  bool comes_in() const noexcept { return comes_in_; }
  void* buffer() const noexcept { return staging_.data(); }
  MPI_Datatype datatype() const noexcept { return form_; }
  const MPI_Datatype* datatypes() const noexcept { return forms_.data(); }
  template <typename Displacement>
  const Displacement* displacements() const noexcept {
    if constexpr (std::is_same_v<Displacement, int>) {
      return small_displacements_.data();
    } else {
      return displacements_.data();
    }
  }

  // False: a device has failed.
  bool pack_all() const noexcept;
  bool unpack_all() const noexcept;

 private:
  struct Benefit;
  bool weigh(Operation operation, const TypeRecord& record, MPI_Count count, int64_t bytes,
             Benefit* gain) const noexcept;
  bool move_on_device(Flow way) const noexcept;
  bool begin(Operation operation, const TypeRecord* record, bool blocking) noexcept;
  Where where(Operation operation) const noexcept;
  template <typename Displacement>
  bool place(int64_t displacement);
  void add(const TypeRecord& record, const void* memory, MPI_Count count, int64_t bytes, Flow flow);

  Staging staging_;
  std::vector<Segment> segments_;
  Account account_;
  int64_t bytes_ = 0;
  bool comes_in_ = false;
  MPI_Datatype form_;
  std::vector<MPI_Datatype> forms_;
  std::vector<int> small_displacements_;
  std::vector<MPI_Aint> displacements_;
};

// The two sides. Lives until the call has completed.
struct Sides : Completion {
  Side out;
  Side in;
  bool of_file = false;  // a file operation (files.hpp)

  // `in` has data to send, too, if they stay in place.
  bool pack() const noexcept override {
    return (!out.handled() || out.pack_all()) && (!in.handled() || in.pack_all());
  }
  int finish(bool success) noexcept override {
    return !success || !in.comes_in() || in.unpack_all() ? MPI_SUCCESS : MPI_ERR_OTHER;
  }
  bool may_be_freed() const noexcept override { return of_file; }
};

// Moves the exchange to the heap until the call has completed. Null: out of memory.
PendingRequest* new_pending_sides(Sides* sides);
inline Sides& sides_of(const PendingRequest& entry) noexcept {
  return static_cast<Sides&>(*entry.completion);
}

// Whether the arguments of a side that is left to the library are valid. Checked if the other side
// is to be unpacked: libraries do not always return an error that the program's handler has seen.
bool is_sound(MPI_Count count, MPI_Datatype datatype) noexcept;
template <typename Count>
bool is_sound(const Count* counts, MPI_Datatype datatype, int pairs) noexcept {
  if (counts == nullptr) return false;
  for (int i = 0; i < pairs; ++i) {
    if (counts[i] < 0) return false;
  }
  return is_sound(0, datatype);
}
template <typename Count>
bool is_sound(const Count* counts, const MPI_Datatype* datatypes, int pairs) noexcept {
  if (counts == nullptr || datatypes == nullptr) return false;
  for (int i = 0; i < pairs; ++i) {
    if (!is_sound(counts[i], datatypes[i])) return false;
  }
  return true;
}

}  // namespace lacuna

#endif  // LACUNA_INTERPOSE_COLLECTIVES_SIDE_HPP_
