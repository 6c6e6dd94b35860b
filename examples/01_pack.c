/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packs one column of a matrix, and puts it back into another. C99, no MPI.
 */
#include <stdio.h>

#include "lacuna/lacuna.h"

enum { kRows = 4, kColumns = 5 };

static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, lacuna_last_error());
  return 1;
}

int main(void) {
  double matrix[kRows][kColumns];
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kColumns; ++column) matrix[row][column] = 10 * row + column;
  }

  /* One double from each row; what MPI_Type_vector(4, 1, 5, MPI_DOUBLE, &type) means. */
  lacuna_type* type = NULL;
  lacuna_plan* plan = NULL;
  if (lacuna_type_parse("vector(4, 1, 5, double)", &type)) return failed("type");
  if (lacuna_plan_create(type, &plan)) return failed("plan");

  double packed[kRows];
  if (lacuna_pack(plan, &matrix[0][2], 1, packed)) return failed("pack");
  printf("column 2:");
  for (int row = 0; row < kRows; ++row) printf(" %g", packed[row]);
  printf("\n");

  /* Only the data is written: everything else in `other` stays as it is. */
  double other[kRows][kColumns] = {{0}};
  if (lacuna_unpack(plan, packed, 1, &other[0][0])) return failed("unpack");
  printf("other:    %g %g %g %g, beside it %g\n", other[0][0], other[1][0], other[2][0],
         other[3][0], other[3][1]);

  lacuna_plan_destroy(plan);
  lacuna_type_destroy(type);
  return packed[3] == 32 && other[3][0] == 32 && other[3][1] == 0 ? 0 : 1;
}
