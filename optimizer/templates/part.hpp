// SPDX-License-Identifier: BSD-3-Clause
//
// Part: what the pass knows about one (buffer, count, type) of a call, as the templates see it. The
// pass fills one beside each call and inlines the template there, so that every member which it
// knew at compile time is a constant, and what that decides is gone from the code.
//
// A template takes the arguments of its MPI function, and one `const Part&` for each triple. It
// does what the function does: the same messages, statuses and errors. In doubt it calls the
// function with the arguments that the program gave: as lacuna_original_MPI_name, for which the
// pass puts what the program called, C's or Fortran's. It is called LACUNA_TEMPLATE(MPI_name);
// it stands in one of the *.cpp here and in optimizer/pass/functions.cpp
// (docs/internals/optimizer.md).
#ifndef LACUNA_OPTIMIZER_TEMPLATES_PART_HPP_
#define LACUNA_OPTIMIZER_TEMPLATES_PART_HPP_

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#define LACUNA_TEMPLATE(name) extern "C" [[gnu::always_inline]] int lacuna_template_##name
#define LACUNA_ORIGINAL(name) extern "C" decltype(name) lacuna_original_##name

// Present in programs that have memory of a device.
extern "C" {
[[gnu::weak]] int cudaMalloc(void**, size_t);
[[gnu::weak]] int hipMalloc(void**, size_t);
[[gnu::weak]] int zeMemAllocDevice();
[[gnu::weak]] int cuInit(unsigned);            // CUDA's driver, without its runtime
[[gnu::weak]] void __tgt_register_lib(void*);  // OpenMP's offloading
[[gnu::weak]] void __sycl_register_lib(void*);
}

// Memory for what has no room in the frame (memory.cpp), which a program keeps from one message to
// the next; nullptr: there is none.
extern "C" char* lacuna_template_take(int64_t bytes);
extern "C" void lacuna_template_give(char* data);

// overrun.cpp; Open MPI's templates only, by which the pass knows that library.
extern "C" int lacuna_template_may_overrun(MPI_Comm comm);

// Whether the program runs with the preload, and that moves data between processes in one copy now
// (preload.cpp).
extern "C" int lacuna_template_is_preloaded();

// finalize.cpp: whether MPI_Finalize will call that, before it does anything else.
extern "C" int lacuna_template_at_finalize(MPI_Comm_delete_attr_function* told);

namespace lacuna {

// `count` units, of which the last stands one apart.
struct GapType {
  MPI_Datatype type;
  MPI_Datatype unit;
  int count;
};

}  // namespace lacuna

// gaps.cpp: the caller's until it gives it back; nullptr: there is none.
extern "C" lacuna::GapType* lacuna_template_take_gap(MPI_Datatype unit, int count);
extern "C" void lacuna_template_give_gap(lacuna::GapType* gap);

namespace lacuna {

// What is kept for the next message goes from hand to hand, so that one thread alone has it.
template <class T>
T* exchanged(T*& slot, T* other) {
  return __atomic_exchange_n(&slot, other, __ATOMIC_ACQ_REL);
}

inline bool may_have_devices() {
  return cudaMalloc != nullptr || hipMalloc != nullptr || zeMemAllocDevice != nullptr ||
         cuInit != nullptr || __tgt_register_lib != nullptr || __sycl_register_lib != nullptr;
}

// Whether a message that is too long may be written past what is received into, and the program go
// on.
inline bool may_overrun([[maybe_unused]] MPI_Comm comm) {
#ifdef OPEN_MPI
  return lacuna_template_may_overrun(comm) != 0;
#else
  return false;
#endif
}

// Moves the first `bytes` packed bytes, and no more, between memory and packed.
using Prefix = void(char* mem, char* packed, const int64_t* shape, int64_t bytes);
using Move = void(char* mem, char* packed, const int64_t* shape);
// A kernel that is registered (register.cpp): of any count of elements.
using Counted = int(const int64_t* numbers, char* mem, int64_t count, char* packed);

constexpr int64_t kMostUnit = 64;  // bytes of any basic type

// The order of members is known to optimizer/pass/part.cpp.
struct Part {
  Move* pack;  // nullptr: the triple is to be left as it is
  Move* unpack;
  Prefix* unpack_prefix;
  const int64_t* shape;  // the run-time numbers of the type and the count
  char* stack;           // `room` bytes in the caller's frame
  int64_t room;
  int64_t bytes;   // packed size; huge where the arguments are not what MPI allows
  int64_t most;    // more than these are not worth packing first
  char* in_place;  // where the packed bytes already are: memory has no gaps
  MPI_Datatype unit;
  int64_t unit_bytes;
  int64_t is_host;    // the buffer, and what is packed in the program's own, is surely no device's
  int64_t one_bytes;  // packed size of one element
  int64_t* pending;  // of a nonblocking receive: set while data is to be unpacked when it completes
  char** held;       // of a nonblocking one: what was taken for it, until it completes
  int64_t is_preloads;  // the preload moves it better, where it is there
  int64_t is_apart;     // the library sends it faster with a gap (Outgoing): there is room for one

  // Whether to pack first. NULL is MPI_BOTTOM or an error; the MPI library knows which.
  bool takes(const void* buffer) const {
    return pack != nullptr && buffer != nullptr && uint64_t(bytes) <= uint64_t(most) &&
           (is_host != 0 || !may_have_devices()) &&
           (is_preloads == 0 || lacuna_template_is_preloaded() == 0);
  }
  // The same for what is received.
  [[gnu::always_inline]] bool takes_from(const void* buffer, MPI_Comm comm) const {
    return takes(buffer) && (in_place != nullptr || !may_overrun(comm));
  }
  // Where packed data stand that must outlive the call; nullptr: there is no memory.
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
  int64_t gap() const { return is_apart != 0 ? kMostUnit : 0; }
  int units() const { return int(bytes / unit_bytes); }
  // Into and out of what is staged; nothing to do where memory has no gaps.
  void gather(const void* buffer, char* staged) const {
    if (in_place == nullptr) pack(static_cast<char*>(const_cast<void*>(buffer)), staged, shape);
  }
  void scatter(void* buffer, char* staged, const MPI_Status& status) const;
};

// Where packed data stand during a call. `data` is null where there is no memory, and where the
// triple stays as it is.
class Staging {
 public:
  explicit Staging(const Part& part)
      : data(part.in_place != nullptr  ? part.in_place
             : part.bytes <= part.room ? part.stack
                                       : lacuna_template_take(part.bytes + part.gap())),
        is_ours_(part.in_place == nullptr && part.bytes > part.room) {}
  ~Staging() {
    if (is_ours_ && data != nullptr) lacuna_template_give(data);
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  char* const data;

 private:
  const bool is_ours_;
};

// How staged data are sent: as so many units. Open MPI copies what has no gaps by a system call
// from 4 KiB on, and what has a gap through memory that both processes have, which is faster where
// that call is slow (EPYC guest, two ranks, a round trip with packing and unpacking: 4 KiB 8.0 and
// 5.0 us, 64 KiB 47 and 22 us, 2 MiB 1102 and 554 us). So where that was measured the last unit
// stands one unit apart from the others. The signature is the same.
class Outgoing {
 public:
  Outgoing(const Part& part, char* staged, int dest) : type(part.unit), count(part.units()) {
    if (part.is_apart == 0 || part.in_place != nullptr || count < 2 || dest == MPI_PROC_NULL)
      return;
    gap_ = lacuna_template_take_gap(part.unit, count);
    if (gap_ == nullptr) return;
    char* const end = staged + part.bytes;
    __builtin_memcpy(end, end - part.unit_bytes, size_t(part.unit_bytes));
    type = gap_->type;
    count = 1;
  }
  // A nonblocking call goes on with the type, also if it is freed.
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

// A type without gaps, of the signature of one element. A collective goes on with the program's
// count of these: by count and size the MPI library chooses how, and must choose the same on all
// ranks, of which some may have the type itself.
class Twin {
 public:
  // Another one's type is taken where that has the same elements.
  explicit Twin(const Part& part, const Part* its = nullptr, const Twin* other = nullptr)
      : type(part.unit), is_ours_(part.one_bytes != part.unit_bytes) {
    if (!is_ours_) return;
    if (its != nullptr && its->unit == part.unit && its->one_bytes == part.one_bytes) {
      type = other->type;
      is_ours_ = false;
    } else if (MPI_Type_contiguous(int(part.one_bytes / part.unit_bytes), part.unit, &type) !=
                   MPI_SUCCESS ||
               MPI_Type_commit(&type) != MPI_SUCCESS) {
      type = MPI_DATATYPE_NULL;
    }
  }
  ~Twin() {
    if (is_ours_ && type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
  }
  Twin(const Twin&) = delete;
  Twin& operator=(const Twin&) = delete;

  MPI_Datatype type;

 private:
  bool is_ours_;
};

inline char* bytes_of(const void* buffer) { return static_cast<char*>(const_cast<void*>(buffer)); }

// The bytes that came; -1: not known. Where mpi.h tells what a status is made of, and the binary
// interface holds it to that, they are read there: MPI_Get_count is 94 instructions on MPICH 5 and
// 41 on Open MPI 5, of 183 and 128 that a Sendrecv of two columns of 16 doubles takes beyond the
// library's own (callgrind).
inline int64_t bytes_received(const MPI_Status& status) {
#if defined(MPICH_NUMVERSION)
  const auto high = unsigned(status.count_hi_and_cancelled) >> 1;  // the lowest bit: cancelled
  return int64_t(uint64_t(high) << 32 | unsigned(status.count_lo));
#elif defined(OPEN_MPI)
  return int64_t(status._ucount);
#else
  int received = 0;
  return MPI_Get_count(&status, MPI_BYTE, &received) == MPI_SUCCESS ? received : -1;
#endif
}

// After a receive: only what came is unpacked, down to a part of an element.
inline void Part::scatter(void* buffer, char* staged, const MPI_Status& status) const {
  if (in_place != nullptr) return;
  const int64_t received = bytes_received(status);
  if (received == bytes) {
    unpack(bytes_of(buffer), staged, shape);
  } else if (received > 0) {
    unpack_prefix(bytes_of(buffer), staged, shape, received);
  }
}

}  // namespace lacuna

#endif  // LACUNA_OPTIMIZER_TEMPLATES_PART_HPP_
