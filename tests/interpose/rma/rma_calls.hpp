// SPDX-License-Identifier: BSD-3-Clause
//
// One-sided communication between the ranks of a ring, in every mode of synchronisation. Results
// are compared with expected ones: each rank can compute what its neighbours' memory holds.
#ifndef LACUNA_TESTS_INTERPOSE_RMA_RMA_CALLS_HPP_
#define LACUNA_TESTS_INTERPOSE_RMA_RMA_CALLS_HPP_

#include <algorithm>
#include <string>
#include <vector>

#include "tests/interpose/harness/harness.hpp"

namespace test {

enum class Epoch {
  kFence,
  kStart,
  kLock,
  kLockAll,
  kFlush,
  kFlushAll,
  kFlushLocal,
  kFlushLocalAll,
  kCount
};
// Where operations with requests are allowed.
inline bool is_passive(Epoch epoch) { return epoch >= Epoch::kLock; }

void begin(Epoch epoch, MPI_Win win, int target);
// Completes at the origin: afterwards its memory is the program's, and holds what a get has
// fetched.
void complete(Epoch epoch, MPI_Win win, int target);
// Completes at the target: afterwards its memory may be read there.
void end(Epoch epoch, MPI_Win win);

enum class Kind { kPut, kGet, kReplace, kSum, kFetch, kFetchAndReplace, kFetchAndSum, kCount };
// Whether data are returned to the origin.
inline bool brings(Kind kind) { return kind == Kind::kGet || kind >= Kind::kFetch; }
// Without operations on numbers.
inline bool is_move(Kind kind) { return kind != Kind::kSum && kind != Kind::kFetchAndSum; }
// The name of the function that does it.
std::string function_of(Kind kind, bool request, bool large);

struct RmaCall {
  void* origin;
  void* result;
  int count;
  MPI_Datatype type;
  int target;
  MPI_Aint displacement;
  int target_count;
  MPI_Datatype target_type;
  MPI_Win win;
};
// `request` null: the form without one.
int issue(Kind kind, const RmaCall& call, MPI_Request* request, bool large = false);
bool has_large_rma();

// Memory of a rank: a pattern in which every byte of every rank differs.
struct Region {
  static constexpr int kBytes = 1 << 14;
  static constexpr MPI_Aint kMiddle = kBytes / 2;
  explicit Region(unsigned seed) : bytes(kBytes) { fill(seed); }
  void fill(unsigned seed);
  unsigned char* base() { return bytes.data() + kMiddle; }
  bool operator==(const Region&) const = default;

  std::vector<unsigned char> bytes;
};

constexpr int kCount = 3;

// A window over memory of its own, in bytes; or over memory that all share, in doubles.
struct Window {
  enum class Memory { kOwn, kShared };
  explicit Window(Memory which = Memory::kOwn) : memory(0) {
    if (which == Memory::kOwn) {
      base = memory.bytes.data();
      MPI_Win_create(base, Region::kBytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    } else {
      unit = sizeof(double);
      MPI_Win_allocate_shared(Region::kBytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    }
  }
  ~Window() { MPI_Win_free(&win); }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  void put(const Region& bytes) { std::copy(bytes.bytes.begin(), bytes.bytes.end(), base); }
  bool holds(const Region& bytes) const {
    return std::equal(bytes.bytes.begin(), bytes.bytes.end(), base);
  }
  MPI_Aint middle() const { return Region::kMiddle / unit; }

  Region memory;
  unsigned char* base = nullptr;
  int unit = 1;
  MPI_Win win;
};

inline unsigned seed(int rank, int what) { return static_cast<unsigned>(rank * 16 + what); }

// With gaps, committed.
MPI_Datatype column_of_ints();

inline bool is_older_mpich() { return !unpacks_nothing(); }
bool is_open_mpi();

// Computes the expected memory of target and origin, by MPI_Pack and MPI_Unpack of the library.
void expect(Kind kind, MPI_Datatype type, int count, MPI_Datatype target_type, int target_count,
            Region* origin, Region* result, Region* target);

}  // namespace test

#endif  // LACUNA_TESTS_INTERPOSE_RMA_RMA_CALLS_HPP_
