// SPDX-License-Identifier: BSD-3-Clause
//
// BufferArg: what the pass knows about one (buffer, count, type) of a call. The pass fills one
// beside each call and inlines the template there. A member that is known at compile time is then a
// constant, and LLVM removes the branches that it decides.
//
// A template, LACUNA_TEMPLATE(MPI_Name), takes the arguments of its MPI function and one
// `const BufferArg&` for each (buffer, count, type). It sends the same messages and gives the same
// statuses and errors as the function. In any doubt it calls lacuna_original_MPI_Name with the
// program's own arguments; the pass replaces that by the function which the program called, C's or
// Fortran's. How to add a template: README.md.
#ifndef LACUNA_OPTIMIZER_TEMPLATES_BUFFER_ARG_HPP_
#define LACUNA_OPTIMIZER_TEMPLATES_BUFFER_ARG_HPP_

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "optimizer/interface.hpp"

#define LACUNA_TEMPLATE(name) extern "C" [[gnu::always_inline]] int lacuna_template_##name
#define LACUNA_ORIGINAL(name) extern "C" decltype(name) lacuna_original_##name

// Defined in programs that use the memory of a device.
extern "C" {
[[gnu::weak]] int cudaMalloc(void**, size_t);
[[gnu::weak]] int hipMalloc(void**, size_t);
[[gnu::weak]] int zeMemAllocDevice();
[[gnu::weak]] int cuInit(unsigned);            // CUDA's driver, without its runtime
[[gnu::weak]] void __tgt_register_lib(void*);  // OpenMP's offloading
[[gnu::weak]] void __sycl_register_lib(void*);
}

// memory.cpp: memory for packed data that do not fit into the caller's frame. The program keeps it
// for later messages. nullptr: there is none.
extern "C" char* lacuna_template_take(int64_t bytes);
extern "C" void lacuna_template_give(char* data);

// overrun.cpp, in Open MPI's templates only: the pass knows that library by this function.
extern "C" int lacuna_template_may_overrun(MPI_Comm comm);

// structs.cpp, in the templates of MPICH's and MPI-5's binary interfaces: the pass knows them by
// it.
extern "C" int lacuna_template_breaks_structs(int64_t bytes, int dest, MPI_Comm comm);

// preload_moves.cpp: whether the program runs with the preload, and the preload now moves messages
// between processes in one copy.
extern "C" int lacuna_template_is_preloaded();

// finalize.cpp: registers `function` to be called first in MPI_Finalize. Returns whether that
// worked.
extern "C" int lacuna_template_at_finalize(MPI_Comm_delete_attr_function* function);

namespace lacuna::compiled {

// A type of `count` units, where the last one stands one unit after the others.
struct GapType {
  MPI_Datatype type;
  MPI_Datatype unit;
  int count;
};

}  // namespace lacuna::compiled

// gaps.cpp: takes such a type for the caller alone, until it is given back; nullptr: there is none.
extern "C" lacuna::compiled::GapType* lacuna_template_take_gap(MPI_Datatype unit, int count);
extern "C" void lacuna_template_give_gap(lacuna::compiled::GapType* gap);

namespace lacuna::compiled {

// Puts `other` into the slot and returns what was there. By exchanging, only one thread gets what
// is kept there.
template <class T>
T* exchanged(T*& slot, T* other) {
  return __atomic_exchange_n(&slot, other, __ATOMIC_ACQ_REL);
}

inline bool may_have_devices() {
  return cudaMalloc != nullptr || hipMalloc != nullptr || zeMemAllocDevice != nullptr ||
         cuInit != nullptr || __tgt_register_lib != nullptr || __sycl_register_lib != nullptr;
}

// Whether the library may write a message that is too long past the receive buffer, in a program
// that survives the error (overrun.cpp).
inline bool may_overrun([[maybe_unused]] MPI_Comm comm) {
#ifdef OPEN_MPI
  return lacuna_template_may_overrun(comm) != 0;
#else
  return false;
#endif
}

// Whether so many packed bytes of several types might not be received into a struct (structs.cpp).
inline bool breaks_structs([[maybe_unused]] int64_t bytes, [[maybe_unused]] int dest,
                           [[maybe_unused]] MPI_Comm comm) {
#ifdef OPEN_MPI
  return false;
#else
  return bytes > interface::kMostOfStructs &&
         lacuna_template_breaks_structs(bytes, dest, comm) != 0;
#endif
}

// Moves the first `bytes` packed bytes, and no more, between memory and packed.
using Prefix = void(char* mem, char* packed, const int64_t* shape, int64_t bytes);
using Move = void(char* mem, char* packed, const int64_t* shape);
// A kernel for any count of elements, of a type that is registered (registry.hpp).
using Counted = int(const int64_t* numbers, char* mem, int64_t count, char* packed);

// The pass fills it: its members are those of LACUNA_BUFFER_ARG, in that order.
struct BufferArg {
  Move* pack;  // nullptr: buffer, count and type stay as they are
  Move* unpack;
  Prefix* unpack_prefix;
  const int64_t* shape;  // the numbers of type and count that only the run time knows
  char* stack;           // `room` bytes in the caller's frame
  int64_t room;
  int64_t bytes;   // packed size; huge where the arguments are not what MPI allows
  int64_t most;    // packing more bytes than these first does not pay
  char* in_place;  // not null: memory has no gaps, and these are the packed bytes
  MPI_Datatype unit;
  int64_t unit_bytes;
  int64_t is_host;      // surely no memory of a device: the buffer, and MPI_Pack's packed buffer
  int64_t one_bytes;    // packed size of one element
  int64_t* pending;     // nonblocking receive: 1 from the call until its data is unpacked
  char** held;          // nonblocking call: memory taken for its packed data, until it completes
  int64_t is_preloads;  // the preload moves it better, if the program runs with the preload
  int64_t with_gap;     // the library sends it faster with a gap (Outgoing); there is room for one

  // Whether to pack first. A NULL buffer is MPI_BOTTOM or an error, which the MPI library handles.
  bool takes(const void* buffer) const {
    return pack != nullptr && buffer != nullptr && uint64_t(bytes) <= uint64_t(most) &&
           (is_host != 0 || !may_have_devices()) &&
           (is_preloads == 0 || lacuna_template_is_preloaded() == 0);
  }
  // The same for what is sent.
  [[gnu::always_inline]] bool takes_to(const void* buffer, int dest, MPI_Comm comm) const {
    return takes(buffer) && (unit != MPI_PACKED || !breaks_structs(bytes, dest, comm));
  }
  // The same for what is received.
  [[gnu::always_inline]] bool takes_from(const void* buffer, MPI_Comm comm) const {
    return takes(buffer) && (in_place != nullptr || !may_overrun(comm));
  }
  // A place for packed data that must outlive the call; nullptr: there is no memory.
  char* later() const {
    if (in_place != nullptr) return in_place;
    if (bytes <= room) return stack;
    return *held = lacuna_template_take(bytes + gap());
  }
  void release() const {
    if (in_place != nullptr || *held == nullptr) return;
    lacuna_template_give(*held);
    *held = nullptr;
  }
  int64_t gap() const { return with_gap != 0 ? interface::kMostUnitBytes : 0; }
  int units() const { return int(bytes / unit_bytes); }
  // Pack into and unpack from the staging memory. Without gaps there is nothing to do.
  void gather(const void* buffer, char* staged) const {
    if (in_place == nullptr) pack(static_cast<char*>(const_cast<void*>(buffer)), staged, shape);
  }
  void scatter(void* buffer, char* staged, const MPI_Status& status) const;
};

// Checks that a struct is what the pass assumes: a word of 8 bytes for each member, in the list's
// order. A handle is 4 bytes on MPICH, padded to 8.
constexpr bool is_size(interface::Kind kind, size_t bytes) {
  return bytes == 8 || (kind == interface::Kind::kHandle && bytes == 4);
}
#define LACUNA_CHECK_MEMBER(STRUCT, NUMBERS, kind, name)                                  \
  static_assert(offsetof(STRUCT, name) == 8 * size_t(NUMBERS::name), "in another place"); \
  static_assert(                                                                          \
      ::lacuna::compiled::is_size(::lacuna::interface::Kind::kind, sizeof(STRUCT::name)), \
      "of another size");

#define LACUNA_CHECK(kind, name) \
  LACUNA_CHECK_MEMBER(BufferArg, interface::BufferArgMember, kind, name)
LACUNA_BUFFER_ARG(LACUNA_CHECK)
#undef LACUNA_CHECK
static_assert(sizeof(BufferArg) == 8 * size_t(interface::BufferArgMember::kCount));

// The memory for packed data during a call. `data` is null if there is none, or if buffer and type
// stay as they are.
class Staging {
 public:
  explicit Staging(const BufferArg& arg)
      : data(arg.in_place != nullptr ? arg.in_place
             : arg.bytes <= arg.room ? arg.stack
                                     : lacuna_template_take(arg.bytes + arg.gap())),
        is_ours_(arg.in_place == nullptr && arg.bytes > arg.room) {}
  ~Staging() {
    if (is_ours_ && data != nullptr) lacuna_template_give(data);
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  char* const data;

 private:
  const bool is_ours_;
};

// How packed data are sent: as so many units. From 4 KiB on, Open MPI copies data without gaps by a
// system call, and data with a gap through shared memory, which is faster where that call is slow
// (docs/experiments/2026-11-26-compiled-code.md). Where that was measured, the last unit is sent
// from one unit behind the others. The signature is the same.
class Outgoing {
 public:
  Outgoing(const BufferArg& arg, char* staged, int dest) : type(arg.unit), count(arg.units()) {
    if (arg.with_gap == 0 || arg.in_place != nullptr || count < 2 || dest == MPI_PROC_NULL) return;
    gap_ = lacuna_template_take_gap(arg.unit, count);
    if (gap_ == nullptr) return;
    char* const end = staged + arg.bytes;
    __builtin_memcpy(end, end - arg.unit_bytes, size_t(arg.unit_bytes));
    type = gap_->type;
    count = 1;
  }
  // A nonblocking call may go on using the type after it was freed.
  ~Outgoing() {
    if (gap_ != nullptr) lacuna_template_give_gap(gap_);
  }
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;

  MPI_Datatype type;
  int count;

 private:
  GapType* gap_ = nullptr;
};

// A type without gaps, of the signature of one element. A collective keeps the program's count: the
// library chooses its algorithm by count and size, and must choose the same on all ranks, also on
// those that use the program's own type.
class DenseType {
 public:
  // Uses the type of `other` (of the buffer `its`) where that has the same elements.
  explicit DenseType(const BufferArg& arg, const BufferArg* its = nullptr,
                     const DenseType* other = nullptr)
      : type(arg.unit), is_ours_(arg.one_bytes != arg.unit_bytes) {
    if (!is_ours_) return;
    if (its != nullptr && its->unit == arg.unit && its->one_bytes == arg.one_bytes) {
      type = other->type;
      is_ours_ = false;
    } else if (MPI_Type_contiguous(int(arg.one_bytes / arg.unit_bytes), arg.unit, &type) !=
                   MPI_SUCCESS ||
               MPI_Type_commit(&type) != MPI_SUCCESS) {
      type = MPI_DATATYPE_NULL;
    }
  }
  ~DenseType() {
    if (is_ours_ && type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
  }
  DenseType(const DenseType&) = delete;
  DenseType& operator=(const DenseType&) = delete;

  MPI_Datatype type;

 private:
  bool is_ours_;
};

inline char* bytes_of(const void* buffer) { return static_cast<char*>(const_cast<void*>(buffer)); }

// The bytes that came; -1: not known. Read from the status where the binary interface fixes its
// members: MPI_Get_count would be a third to a half of the instructions that a small Sendrecv takes
// beyond the library's own (docs/experiments/2026-11-26-compiled-code.md).
inline int64_t bytes_received(const MPI_Status& status) {
#if defined(MPICH_NUMVERSION)
  // The lowest bit says whether it was cancelled.
  const auto high = unsigned(status.count_hi_and_cancelled) >> 1;
  return int64_t(uint64_t(high) << 32 | unsigned(status.count_lo));
#elif defined(OPEN_MPI)
  return int64_t(status._ucount);
#else
  int received = 0;
  return MPI_Get_count(&status, MPI_BYTE, &received) == MPI_SUCCESS ? received : -1;
#endif
}

// After a receive: unpacks only the bytes that came, which may end within an element.
inline void BufferArg::scatter(void* buffer, char* staged, const MPI_Status& status) const {
  if (in_place != nullptr) return;
  const int64_t received = bytes_received(status);
  if (received == bytes) {
    unpack(bytes_of(buffer), staged, shape);
  } else if (received > 0) {
    unpack_prefix(bytes_of(buffer), staged, shape, received);
  }
}

}  // namespace lacuna::compiled

#endif  // LACUNA_OPTIMIZER_TEMPLATES_BUFFER_ARG_HPP_
