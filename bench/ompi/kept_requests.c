// SPDX-License-Identifier: BSD-3-Clause
//
// The cache of Ogawa & Matsuoka 1996 (4.1), as a preload library: MPI_Send and MPI_Recv with
// repeated arguments become MPI_Start and MPI_Wait of a persistent request. It is for comparison
// only and is not part of lacuna. Preloaded after lacuna, it also gets the packed messages that
// lacuna makes. For programs with one thread.
//
// Arguments are noted when a call with them has succeeded, and get a request at the second call, so
// that calls that are not repeated cost no request. Only predefined types: the authors left derived
// ones out, as comparing them costs more than it gains, and a request would keep them alive.
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  const void* buf;
  int count;
  MPI_Datatype datatype;
  int peer;
  int tag;
  MPI_Comm comm;
  int sends;
} Arguments;

typedef enum { kFree, kNoted, kMade, kRefused } State;

typedef struct {
  Arguments arguments;
  MPI_Request request;  // of kMade
  State state;
  uint64_t last_use;
} Entry;

// How many different calls a program may make between two with the same arguments; with more, the
// oldest entry is replaced.
enum { kSetBits = 6, kWays = 4 };
static Entry g_sets[1 << kSetBits][kWays];
static uint64_t g_uses;
static int64_t g_calls, g_requests;
static int g_is_on = 1;

// For benchmarks: 0 sends every call straight to the library.
void kept_requests_switch(int on) { g_is_on = on; }

// How many calls were done by kept requests, or (`made` != 0) how many requests were made.
int64_t kept_requests_count(int made) { return made ? g_requests : g_calls; }

static Entry* set_of(const Arguments* the) {
  const uint64_t parts[] = {(uintptr_t)the->buf, (unsigned)the->count, (uintptr_t)the->datatype,
                            (unsigned)the->peer, (unsigned)the->tag,   (uintptr_t)the->comm,
                            (unsigned)the->sends};
  uint64_t hash = 0;
  for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); ++i) {
    hash = (hash ^ parts[i]) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 32;
  }
  return g_sets[hash & ((1U << kSetBits) - 1)];
}

static int is_same(const Arguments* one, const Arguments* other) {
  return one->buf == other->buf && one->count == other->count && one->datatype == other->datatype &&
         one->peer == other->peer && one->tag == other->tag && one->comm == other->comm &&
         one->sends == other->sends;
}

static void forget(Entry* entry) {
  if (entry->state == kMade) PMPI_Request_free(&entry->request);
  entry->state = kFree;
  entry->last_use = 0;
}

static Entry* find(const Arguments* the) {
  Entry* set = set_of(the);
  for (Entry* entry = set; entry != set + kWays; ++entry) {
    if (entry->state == kFree || !is_same(&entry->arguments, the)) continue;
    entry->last_use = ++g_uses;
    return entry;
  }
  return NULL;
}

static void note(const Arguments* the) {
  Entry* set = set_of(the);
  Entry* oldest = set;
  for (Entry* entry = set; entry != set + kWays; ++entry) {
    if (entry->last_use < oldest->last_use) oldest = entry;
  }
  forget(oldest);
  oldest->arguments = *the;
  oldest->state = kNoted;
  oldest->last_use = ++g_uses;
}

static int is_predefined(MPI_Datatype datatype) {
  int integers, addresses, types, combiner = MPI_UNDEFINED;
  PMPI_Type_get_envelope(datatype, &integers, &addresses, &types, &combiner);
  return combiner == MPI_COMBINER_NAMED;
}

static void make(Entry* entry) {
  const Arguments* the = &entry->arguments;
  entry->state = kRefused;
  if (the->peer == MPI_PROC_NULL || !is_predefined(the->datatype)) return;
  const int code = the->sends ? PMPI_Send_init(the->buf, the->count, the->datatype, the->peer,
                                               the->tag, the->comm, &entry->request)
                              : PMPI_Recv_init((void*)the->buf, the->count, the->datatype,
                                               the->peer, the->tag, the->comm, &entry->request);
  if (code != MPI_SUCCESS) return;
  entry->state = kMade;
  ++g_requests;
}

// The request for the call; NULL: the library does the call, and it is noted if `*is_new`.
static Entry* kept(const Arguments* the, int* is_new) {
  Entry* entry = g_is_on ? find(the) : NULL;
  *is_new = g_is_on && entry == NULL;
  if (entry != NULL && entry->state == kNoted) make(entry);
  return entry != NULL && entry->state == kMade ? entry : NULL;
}

static int start_and_wait(Entry* entry, MPI_Status* status) {
  ++g_calls;
  const int code = PMPI_Start(&entry->request);
  return code == MPI_SUCCESS ? PMPI_Wait(&entry->request, status) : code;
}

int MPI_Send(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  const Arguments the = {buf, count, datatype, dest, tag, comm, 1};
  int is_new;
  Entry* entry = kept(&the, &is_new);
  if (entry != NULL) return start_and_wait(entry, MPI_STATUS_IGNORE);
  const int code = PMPI_Send(buf, count, datatype, dest, tag, comm);
  if (is_new && code == MPI_SUCCESS) note(&the);
  return code;
}

int MPI_Recv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
             MPI_Status* status) {
  const Arguments the = {buf, count, datatype, source, tag, comm, 0};
  int is_new;
  Entry* entry = kept(&the, &is_new);
  if (entry != NULL) return start_and_wait(entry, status);
  const int code = PMPI_Recv(buf, count, datatype, source, tag, comm, status);
  if (is_new && code == MPI_SUCCESS) note(&the);
  return code;
}

// A request would keep its communicator alive.
static void forget_all(const MPI_Comm* comm) {
  for (int set = 0; set < 1 << kSetBits; ++set) {
    for (int way = 0; way < kWays; ++way) {
      Entry* entry = &g_sets[set][way];
      if (comm == NULL || entry->arguments.comm == *comm) forget(entry);
    }
  }
}

int MPI_Comm_free(MPI_Comm* comm) {
  forget_all(comm);
  return PMPI_Comm_free(comm);
}

int MPI_Comm_disconnect(MPI_Comm* comm) {
  forget_all(comm);
  return PMPI_Comm_disconnect(comm);
}

int MPI_Finalize(void) {
  forget_all(NULL);
  return PMPI_Finalize();
}
