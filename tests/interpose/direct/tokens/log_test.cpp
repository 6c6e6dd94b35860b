// SPDX-License-Identifier: BSD-3-Clause
//
// The log lines of receives that are declined unless they match a token: they are written only when
// that is known. (CMakeLists.txt reads the lines.)
#include <vector>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

MPI_Datatype run(int count) {
  MPI_Datatype type;
  MPI_Type_contiguous(count, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  return type;
}

}  // namespace

TOPIC(direct_log) {
  MPI_Datatype gaps = column(4096, 3), whole = run(4096), plain = run(100);
  std::vector<double> data(size_t{3} * 4096, g_rank + 1);
  if (g_rank == 0) {
    MPI_Send(data.data(), 1, gaps, 1, 0, MPI_COMM_WORLD);
    MPI_Send(data.data(), 100, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
  } else if (g_rank == 1) {
    MPI_Recv(data.data(), 1, whole, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(data[4095] == 1 && data[4096] == 2);
    MPI_Recv(data.data() + 4096, 1, plain, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(data[4096 + 99] == 1 && data[4096 + 100] == 2);
  }
  for (MPI_Datatype* type : {&gaps, &whole, &plain}) MPI_Type_free(type);
}
