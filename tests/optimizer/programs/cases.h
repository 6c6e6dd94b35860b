// SPDX-License-Identifier: BSD-3-Clause
//
// What the generated programs are made with: memory, a digest of all that a call may have changed,
// and functions of which a compiler must not know the result. For C and C++.
#ifndef LACUNA_TESTS_OPTIMIZER_CASES_H_
#define LACUNA_TESTS_OPTIMIZER_CASES_H_

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
#define UNUSED __attribute__((unused))

// Large counts, where the library has them (Open MPI 5 has not).
#if MPI_VERSION >= 4
typedef MPI_Count Large;
typedef MPI_Count LargeAt;
#else
typedef int Large;
typedef MPI_Aint LargeAt;
#define MPI_Type_contiguous_c MPI_Type_contiguous
#define MPI_Type_vector_c MPI_Type_vector
#define MPI_Type_create_hvector_c MPI_Type_create_hvector
#define MPI_Type_create_resized_c MPI_Type_create_resized
#define MPI_Type_indexed_c MPI_Type_indexed
#define MPI_Type_create_hindexed_c MPI_Type_create_hindexed
#define MPI_Type_create_indexed_block_c MPI_Type_create_indexed_block
#define MPI_Type_create_hindexed_block_c MPI_Type_create_hindexed_block
#define MPI_Type_create_struct_c MPI_Type_create_struct
#define MPI_Type_create_subarray_c MPI_Type_create_subarray
#define MPI_Send_c MPI_Send
#define MPI_Ssend_c MPI_Ssend
#define MPI_Recv_c MPI_Recv
#define MPI_Sendrecv_c MPI_Sendrecv
#define MPI_Isend_c MPI_Isend
#define MPI_Irecv_c MPI_Irecv
#define MPI_Bcast_c MPI_Bcast
#define MPI_Alltoall_c MPI_Alltoall
#define MPI_Pack_c MPI_Pack
#define MPI_Unpack_c MPI_Unpack
#endif

#include "elsewhere.h"

// MPI's functions as a library has them: no compiler sees which they are.
#define UNSEEN(name) static UNUSED __typeof__(name)* volatile unseen_##name = name
UNSEEN(MPI_Type_contiguous);
UNSEEN(MPI_Type_contiguous_c);
UNSEEN(MPI_Type_vector);
UNSEEN(MPI_Type_vector_c);
UNSEEN(MPI_Type_create_hvector);
UNSEEN(MPI_Type_create_hvector_c);
UNSEEN(MPI_Type_indexed);
UNSEEN(MPI_Type_indexed_c);
UNSEEN(MPI_Type_create_hindexed);
UNSEEN(MPI_Type_create_hindexed_c);
UNSEEN(MPI_Type_create_indexed_block);
UNSEEN(MPI_Type_create_indexed_block_c);
UNSEEN(MPI_Type_create_hindexed_block);
UNSEEN(MPI_Type_create_hindexed_block_c);
UNSEEN(MPI_Type_create_struct);
UNSEEN(MPI_Type_create_struct_c);
UNSEEN(MPI_Type_create_subarray);
UNSEEN(MPI_Type_create_subarray_c);
UNSEEN(MPI_Type_create_resized);
UNSEEN(MPI_Type_create_resized_c);
UNSEEN(MPI_Type_dup);
UNSEEN(MPI_Type_commit);
UNSEEN(MPI_Type_free);

enum { kRoom = 1 << 18, kOrigin = kRoom / 2, kMargin = 48, kPacked = 1 << 17 };

static int g_rank;
static int g_size;
static volatile int g_zero;
static uint64_t g_digest;
static char g_in[kRoom], g_out[kRoom], g_packed[kPacked];

// The same number, but not for a compiler.
static UNUSED NOINLINE int opaque(int number) { return number + g_zero; }
// Somebody else has the address now.
static UNUSED NOINLINE void touch(void* address) {
  __asm__ volatile("" : : "r"(address) : "memory");
}

static NOINLINE void digest_bytes(const void* bytes, size_t count) {
  const unsigned char* at = (const unsigned char*)bytes;
  uint64_t digest = g_digest;
  for (size_t i = 0; i < count; ++i) digest = (digest ^ at[i]) * 0x100000001B3u;
  g_digest = digest;
}

static NOINLINE void digest_int(int64_t number) { digest_bytes(&number, sizeof(number)); }

static UNUSED NOINLINE void digest_elements(const MPI_Status* status, MPI_Datatype type) {
  int elements = -7;
  MPI_Get_elements(status, type, &elements);
  digest_int(elements);
}

static UNUSED NOINLINE void digest_status(const MPI_Status* status, MPI_Datatype type) {
  int count = -7, bytes = -7;
  MPI_Get_count(status, type, &count);
  MPI_Get_count(status, MPI_BYTE, &bytes);
  digest_int(status->MPI_SOURCE);
  digest_int(status->MPI_TAG);
  digest_int(count);
  digest_int(bytes);
}

// Of calls that leave the field alone.
static UNUSED void digest_error(const MPI_Status* status) { digest_int(status->MPI_ERROR); }

static UNUSED MPI_Status blank_status(void) {
  MPI_Status status;
  memset(&status, 0, sizeof(status));
  return status;
}

// New data in [low, high) around both origins, and a margin around it.
static UNUSED NOINLINE void renew(int low, int high, unsigned seed) {
  for (int i = low - kMargin; i < high + kMargin; ++i) {
    const unsigned mixed = (unsigned)i * 2654435761u + seed * 40503u;
    g_in[kOrigin + i] = (char)(mixed >> 13);
    g_out[kOrigin + i] = (char)(mixed >> 21 ^ 0x55);
  }
}

static UNUSED NOINLINE void look(int low, int high) {
  digest_bytes(g_out + kOrigin + low - kMargin, (size_t)(high - low + 2 * kMargin));
}

static UNUSED NOINLINE void look_in(int low, int high) {
  digest_bytes(g_in + kOrigin + low - kMargin, (size_t)(high - low + 2 * kMargin));
}

#ifdef __cplusplus
// A function that may throw, and an object whose end can be seen: calls of MPI beside it are
// followed by clean-up.
static UNUSED NOINLINE void perhaps_throw(int number) {
  if (opaque(number) != 0) throw number;
}

class Witness {
 public:
  explicit Witness(int number) : number_(number) { digest_int(number); }
  ~Witness() { digest_int(-number_); }
  Witness(const Witness&) = delete;

 private:
  int number_;
};
#endif

#define IN ((void*)(g_in + kOrigin))
#define OUT ((void*)(g_out + kOrigin))

static void start(int argc, char** argv) {
  g_zero = argc > 1000;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_size);
  if (g_size != 2) MPI_Abort(MPI_COMM_WORLD, 1);
}

// Both ranks' digests of a case, as it ends: what is missing has not come to its end.
static NOINLINE void run_case(int number, void (*body)(void)) {
  uint64_t digests[2] = {0, 0};
  g_digest = 0xCBF29CE484222325u;
  memset(g_packed, 0x33, sizeof(g_packed));
  body();
  MPI_Gather(&g_digest, 1, MPI_UINT64_T, digests, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  if (g_rank != 0) return;
  printf("case %d %016llx %016llx\n", number, (unsigned long long)digests[0],
         (unsigned long long)digests[1]);
  fflush(stdout);
}

#endif  // LACUNA_TESTS_OPTIMIZER_CASES_H_
