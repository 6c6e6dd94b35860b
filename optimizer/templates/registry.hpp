// SPDX-License-Identifier: BSD-3-Clause
//
// The registry: types whose handles the program gives away (to a struct, a variable, another
// function), so that the calls which use them are compiled without knowing their types. After
// MPI_Type_commit the handle is entered (registry.cpp) with kernels for any count of elements, and
// leaves the registry when the type is freed, whoever frees it. A call whose type is not known at
// compile time looks its handle up when it runs.
#ifndef LACUNA_OPTIMIZER_TEMPLATES_REGISTRY_HPP_
#define LACUNA_OPTIMIZER_TEMPLATES_REGISTRY_HPP_

#include "optimizer/templates/buffer_arg.hpp"

// The function that replaces a call whose type is not known at compile time. A file that makes no
// types calls that of another file by this name (optimizer/pass/calls/lookup.cpp). If the layout of
// the registry changes, the number in the name must change, too.
#define LACUNA_LOOKUP(name) extern "C" [[gnu::noinline]] int lacuna_lookup_1_##name
// The function that LACUNA_LOOKUP calls if the type is registered. It has the same arguments, so
// that they stay in their registers. Every file that registers types has a copy, so it is compiled
// for size.
#define LACUNA_LOOKUP_FOUND(name) \
  extern "C" [[gnu::noinline, clang::minsize]] int lacuna_lookup_1_found_##name

namespace lacuna::compiled {

// Moves the first `bytes` packed bytes, and no more.
using CountedPrefix = int(const int64_t* numbers, char* mem, int64_t count, char* packed,
                          int64_t bytes);
// Who handles messages of `bytes` in runs of mean length `run`: bits of interface::Flag.
using HandlerFlags = int64_t(int64_t run, int64_t bytes);

// One for each place of the program that commits types. The pass makes it: its members are those of
// LACUNA_KERNELS, in that order.
struct Kernels {
  Counted* pack;
  Counted* unpack;
  CountedPrefix* unpack_prefix;
  HandlerFlags* handlers;
  MPI_Datatype unit;
  int64_t unit_bytes;
  int64_t* spent;  // kPrice, below
};
#define LACUNA_CHECK(kind, name) LACUNA_CHECK_MEMBER(Kernels, interface::KernelsMember, kind, name)
LACUNA_KERNELS(LACUNA_CHECK)
#undef LACUNA_CHECK
static_assert(sizeof(Kernels) == 8 * size_t(interface::KernelsMember::kCount));

// The layout of a registered type.
struct Layout {
  const Kernels* kernels;
  int64_t bytes;  // packed, of one element
  int64_t lb;
  int64_t extent;
  int64_t run;  // mean length; all of `bytes` where an element has no gaps
  int64_t numbers[interface::kMostNumbers];
};

struct Entry {
  uintptr_t handle;  // 0: none
  Layout layout;
};

// Handles of one hash value share two places; a third such handle is not registered.
constexpr unsigned kPlaceBits = 7;
// One for all files of a program, zero at first. With another layout it needs another name.
struct Registry {
  int lock;
  int keyval;  // of the attribute that is deleted when a type is freed
  int state;   // Registry::State
  Entry places[1U << kPlaceBits][2];
  enum State { kUnknown, kOpen, kClosed };
};

}  // namespace lacuna::compiled

// The pass knows this name (pass/base/library.cpp).
extern "C" lacuna::compiled::Registry lacuna_registry_1;

namespace lacuna::compiled {

// Whether registering the types of a place pays, as a number of that place. Registering one costs
// kPrice; a type that is not registered gives back 1, and a call that finds one gives back kGain,
// down to zero. Beyond kMostSpent none is registered. So a place whose types are used once and
// freed registers kMostSpent / kPrice of them for nothing, and then one in kPrice; when its types
// are used more often, it is registered again. kGain is what a small MPI_Pack saves over what
// registering costs, which is much on Open MPI (docs/experiments/2026-11-26-compiled-code.md,
// "Registry").
constexpr int64_t kPrice = 128;
constexpr int64_t kMostSpent = 32 * kPrice;
#ifdef OPEN_MPI
constexpr int64_t kGain = kPrice / 10;
#else
constexpr int64_t kGain = kPrice;
#endif

// Two threads may overwrite each other's number: then it is a little wrong, and nothing else.
inline int64_t spent_at(const int64_t* place) { return __atomic_load_n(place, __ATOMIC_RELAXED); }
inline void set_spent(int64_t* place, int64_t spent) {
  __atomic_store_n(place, spent, __ATOMIC_RELAXED);
}

inline uintptr_t number_of(MPI_Datatype type) { return (uintptr_t)type; }

// The two places of a handle. The hash constant (that of engine/base/hash.hpp) is written here, as
// templates are compiled into users' programs, without the engine's headers.
inline Entry* places_of(uintptr_t handle) {
  return lacuna_registry_1.places[(uint64_t(handle) * 0x9E3779B97F4A7C15U) >> (64 - kPlaceBits)];
}

// No lock is needed: nobody writes the place of a handle while its type lives, and a program must
// not free a type while another thread calls MPI with it.
inline const Entry* find_registered(MPI_Datatype type) {
  const uintptr_t handle = number_of(type);
  const Entry* const place = places_of(handle);
  const auto is_there = [handle](const Entry& one) {
    return __atomic_load_n(&one.handle, __ATOMIC_ACQUIRE) == handle;
  };
  if (__builtin_expect(is_there(place[0]), 0)) return handle != 0 ? place : nullptr;
  if (__builtin_expect(is_there(place[1]), 0)) return handle != 0 ? place + 1 : nullptr;
  return nullptr;
}

struct Lookup;
}  // namespace lacuna::compiled

// registry.cpp: Lookup::fill_numbers.
extern "C" int lacuna_lookup_1_fill(lacuna::compiled::Lookup* lookup,
                                    lacuna::compiled::BufferArg* arg, MPI_Datatype type,
                                    int64_t count, int side, int64_t most);

namespace lacuna::compiled {

// What a call has found in the registry for `count` elements of a type: the kernels and numbers for
// its BufferArg. It is a copy, since the program may free the type as soon as MPI has started.
struct Lookup {
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

  // Fills all of a BufferArg but its staging memory; false where the type is not registered, or
  // packing does not pay. Only what the caller's code should see as constants is inlined.
  [[gnu::always_inline]] bool fill(BufferArg& arg, MPI_Datatype type, int64_t its_count, Side side,
                                   int64_t most) {
    if (lacuna_lookup_1_fill(this, &arg, type, its_count, side, most) == 0) return false;
    arg.pack = pack;
    arg.unpack = unpack;
    arg.unpack_prefix = unpack_prefix;
    arg.in_place = nullptr;
    arg.is_host = 0;
    return true;
  }
  // The rest of it, in a function.
  bool fill_numbers(BufferArg& arg, MPI_Datatype type, int64_t its_count, Side side, int64_t most) {
    const Entry* const entry = find_registered(type);
    if (entry == nullptr || its_count <= 0 || its_count > INT32_MAX) return false;
    layout = entry->layout;
    count = its_count;
    const Kernels& kernels = *layout.kernels;
    const int64_t bytes =
        layout.bytes * count;  // less than 2^57, as kMostElement of registry.cpp says
    int64_t flags = 0;
    if (side != kNoMessage) {
      if (count == 1 && layout.run == layout.bytes) return false;
      flags = kernels.handlers(layout.run, bytes);
      if ((flags & (side == kSend ? interface::kSendIsLibrarys : interface::kReceiveIsLibrarys)) !=
          0)
        return false;
    }
    if (const int64_t spent = spent_at(kernels.spent); spent > 0)
      set_spent(kernels.spent, spent - kGain);
    arg.shape = reinterpret_cast<const int64_t*>(this);
    arg.bytes = bytes;
    arg.most = most;
    arg.unit = kernels.unit;
    arg.unit_bytes = kernels.unit_bytes;
    arg.one_bytes = layout.bytes;
    arg.is_preloads =
        flags & (side == kSend ? interface::kSendIsPreloads : interface::kReceiveIsPreloads);
    arg.with_gap = side == kSend ? flags & interface::kSendWithGap : 0;
    return true;
  }

 private:
  static const Lookup& of(const int64_t* shape) { return *reinterpret_cast<const Lookup*>(shape); }
};

static_assert(sizeof(Lookup) == 8 * interface::kLookupWords, "the pass allocates it");

constexpr int64_t kRoom = 4096;  // staging memory in the frame, as for sizes of the run time
constexpr int64_t kMostSent = int64_t(64) << 20;

inline bool is_registered(MPI_Datatype type) { return find_registered(type) != nullptr; }

// Whether the count fits the functions that take an int.
inline bool is_small(MPI_Count count) { return count >= 0 && count <= INT32_MAX; }

// What a blocking call has found, with staging memory, for the time of the call.
class CallLookup {
 public:
  [[gnu::always_inline]] CallLookup(MPI_Datatype type, int64_t count, Lookup::Side side,
                                    int64_t most) {
    arg.stack = room_;
    arg.room = kRoom;
    arg.unit_bytes = arg.one_bytes = 1;
    is_known = found_.fill(arg, type, count, side, most);
  }
  CallLookup(const CallLookup&) = delete;
  CallLookup& operator=(const CallLookup&) = delete;

  BufferArg arg = {};
  bool is_known;

 private:
  Lookup found_;
  alignas(64) char room_[kRoom + interface::kMostUnitBytes];
};

}  // namespace lacuna::compiled

#endif  // LACUNA_OPTIMIZER_TEMPLATES_REGISTRY_HPP_
