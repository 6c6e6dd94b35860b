/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A fake MPI library with few functions: no large counts, no attributes. With it, lacuna must stay
 * off, pass everything through, and serve large-count calls by the int forms.
 */
#include <mpi.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int fake_sends = 0;
EXPORT int fake_last_count = 0;

EXPORT int MPI_Init(int* argc, char*** argv) {
  (void)argc;
  (void)argv;
  return MPI_SUCCESS;
}

EXPORT int MPI_Finalize(void) { return MPI_SUCCESS; }

EXPORT int MPI_Send(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                    MPI_Comm comm) {
  (void)buf;
  (void)datatype;
  (void)dest;
  (void)tag;
  (void)comm;
  ++fake_sends;
  fake_last_count = count;
  return MPI_SUCCESS;
}

EXPORT int MPI_Pack(const void* inbuf, int incount, MPI_Datatype datatype, void* outbuf,
                    int outsize, int* position, MPI_Comm comm) {
  (void)inbuf;
  (void)datatype;
  (void)outbuf;
  (void)outsize;
  (void)comm;
  *position += incount;
  return MPI_SUCCESS;
}

/* Only under its profiling name. */
EXPORT int PMPI_Recv(void* buf, int count, MPI_Datatype datatype, int source, int tag,
                     MPI_Comm comm, MPI_Status* status) {
  (void)buf;
  (void)datatype;
  (void)source;
  (void)tag;
  (void)comm;
  status->MPI_SOURCE = count;
  return MPI_SUCCESS;
}
