// SPDX-License-Identifier: BSD-3-Clause
//
// Whether a receive may not be packed, since its error may be survived. Open MPI (4.1.4, 5.0.11)
// writes all of a message that is longer than its receive has room for, past the end, where both
// sides are contiguous and it reads the sender's memory (from 4 KiB on). Natively a receive with
// gaps is safe from that; one into packed data would overwrite the caller's frame. Where an error
// ends the program nobody sees what was written.
#include "optimizer/templates/part.hpp"

#ifdef OPEN_MPI
// PMPI: tools see the calls that the program makes. 21 ns on Open MPI 5, 8 on Open MPI 4.1 (EPYC),
// each time, since anybody may set a handler at any time: libraries, too, that were not compiled
// here.
extern "C" [[gnu::noinline]] int lacuna_template_may_overrun(MPI_Comm comm) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  // The error is the call's own to tell.
  if (comm == MPI_COMM_NULL) return 0;
  if (PMPI_Comm_get_errhandler(comm, &handler) != MPI_SUCCESS) return 1;
  const bool is_fatal = handler == MPI_ERRORS_ARE_FATAL;
  PMPI_Errhandler_free(&handler);
  return is_fatal ? 0 : 1;
}
#endif
