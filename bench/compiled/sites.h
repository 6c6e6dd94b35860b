// SPDX-License-Identifier: BSD-3-Clause
//
// Exchanges whose types a compiler can see (sites.c), each compiled three times: plainly, and twice
// by lacuna-cc. The lanes of a row differ in which of them is called, and how.
#ifndef LACUNA_BENCH_COMPILED_SITES_H_
#define LACUNA_BENCH_COMPILED_SITES_H_

#include <mpi.h>

// The kinds `plane...`: `side` rows of `side` blocks. The blocks are the beginnings of a cube's
// columns, which have twice as many doubles; a row has two columns more than are sent.
struct Plane {
  int side, column, row;  // the last two in doubles: from one to the next
};
static inline struct Plane plane_of(int n, int length) {
  int side = 1;
  while ((side + 1) * (side + 1) <= n) ++side;
  const int column = 2 * (side + length);
  return (struct Plane){side, column, (side + 2) * column};
}

// Round trips between two ranks: `n` blocks, list elements or structs from `sent` to the partner's
// `got`.
struct Trip {
  char* sent;
  char* got;
  char* packed;     // by hand: room for all data of a message, for each direction
  const int* list;  // n places
  int n;
  int rounds;
  int partner;
  int is_first;  // sends, then receives
  // In lacuna-cc's copy: whether a side's calls are left to the library. They are then made through
  // a pointer, which a compiler cannot analyse. `receives_packed`: without gaps, into `packed`.
  int plain_send, plain_receive, receives_packed;
};

// Does the round trips; types are made before and freed after. Returns the seconds of the rounds.
typedef double Run(const struct Trip* trip);

struct Site {
  const char* kind;
  Run* derived;
  Run* by_hand;
};
// The last has no name.
extern const struct Site g_sites_plain[];
extern const struct Site g_sites_ours[];
extern const struct Site g_sites_apart[];  // packed data are sent with a gap

#endif  // LACUNA_BENCH_COMPILED_SITES_H_
