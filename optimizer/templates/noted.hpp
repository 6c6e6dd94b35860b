// SPDX-License-Identifier: BSD-3-Clause
//
// Noted types: those whose handles the program gives away (to a struct, a variable, another
// function), so that the calls which use them cannot be told of them when they are compiled. After
// MPI_Type_commit such a handle is noted (noted.cpp) with kernels for any count of it, until the
// type is freed, by whomever; a call whose type is not known asks when it runs.
#ifndef LACUNA_OPTIMIZER_TEMPLATES_NOTED_HPP_
#define LACUNA_OPTIMIZER_TEMPLATES_NOTED_HPP_

#include "optimizer/templates/part.hpp"

// What a call does with a noted type; it does what the function does.
#define LACUNA_ASKS(name) extern "C" [[gnu::noinline]] int lacuna_template_asks_##name

namespace lacuna {

constexpr int64_t kMostNumbers = 8;  // as optimizer/pass/register.cpp takes

// Moves the first `bytes` packed bytes, and no more.
using CountedPrefix = int(const int64_t* numbers, char* mem, int64_t count, char* packed,
                          int64_t bytes);
// For whom messages of runs of a mean length, and of a size, are: of the flags below.
using Weigh = int64_t(int64_t run, int64_t bytes);
enum Flag : int64_t {
  kSendIsLibrarys = 1,
  kReceiveIsLibrarys = 2,
  kSendIsPreloads = 4,
  kReceiveIsPreloads = 8,
  kSendIsApart = 16
};

// The order of members, here and below, is known to optimizer/pass/register.cpp.
struct Kernels {
  Counted* pack;
  Counted* unpack;
  CountedPrefix* unpack_prefix;
  Weigh* weigh;
  MPI_Datatype unit;
  int64_t unit_bytes;
};

// What is known of one type.
struct Layout {
  const Kernels* kernels;
  int64_t bytes;  // packed, of one element
  int64_t lb;
  int64_t extent;
  int64_t run;  // mean length; all of `bytes` where an element has no gaps
  int64_t numbers[kMostNumbers];
};

struct Noted {
  uintptr_t handle;  // 0: none
  int64_t is_used;
  Layout layout;
};

// Two handles may share a pair of places; a third one is not noted.
constexpr unsigned kPlaceBits = 8;
// One for all files of a program, and zero at first. Another layout needs another name.
struct AllNoted {
  int lock;
  int keyval;   // whose deletion tells that a type is freed
  int state;    // AllNoted::State
  int balance;  // less the more types are noted that no call asks for
  Noted places[1U << kPlaceBits];
  enum State { kUnknown, kOpen, kClosed };
};

}  // namespace lacuna

// The pass knows this name (library.cpp).
extern "C" lacuna::AllNoted lacuna_noted_types_1;

namespace lacuna {

inline uintptr_t number_of(MPI_Datatype type) { return (uintptr_t)type; }

// The first of the two places of a handle; the other one is beside it.
inline unsigned place_of(uintptr_t handle) {
  return unsigned((uint64_t(handle) * 0x9E3779B97F4A7C15U) >> (64 - kPlaceBits));
}

// Nobody else writes the place of a handle while its type is alive: that nobody frees it meanwhile
// is the program's to see to.
inline Noted* find_noted(MPI_Datatype type) {
  const uintptr_t handle = number_of(type);
  for (unsigned i = 0; i < 2; ++i) {
    Noted& place = lacuna_noted_types_1.places[place_of(handle) ^ i];
    if (__atomic_load_n(&place.handle, __ATOMIC_ACQUIRE) == handle && handle != 0) return &place;
  }
  return nullptr;
}

// What a call has asked for: `count` elements of a type, as a Part. It has a copy of what was
// noted, since a type may be freed as soon as a call has it.
struct Asked {
  Layout layout;
  int64_t count;

  static void pack(char* mem, char* packed, const int64_t* shape) {
    const auto& its = of(shape);
    its.layout.kernels->pack(its.layout.numbers, mem, its.count, packed);
  }
  static void unpack(char* mem, char* packed, const int64_t* shape) {
    const auto& its = of(shape);
    its.layout.kernels->unpack(its.layout.numbers, mem, its.count, packed);
  }
  static void unpack_prefix(char* mem, char* packed, const int64_t* shape, int64_t bytes) {
    const auto& its = of(shape);
    its.layout.kernels->unpack_prefix(its.layout.numbers, mem, its.count, packed, bytes);
  }

  enum Side { kSend, kReceive, kNoMessage };

  // Fills all of a part but where it may stand; whether the type is noted.
  [[gnu::always_inline]] bool fill(Part& part, MPI_Datatype type, int its_count, Side side,
                                   int64_t most) {
    Noted* const noted = find_noted(type);
    if (noted == nullptr || its_count <= 0) return false;
    if (__atomic_load_n(&noted->is_used, __ATOMIC_RELAXED) == 0)
      __atomic_store_n(&noted->is_used, 1, __ATOMIC_RELAXED);
    layout = noted->layout;
    count = its_count;
    const Kernels& kernels = *layout.kernels;
    const int64_t bytes = layout.bytes * count;  // less than 2^57 (note)
    int64_t flags = 0;
    if (side != kNoMessage) {
      if (count == 1 && layout.run == layout.bytes) return false;
      flags = kernels.weigh(layout.run, bytes);
      if ((flags & (side == kSend ? kSendIsLibrarys : kReceiveIsLibrarys)) != 0) return false;
    }
    part.pack = pack;
    part.unpack = unpack;
    part.unpack_prefix = unpack_prefix;
    part.shape = reinterpret_cast<const int64_t*>(this);
    part.bytes = bytes;
    part.most = most;
    part.in_place = nullptr;
    part.unit = kernels.unit;
    part.unit_bytes = kernels.unit_bytes;
    part.is_host = 0;
    part.one_bytes = layout.bytes;
    part.is_preloads = flags & (side == kSend ? kSendIsPreloads : kReceiveIsPreloads);
    part.is_apart = side == kSend ? flags & kSendIsApart : 0;
    return true;
  }

 private:
  static const Asked& of(const int64_t* shape) { return *reinterpret_cast<const Asked*>(shape); }
};

constexpr int64_t kRoom = 4096;  // in the frame, as of what is shape-static
constexpr int64_t kMostSent = int64_t(64) << 20;
constexpr int64_t kMostPacked = int64_t(1) << 20;
constexpr int64_t kMostOfCollective = 65536;

// For the time of a call.
class AskedNow {
 public:
  [[gnu::always_inline]] AskedNow(MPI_Datatype type, int count, Asked::Side side, int64_t most) {
    part.stack = room_;
    part.room = kRoom;
    part.unit_bytes = part.one_bytes = 1;
    is_known = asked_.fill(part, type, count, side, most);
  }
  AskedNow(const AskedNow&) = delete;
  AskedNow& operator=(const AskedNow&) = delete;

  Part part = {};
  bool is_known;

 private:
  Asked asked_;
  alignas(64) char room_[kRoom + kMostUnit];
};

}  // namespace lacuna

#endif  // LACUNA_OPTIMIZER_TEMPLATES_NOTED_HPP_
