// SPDX-License-Identifier: BSD-3-Clause
// Gives the data of programs gaps. What a program sends or receives as elements of a predefined
// type is copied into memory where as many unused bytes follow each element, and sent or received
// by a type for that. So programs that send few derived types test what lacuna does with gaps;
// peers see no difference. A program calls these functions where MPI_Send is defined as GPI_Send
// and so on (suites.py --gaps). They are no functions of MPI that stand before lacuna's, as lacuna
// sends no tokens then.
#include <mpi.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { kLeast = 81, kMost = 256 << 20 };  // longer than a token; bytes
static atomic_long g_kept;                // for calls that do not wait: never freed

static size_t size_of(MPI_Datatype type) {
  if (type == MPI_BYTE || type == MPI_CHAR || type == MPI_SIGNED_CHAR || type == MPI_UNSIGNED_CHAR)
    return 1;
  if (type == MPI_SHORT || type == MPI_UNSIGNED_SHORT) return 2;
  if (type == MPI_INT || type == MPI_UNSIGNED || type == MPI_FLOAT) return 4;
  if (type == MPI_LONG || type == MPI_UNSIGNED_LONG || type == MPI_DOUBLE || type == MPI_LONG_LONG)
    return 8;
  return type == MPI_C_DOUBLE_COMPLEX ? 16 : 0;
}

typedef struct {
  char *given, *copy;  // null: the data stay as they are
  size_t size, count;
  MPI_Datatype type;
  int is_kept;
} Data;

static void move(const Data* data, int is_out) {
  for (size_t i = 0; i < data->count; ++i) {
    char* const here = data->given + data->size * i;
    char* const there = data->copy + 2 * data->size * i;
    memcpy(is_out ? there : here, is_out ? here : there, data->size);
  }
}

static Data with_gaps(const void* buf, MPI_Count count, MPI_Datatype type, int is_kept) {
  Data data = {(char*)buf, NULL, size_of(type), (size_t)count, type, is_kept};
  if (data.size == 0 || buf == NULL || buf == MPI_BOTTOM || buf == MPI_IN_PLACE || count <= 0 ||
      data.size * data.count < kLeast || data.size * data.count > kMost)
    return data;
  const size_t bytes = 2 * data.size * data.count;
  if (is_kept && atomic_fetch_add(&g_kept, (long)bytes) > kMost) return data;
  data.copy = malloc(bytes);
  if (data.copy == NULL) return data;
  MPI_Type_create_resized(type, 0, 2 * (MPI_Aint)data.size, &data.type);
  MPI_Type_commit(&data.type);
  memset(data.copy, 0x5a, bytes);
  move(&data, 1);
  return data;
}

static void* place(const Data* data) { return data->copy != NULL ? data->copy : data->given; }

// `is_in`: what has been received is the program's.
static void end(Data* data, int is_in) {
  if (data->copy == NULL) return;
  if (is_in) move(data, 0);
  MPI_Type_free(&data->type);
  if (!data->is_kept) free(data->copy);
}

static MPI_Count peers_of(MPI_Comm comm) {
  int peers = 0, inter = 0;
  if (comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS) return 0;
  inter ? PMPI_Comm_remote_size(comm, &peers) : PMPI_Comm_size(comm, &peers);
  return peers;
}

#define TO MPI_Datatype type, int to, int tag, MPI_Comm comm
#define FROM MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm
#define SENT(data) place(&data), count, data.type

#define SEND(name, Count)                                 \
  int G##name(const void* buf, Count count, TO) {         \
    Data out = with_gaps(buf, count, type, 0);            \
    const int result = M##name(SENT(out), to, tag, comm); \
    end(&out, 0);                                         \
    return result;                                        \
  }
#define ISEND(name, Count)                                          \
  int G##name(const void* buf, Count count, TO, MPI_Request* req) { \
    Data out = with_gaps(buf, count, type, 1);                      \
    const int result = M##name(SENT(out), to, tag, comm, req);      \
    end(&out, 0);                                                   \
    return result;                                                  \
  }
#define RECV(name, Count)                                                                  \
  int G##name(void* in_buf, Count in_count, FROM, MPI_Status* status) {                    \
    Data in = with_gaps(in_buf, in_count, in_type, 0);                                     \
    const int result = M##name(place(&in), in_count, in.type, from, in_tag, comm, status); \
    end(&in, 1);                                                                           \
    return result;                                                                         \
  }
#define SENDRECV(name, Count)                                                                   \
  int G##name(const void* buf, Count count, MPI_Datatype type, int to, int tag, void* in_buf,   \
              Count in_count, FROM, MPI_Status* status) {                                       \
    Data out = with_gaps(buf, count, type, 0), in = with_gaps(in_buf, in_count, in_type, 0);    \
    const int result =                                                                          \
        M##name(SENT(out), to, tag, place(&in), in_count, in.type, from, in_tag, comm, status); \
    end(&out, 0);                                                                               \
    end(&in, 1);                                                                                \
    return result;                                                                              \
  }
#define ISENDRECV(name, Count)                                                                \
  int G##name(const void* buf, Count count, MPI_Datatype type, int to, int tag, void* in_buf, \
              Count in_count, FROM, MPI_Request* req) {                                       \
    Data out = with_gaps(buf, count, type, 1);                                                \
    const int result =                                                                        \
        M##name(SENT(out), to, tag, in_buf, in_count, in_type, from, in_tag, comm, req);      \
    end(&out, 0);                                                                             \
    return result;                                                                            \
  }
#define ALLTOALL(name, Count)                                                                \
  int G##name(const void* buf, Count count, MPI_Datatype type, void* in_buf, Count in_count, \
              MPI_Datatype in_type, MPI_Comm comm) {                                         \
    const MPI_Count peers = peers_of(comm);                                                  \
    Data out = with_gaps(buf, count * peers, type, 0);                                       \
    Data in = with_gaps(in_buf, in_count * peers, in_type, 0);                               \
    const int result = M##name(SENT(out), place(&in), in_count, in.type, comm);              \
    end(&out, 0);                                                                            \
    end(&in, 1);                                                                             \
    return result;                                                                           \
  }
#define ALLGATHER(name, Count)                                                               \
  int G##name(const void* buf, Count count, MPI_Datatype type, void* in_buf, Count in_count, \
              MPI_Datatype in_type, MPI_Comm comm) {                                         \
    Data out = with_gaps(buf, count, type, 0);                                               \
    Data in = with_gaps(in_buf, in_count * peers_of(comm), in_type, 0);                      \
    const int result = M##name(SENT(out), place(&in), in_count, in.type, comm);              \
    end(&out, 0);                                                                            \
    end(&in, 1);                                                                             \
    return result;                                                                           \
  }
#define BCAST(name, Count)                                                          \
  int G##name(void* buf, Count count, MPI_Datatype type, int root, MPI_Comm comm) { \
    Data data = with_gaps(buf, count, type, 0);                                     \
    const int result = M##name(SENT(data), root, comm);                             \
    end(&data, 1);                                                                  \
    return result;                                                                  \
  }
#define ALL(ending, Count)               \
  SEND(PI_Send##ending, Count)           \
  SEND(PI_Ssend##ending, Count)          \
  SEND(PI_Rsend##ending, Count)          \
  ISEND(PI_Isend##ending, Count)         \
  ISEND(PI_Issend##ending, Count)        \
  ISEND(PI_Irsend##ending, Count)        \
  RECV(PI_Recv##ending, Count)           \
  SENDRECV(PI_Sendrecv##ending, Count)   \
  ISENDRECV(PI_Isendrecv##ending, Count) \
  ALLTOALL(PI_Alltoall##ending, Count)   \
  ALLGATHER(PI_Allgather##ending, Count) \
  BCAST(PI_Bcast##ending, Count)

ALL(, int)
#ifndef OPEN_MPI
ALL(_c, MPI_Count)
#endif
