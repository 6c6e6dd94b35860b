// SPDX-License-Identifier: BSD-3-Clause
//
// The types by which packed data are sent with a gap (Outgoing, buffer_arg.hpp). Making and freeing
// one takes a sixth of a message of 4 KiB, so a few are kept until MPI ends, for all files of a
// program. A call takes one out of its place while it uses it: no other thread can free it, and a
// call within the call (by an error handler) makes another one.
#include "optimizer/templates/buffer_arg.hpp"

using lacuna::compiled::exchanged;
using lacuna::compiled::GapType;

namespace {

constexpr unsigned kPlaceBits = 3;
enum State { kUnknown, kOpen, kClosed };

struct Kept {
  int state;
  GapType* places[1U << kPlaceBits];
};

}  // namespace

// The pass knows this name (pass/base/library.cpp). With another layout it needs another name.
extern "C" Kept lacuna_kept_gaps = {};

namespace {

void drop(GapType* gap) {
  if (gap == nullptr) return;
  if (gap->type != MPI_DATATYPE_NULL) MPI_Type_free(&gap->type);
  std::free(gap);
}

extern "C" [[clang::minsize]] int lacuna_drop_gaps(MPI_Comm, int, void*, void*) {
  __atomic_store_n(&lacuna_kept_gaps.state, int(kClosed), __ATOMIC_RELAXED);
  for (GapType*& place : lacuna_kept_gaps.places) drop(exchanged<GapType>(place, nullptr));
  return MPI_SUCCESS;
}

// Whether types may be kept. If two threads come here first at once, lacuna_drop_gaps is called
// twice, which does no harm.
bool keeps() {
  int state = __atomic_load_n(&lacuna_kept_gaps.state, __ATOMIC_RELAXED);
  if (state == kUnknown) {
    state = lacuna_template_at_finalize(lacuna_drop_gaps) != 0 ? kOpen : kClosed;
    __atomic_store_n(&lacuna_kept_gaps.state, state, __ATOMIC_RELAXED);
  }
  return state == kOpen;
}

GapType*& place_of(int count) {
  return lacuna_kept_gaps.places[(unsigned(count) * 0x9E3779B9U) >> (32 - kPlaceBits)];
}

[[gnu::noinline, clang::minsize]] GapType* made(GapType* gap, MPI_Datatype unit, int count) {
  if (gap == nullptr)
    gap = static_cast<GapType*>(std::malloc(sizeof(GapType)));
  else
    MPI_Type_free(&gap->type);
  if (gap == nullptr) return nullptr;
  const int lengths[2] = {count - 1, 1}, places[2] = {0, count};
  *gap = {MPI_DATATYPE_NULL, unit, count};
  if (MPI_Type_indexed(2, lengths, places, unit, &gap->type) == MPI_SUCCESS &&
      MPI_Type_commit(&gap->type) == MPI_SUCCESS) {
    return gap;
  }
  drop(gap);
  return nullptr;
}

}  // namespace

extern "C" [[gnu::noinline]] GapType* lacuna_template_take_gap(MPI_Datatype unit, int count) {
  GapType* gap = exchanged<GapType>(place_of(count), nullptr);
  if (gap != nullptr && gap->count == count && gap->unit == unit) return gap;
  return made(gap, unit, count);
}

extern "C" [[gnu::noinline]] void lacuna_template_give_gap(GapType* gap) {
  drop(keeps() ? exchanged(place_of(gap->count), gap) : gap);
}
