// SPDX-License-Identifier: BSD-3-Clause
//
// Whether a receive must not go to packed data. Open MPI (4.1.4, 5.0.11) writes a message that is
// too long past the end of the receive buffer, if both sides are contiguous and it reads the
// sender's memory (from 4 KiB on). A receive with gaps is safe from that; a receive into packed
// data would overwrite the caller's frame. That only matters if the program survives the error.
#include "optimizer/templates/buffer_arg.hpp"

#ifdef OPEN_MPI
// Each time, since any library of the program may set a handler at any time. A PMPI_ call, which
// tools do not see and which is short.
extern "C" [[gnu::noinline]] int lacuna_template_may_overrun(MPI_Comm comm) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  // An error, which the call itself reports.
  if (comm == MPI_COMM_NULL) return 0;
  if (PMPI_Comm_get_errhandler(comm, &handler) != MPI_SUCCESS) return 1;
  const bool is_fatal = handler == MPI_ERRORS_ARE_FATAL;
  PMPI_Errhandler_free(&handler);
  return is_fatal ? 0 : 1;
}
#endif
