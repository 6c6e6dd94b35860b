// SPDX-License-Identifier: BSD-3-Clause
//
// The exchanges, as in programs: a type made where it is used, and a loop by hand that does the
// same. SITES is the name of this copy's table.
#include "sites.h"

#include <stddef.h>
#include <string.h>

enum { kTag = 1, kGap = 8, kHalo = 1 };

struct Particle {
  int kind;
  double at[3];
  char name[4];
};

// MPI's functions by a pointer, so that the compiler does not see which function is called.
static int (*volatile g_send)(const void*, int, MPI_Datatype, int, int, MPI_Comm) = MPI_Send;
static int (*volatile g_receive)(void*, int, MPI_Datatype, int, int, MPI_Comm,
                                 MPI_Status*) = MPI_Recv;

static inline MPI_Datatype vector(int n, int length, int stride, MPI_Datatype of) {
  MPI_Datatype type;
  MPI_Type_vector(n, length, stride, of, &type);
  return type;
}

static inline MPI_Datatype places(int n, int length, const int* list, MPI_Datatype of) {
  MPI_Datatype type;
  MPI_Type_create_indexed_block(n, length, list, of, &type);
  return type;
}

// As vector(), but of four arrays: a face of each.
static inline MPI_Datatype faces(int n, int length, int stride) {
  const int ones[4] = {1, 1, 1, 1};
  const MPI_Aint part = (MPI_Aint)(n / 4) * stride * (MPI_Aint)sizeof(float);
  const MPI_Aint at[4] = {0, part, 2 * part, 3 * part};
  MPI_Datatype type, face = vector(n / 4, length, stride, MPI_FLOAT);
  const MPI_Datatype all[4] = {face, face, face, face};
  MPI_Type_create_struct(4, ones, at, all, &type);
  MPI_Type_free(&face);
  return type;
}

static inline MPI_Datatype plane(int n, int length) {
  const struct Plane p = plane_of(n, length);
  MPI_Datatype type, row = vector(p.side, length, p.column, MPI_DOUBLE);
  MPI_Type_create_hvector(p.side, 1, (MPI_Aint)p.row * (MPI_Aint)sizeof(double), row, &type);
  MPI_Type_free(&row);
  return type;
}

static inline MPI_Datatype particle(void) {
  const int lengths[3] = {1, 3, 4};
  const MPI_Aint at[3] = {offsetof(struct Particle, kind), offsetof(struct Particle, at),
                          offsetof(struct Particle, name)};
  const MPI_Datatype types[3] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
  MPI_Datatype fields, type;
  MPI_Type_create_struct(3, lengths, at, types, &fields);
  MPI_Type_create_resized(fields, 0, sizeof(struct Particle), &type);
  MPI_Type_free(&fields);
  return type;
}

#define PING_PONG(name, made, count)                                                               \
  static double name##_derived(const struct Trip* t) {                                             \
    MPI_Datatype type = made;                                                                      \
    MPI_Type_commit(&type);                                                                        \
    const int bytes = t->receives_packed ? name##_pack(t) : 0;                                     \
    const double begin = MPI_Wtime();                                                              \
    for (int i = 0; i < 2 * t->rounds; ++i) {                                                      \
      if (t->is_first == (i % 2 == 0)) {                                                           \
        if (t->plain_send)                                                                         \
          g_send(t->sent, count, type, t->partner, kTag, MPI_COMM_WORLD);                          \
        else                                                                                       \
          MPI_Send(t->sent, count, type, t->partner, kTag, MPI_COMM_WORLD);                        \
      } else if (t->receives_packed) {                                                             \
        MPI_Recv(t->packed, bytes, MPI_PACKED, t->partner, kTag, MPI_COMM_WORLD,                   \
                 MPI_STATUS_IGNORE);                                                               \
      } else if (t->plain_receive) {                                                               \
        g_receive(t->got, count, type, t->partner, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);       \
      } else {                                                                                     \
        MPI_Recv(t->got, count, type, t->partner, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);        \
      }                                                                                            \
    }                                                                                              \
    const double seconds = MPI_Wtime() - begin;                                                    \
    MPI_Type_free(&type);                                                                          \
    if (t->receives_packed) name##_unpack(t);                                                      \
    return seconds;                                                                                \
  }                                                                                                \
  static double name##_by_hand(const struct Trip* t) {                                             \
    const int bytes = name##_pack(t);                                                              \
    const double begin = MPI_Wtime();                                                              \
    for (int i = 0; i < 2 * t->rounds; ++i) {                                                      \
      if (t->is_first == (i % 2 == 0)) {                                                           \
        name##_pack(t);                                                                            \
        MPI_Send(t->packed, bytes, MPI_BYTE, t->partner, kTag, MPI_COMM_WORLD);                    \
      } else {                                                                                     \
        MPI_Recv(t->packed, bytes, MPI_BYTE, t->partner, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); \
        name##_unpack(t);                                                                          \
      }                                                                                            \
    }                                                                                              \
    return MPI_Wtime() - begin;                                                                    \
  }

// `length` elements at each of n places.
#define ELEMENTS(name, element, length, place)                                     \
  static int name##_pack(const struct Trip* t) {                                   \
    const element* restrict from = (const element*)t->sent;                        \
    element* restrict to = (element*)t->packed;                                    \
    for (int i = 0; i < t->n; ++i)                                                 \
      for (int k = 0; k < (length); ++k) to[i * (length) + k] = from[(place) + k]; \
    return t->n * (length) * (int)sizeof(element);                                 \
  }                                                                                \
  static void name##_unpack(const struct Trip* t) {                                \
    const element* restrict from = (const element*)t->packed;                      \
    element* restrict to = (element*)t->got;                                       \
    for (int i = 0; i < t->n; ++i)                                                 \
      for (int k = 0; k < (length); ++k) to[(place) + k] = from[i * (length) + k]; \
  }
#define PLANES(name, length)                                                    \
  static int name##_pack(const struct Trip* t) {                                \
    const struct Plane p = plane_of(t->n, length);                              \
    double* restrict to = (double*)t->packed;                                   \
    for (int i = 0; i < p.side; ++i) {                                          \
      const double* restrict from = (const double*)t->sent + i * (size_t)p.row; \
      for (int j = 0; j < p.side; ++j)                                          \
        for (int k = 0; k < (length); ++k) *to++ = from[j * p.column + k];      \
    }                                                                           \
    return t->n * (length) * (int)sizeof(double);                               \
  }                                                                             \
  static void name##_unpack(const struct Trip* t) {                             \
    const struct Plane p = plane_of(t->n, length);                              \
    const double* restrict from = (const double*)t->packed;                     \
    for (int i = 0; i < p.side; ++i) {                                          \
      double* restrict to = (double*)t->got + i * (size_t)p.row;                \
      for (int j = 0; j < p.side; ++j)                                          \
        for (int k = 0; k < (length); ++k) to[j * p.column + k] = *from++;      \
    }                                                                           \
  }                                                                             \
  PING_PONG(name, plane(t->n, length), 1)
#define BLOCKS(name, element, length, stride, handle) \
  ELEMENTS(name, element, length, i*(stride))         \
  PING_PONG(name, vector(t->n, length, stride, handle), 1)
#define PLACES(name, element, length, handle) \
  ELEMENTS(name, element, length, t->list[i]) \
  PING_PONG(name, places(t->n, length, t->list, handle), 1)

BLOCKS(column, double, 1, kGap, MPI_DOUBLE)
BLOCKS(blocks12, float, 3, 24, MPI_FLOAT)
ELEMENTS(faces12, float, 3, i * 24)
PING_PONG(faces12, faces(t->n, 3, 24), 1)
ELEMENTS(faces96, float, 24, i * 48)
PING_PONG(faces96, faces(t->n, 24, 48), 1)
BLOCKS(blocks40, double, 5, 10, MPI_DOUBLE)
BLOCKS(blocks128, double, 16, 32, MPI_DOUBLE)
BLOCKS(blocks1024, double, 128, 256, MPI_DOUBLE)
BLOCKS(blocks4096, double, 512, 1024, MPI_DOUBLE)
PLANES(plane8, 1)
PLANES(plane96, 12)
PLACES(list4, float, 1, MPI_FLOAT)
PLACES(list8, double, 1, MPI_DOUBLE)
PLACES(list12, float, 3, MPI_FLOAT)
PLACES(list24, double, 3, MPI_DOUBLE)

static int structs_pack(const struct Trip* t) {
  const struct Particle* restrict from = (const struct Particle*)t->sent;
  char* restrict to = t->packed;
  for (int i = 0; i < t->n; ++i) {
    memcpy(to, &from[i].kind, 4);
    memcpy(to + 4, from[i].at, 24);
    memcpy(to + 28, from[i].name, 4);
    to += 32;
  }
  return t->n * 32;
}
static void structs_unpack(const struct Trip* t) {
  const char* restrict from = t->packed;
  struct Particle* restrict to = (struct Particle*)t->got;
  for (int i = 0; i < t->n; ++i) {
    memcpy(&to[i].kind, from, 4);
    memcpy(to[i].at, from + 4, 24);
    memcpy(to[i].name, from + 28, 4);
    from += 32;
  }
}
PING_PONG(structs, particle(), t->n)

// Halo exchange: the two outermost columns of n rows are sent to the neighbours (here both are the
// partner), and theirs are received into the two columns beside them; rows have `kGap` doubles.
struct Columns {
  double *left_out, *right_out, *left_in, *right_in;
};
static struct Columns columns(const struct Trip* t) {
  double *out = (double*)t->sent, *in = (double*)t->got;
  return (struct Columns){out + kHalo, out + kGap - 1 - kHalo, in, in + kGap - 1};
}

static void swap_columns(const struct Columns* c, MPI_Datatype type, int partner) {
  MPI_Sendrecv(c->left_out, 1, type, partner, kTag, c->right_in, 1, type, partner, kTag,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(c->right_out, 1, type, partner, kTag, c->left_in, 1, type, partner, kTag,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static double halo_derived(const struct Trip* t) {
  const struct Columns c = columns(t);
  MPI_Datatype type = vector(t->n, 1, kGap, MPI_DOUBLE);
  MPI_Type_commit(&type);
  const double begin = MPI_Wtime();
  for (int i = 0; i < t->rounds; ++i) swap_columns(&c, type, t->partner);
  const double seconds = MPI_Wtime() - begin;
  MPI_Type_free(&type);
  return seconds;
}

// The type is made in each round, as in many programs.
static double halo_made_derived(const struct Trip* t) {
  const struct Columns c = columns(t);
  const double begin = MPI_Wtime();
  for (int i = 0; i < t->rounds; ++i) {
    MPI_Datatype type = vector(t->n, 1, kGap, MPI_DOUBLE);
    MPI_Type_commit(&type);
    swap_columns(&c, type, t->partner);
    MPI_Type_free(&type);
  }
  return MPI_Wtime() - begin;
}

static double halo_nonblocking_derived(const struct Trip* t) {
  const struct Columns c = columns(t);
  MPI_Datatype type = vector(t->n, 1, kGap, MPI_DOUBLE);
  MPI_Type_commit(&type);
  const double begin = MPI_Wtime();
  for (int i = 0; i < t->rounds; ++i) {
    MPI_Request requests[4];
    MPI_Irecv(c.right_in, 1, type, t->partner, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(c.left_in, 1, type, t->partner, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(c.left_out, 1, type, t->partner, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(c.right_out, 1, type, t->partner, 2, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  }
  const double seconds = MPI_Wtime() - begin;
  MPI_Type_free(&type);
  return seconds;
}

static void swap_by_hand(double* out, double* in, const struct Trip* t) {
  double* restrict to = (double*)t->packed, * restrict from = to + t->n;
  for (int i = 0; i < t->n; ++i) to[i] = out[i * kGap];
  MPI_Sendrecv(to, t->n, MPI_DOUBLE, t->partner, kTag, from, t->n, MPI_DOUBLE, t->partner, kTag,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < t->n; ++i) in[i * kGap] = from[i];
}

static double halo_by_hand(const struct Trip* t) {
  const struct Columns c = columns(t);
  const double begin = MPI_Wtime();
  for (int i = 0; i < t->rounds; ++i) {
    swap_by_hand(c.left_out, c.right_in, t);
    swap_by_hand(c.right_out, c.left_in, t);
  }
  return MPI_Wtime() - begin;
}

// A column for each of the two ranks, of which one is this rank itself.
enum { kRanks = 2 };

static double alltoallw_derived(const struct Trip* t) {
  MPI_Datatype type = vector(t->n, 1, kGap, MPI_DOUBLE);
  MPI_Type_commit(&type);
  const int part = t->n * kGap * (int)sizeof(double);
  const int counts[kRanks] = {1, 1}, places[kRanks] = {0, part};
  const MPI_Datatype types[kRanks] = {type, type};
  const double begin = MPI_Wtime();
  for (int i = 0; i < t->rounds; ++i) {
    MPI_Alltoallw(t->sent, counts, places, types, t->got, counts, places, types, MPI_COMM_WORLD);
  }
  const double seconds = MPI_Wtime() - begin;
  MPI_Type_free(&type);
  return seconds;
}

static double alltoallw_by_hand(const struct Trip* t) {
  double* restrict to = (double*)t->packed, * restrict from = to + kRanks * t->n;
  const double* out = (const double*)t->sent;
  double* in = (double*)t->got;
  const double begin = MPI_Wtime();
  for (int i = 0; i < t->rounds; ++i) {
    for (int k = 0; k < kRanks * t->n; ++k) to[k] = out[k * kGap];
    MPI_Alltoall(to, t->n, MPI_DOUBLE, from, t->n, MPI_DOUBLE, MPI_COMM_WORLD);
    for (int k = 0; k < kRanks * t->n; ++k) in[k * kGap] = from[k];
  }
  return MPI_Wtime() - begin;
}

const struct Site SITES[] = {
    {"column", column_derived, column_by_hand},
    {"blocks12", blocks12_derived, blocks12_by_hand},
    {"faces12", faces12_derived, faces12_by_hand},
    {"faces96", faces96_derived, faces96_by_hand},
    {"blocks40", blocks40_derived, blocks40_by_hand},
    {"blocks128", blocks128_derived, blocks128_by_hand},
    {"blocks1024", blocks1024_derived, blocks1024_by_hand},
    {"blocks4096", blocks4096_derived, blocks4096_by_hand},
    {"plane8", plane8_derived, plane8_by_hand},
    {"plane96", plane96_derived, plane96_by_hand},
    {"list4", list4_derived, list4_by_hand},
    {"list8", list8_derived, list8_by_hand},
    {"list12", list12_derived, list12_by_hand},
    {"list24", list24_derived, list24_by_hand},
    {"structs", structs_derived, structs_by_hand},
    {"halo", halo_derived, halo_by_hand},
    {"halo_made", halo_made_derived, halo_by_hand},
    {"halo_nonblocking", halo_nonblocking_derived, NULL},
    {"alltoallw", alltoallw_derived, alltoallw_by_hand},
    {NULL, NULL, NULL},
};
