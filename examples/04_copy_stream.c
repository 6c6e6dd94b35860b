/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What an MPI library does with a message: from one layout straight into another (both in this
 * process), through cells of a fixed size (to another one), and what that will cost. C99, no MPI.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lacuna/lacuna.h"

enum { kOrder = 64, kCell = 1000 };

static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, lacuna_last_error());
  return 1;
}

/* A constructor's child is not consumed; a plan holds what it needs of its type. */
static lacuna_plan* plan_of(const char* text) {
  lacuna_type* type = NULL;
  lacuna_plan* plan = NULL;
  if (!lacuna_type_parse(text, &type) && lacuna_plan_create(type, &plan)) plan = NULL;
  lacuna_type_destroy(type);
  return plan;
}

/* What arrives in cells goes to where the receiver's layout says; each byte is moved once. */
static int through_cells(const lacuna_plan* from, const void* a, const lacuna_plan* to, void* b) {
  lacuna_pack_stream* out = NULL;
  lacuna_unpack_stream* in = NULL;
  char cell[kCell];
  int64_t left = 0;
  lacuna_status status = lacuna_packed_size(from, 1, &left);
  if (!status) status = lacuna_pack_stream_create(from, a, 1, &out);
  if (!status) status = lacuna_unpack_stream_create(to, b, 1, &in);
  while (!status && left > 0) {
    const int64_t bytes = left < kCell ? left : kCell;
    status = lacuna_pack_stream_next(out, bytes, cell);
    if (!status) status = lacuna_unpack_stream_next(in, bytes, cell);
    left -= bytes;
  }
  lacuna_pack_stream_destroy(out);
  lacuna_unpack_stream_destroy(in); /* now all of it is in `b` */
  return status != LACUNA_OK;
}

int main(void) {
  static double a[kOrder][kOrder], b[kOrder][kOrder], c[kOrder][kOrder];
  for (int row = 0; row < kOrder; ++row) {
    for (int column = 0; column < kOrder; ++column) a[row][column] = 100 * row + column;
  }
  /* The matrix column by column, and row by row: one to the other is the transpose. */
  lacuna_plan* columns = plan_of("contiguous(64, resized(0, 8, vector(64, 1, 64, double)))");
  lacuna_plan* rows = plan_of("contiguous(4096, double)");
  if (columns == NULL || rows == NULL) return failed("plan");
  if (lacuna_copy(columns, a, 1, rows, b, 1)) return failed("copy");
  if (through_cells(columns, a, rows, c)) return failed("stream");
  printf("b[3][5] = %g, c[3][5] = %g\n", b[3][5], c[3][5]);

  /* Asked twice: how much room, and then the text. */
  size_t needed = 0;
  if (lacuna_plan_cost_json(columns, 1, 0, NULL, &needed) != LACUNA_TRUNCATED)
    return failed("cost");
  char* cost = malloc(needed);
  if (cost == NULL || lacuna_plan_cost_json(columns, 1, needed, cost, NULL)) return failed("cost");
  printf("%.60s...\n", cost);
  free(cost);

  /* What is wrong is said, and nothing else happens. */
  if (lacuna_copy(columns, a, 1, rows, b, 2) != LACUNA_INVALID_ARGUMENT) return 1;
  printf("refused: %s\n", lacuna_last_error());

  lacuna_plan_destroy(columns);
  lacuna_plan_destroy(rows);
  return b[3][5] == 503 && memcmp(b, c, sizeof b) == 0 ? 0 : 1;
}
