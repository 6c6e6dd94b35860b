// SPDX-License-Identifier: BSD-3-Clause
//
// Loaded before an MPI library: no type may be committed, by C or by Fortran.
#include <stdio.h>
#include <stdlib.h>

void MPI_Type_commit(void);
void mpi_type_commit_(void);

void MPI_Type_commit(void) {
  fputs("MPI_Type_commit was called\n", stderr);
  abort();
}
void mpi_type_commit_(void) { MPI_Type_commit(); }
