// SPDX-License-Identifier: BSD-3-Clause
//
// Noted types: those whose handles the program gives away (to a struct, a variable, another
// function), so that the calls which use them cannot be told of them when they are compiled. After
// MPI_Type_commit such a handle is noted (noted.cpp) with kernels for any count of it, until the
// type is freed, by whomever; a call whose type is not known asks when it runs.
#ifndef LACUNA_OPTIMIZER_TEMPLATES_NOTED_HPP_
#define LACUNA_OPTIMIZER_TEMPLATES_NOTED_HPP_

#include "optimizer/templates/part.hpp"

// What a call does whose type is not known when it is compiled: what the function does. Files that
// make no types call these of others, by name (optimizer/pass/asks.cpp), so that the number is
// another one where the table is.
#define LACUNA_ASKS(name) extern "C" [[gnu::noinline]] int lacuna_asks_2_##name
// What it calls where a type is noted, with the same arguments, which need not be moved then. It is
// in every file that notes types, though once in a program: small rather than fast.
#define LACUNA_ASKS_FOUND(name) \
  extern "C" [[gnu::noinline, clang::minsize]] int lacuna_asks_2_found_##name

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

// One for each place of the program that commits types. The order of members, here and below, is
// known to optimizer/pass/register.cpp.
struct Kernels {
  Counted* pack;
  Counted* unpack;
  CountedPrefix* unpack_prefix;
  Weigh* weigh;
  MPI_Datatype unit;
  int64_t unit_bytes;
  int64_t* spent;  // noted.cpp
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
  Layout layout;
};

// Two handles may share a pair of places; a third one is not noted.
constexpr unsigned kPlaceBits = 7;
// One for all files of a program, and zero at first. Another layout needs another name.
struct AllNoted {
  int lock;
  int keyval;  // whose deletion tells that a type is freed
  int state;   // AllNoted::State
  Noted places[1U << kPlaceBits][2];
  enum State { kUnknown, kOpen, kClosed };
};

}  // namespace lacuna

// The pass knows this name (library.cpp).
extern "C" lacuna::AllNoted lacuna_noted_types_2;

namespace lacuna {

// Whether noting types of a place pays. Each costs kPrice, each that is not noted gives back one,
// and calls that find one kGain each, until nothing is spent; beyond kMostSpent none is noted. So
// types that are made, used once and freed are noted for nothing kMostSpent / kPrice times, and
// from then on one in kPrice; and a place whose types are asked for again comes back. To note and
// forget a vector takes 21 ns on MPICH and 157 on Open MPI, whose attributes are dear, and to pack
// a column of 16 doubles by it saves 58 and 15 (EPYC); messages save more between processes, but
// those to oneself on Open MPI nothing.
constexpr int64_t kPrice = 128;
constexpr int64_t kMostSpent = 32 * kPrice;
#ifdef OPEN_MPI
constexpr int64_t kGain = kPrice / 10;
#else
constexpr int64_t kGain = kPrice;
#endif

// Threads that lose each other's numbers here lose nothing else.
inline int64_t spent_at(const int64_t* place) { return __atomic_load_n(place, __ATOMIC_RELAXED); }
inline void set_spent(int64_t* place, int64_t spent) {
  __atomic_store_n(place, spent, __ATOMIC_RELAXED);
}

inline uintptr_t number_of(MPI_Datatype type) { return (uintptr_t)type; }

// The two places of a handle.
inline Noted* places_of(uintptr_t handle) {
  return lacuna_noted_types_2.places[(uint64_t(handle) * 0x9E3779B97F4A7C15U) >> (64 - kPlaceBits)];
}

// Nobody else writes the place of a handle while its type is alive: that nobody frees it meanwhile
// is the program's to see to.
inline const Noted* find_noted(MPI_Datatype type) {
  const uintptr_t handle = number_of(type);
  const Noted* const place = places_of(handle);
  const auto is_there = [handle](const Noted& one) {
    return __atomic_load_n(&one.handle, __ATOMIC_ACQUIRE) == handle;
  };
  if (__builtin_expect(is_there(place[0]), 0)) return handle != 0 ? place : nullptr;
  if (__builtin_expect(is_there(place[1]), 0)) return handle != 0 ? place + 1 : nullptr;
  return nullptr;
}

struct Asked;
}  // namespace lacuna

// noted.cpp: Asked::fill_numbers.
extern "C" int lacuna_asks_2_fill(lacuna::Asked* asked, lacuna::Part* part, MPI_Datatype type,
                                  int64_t count, int side, int64_t most);

namespace lacuna {

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

  enum Side : int { kSend, kReceive, kNoMessage };

  // Fills all of a part but where it may stand; whether the type is noted, and worth it. Inlined is
  // only what the caller is to know.
  [[gnu::always_inline]] bool fill(Part& part, MPI_Datatype type, int64_t its_count, Side side,
                                   int64_t most) {
    if (lacuna_asks_2_fill(this, &part, type, its_count, side, most) == 0) return false;
    part.pack = pack;
    part.unpack = unpack;
    part.unpack_prefix = unpack_prefix;
    part.in_place = nullptr;
    part.is_host = 0;
    return true;
  }
  // What is left of it.
  bool fill_numbers(Part& part, MPI_Datatype type, int64_t its_count, Side side, int64_t most) {
    const Noted* const noted = find_noted(type);
    if (noted == nullptr || its_count <= 0 || its_count > INT32_MAX) return false;
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
    if (const int64_t spent = spent_at(kernels.spent); spent > 0)
      set_spent(kernels.spent, spent - kGain);
    part.shape = reinterpret_cast<const int64_t*>(this);
    part.bytes = bytes;
    part.most = most;
    part.unit = kernels.unit;
    part.unit_bytes = kernels.unit_bytes;
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
constexpr int64_t kMostToEach = 2048;  // for all ranks

inline bool is_noted(MPI_Datatype type) { return find_noted(type) != nullptr; }

// Whether C's functions with an int take that count.
inline bool is_small(MPI_Count count) { return count >= 0 && count <= INT32_MAX; }

// For the time of a call.
class AskedNow {
 public:
  [[gnu::always_inline]] AskedNow(MPI_Datatype type, int64_t count, Asked::Side side,
                                  int64_t most) {
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
