// SPDX-License-Identifier: BSD-3-Clause
//
// The switches: MPI_Pcontrol at run time, LACUNA_DISABLE* and LACUNA_POOL_MB from the environment.
#include <cstdlib>
#include <cstring>

#include "tests/interpose/files/file_calls.hpp"
#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && std::strcmp(value, "0") != 0;
}

// One message to oneself and one pack; true if all is well.
bool work(MPI_Datatype type, int n) {
  std::vector<double> from(static_cast<size_t>(n) * static_cast<size_t>(n), 3), to(from.size(), 4);
  std::vector<char> packed(static_cast<size_t>(n) * 8);
  int position = 0;
  MPI_Pack(from.data(), 1, type, packed.data(), n * 8, &position, MPI_COMM_WORLD);
  MPI_Sendrecv(from.data(), 1, type, g_rank, 0, to.data(), 1, type, g_rank, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Request requests[2];
  MPI_Irecv(to.data(), 1, type, g_rank, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(from.data(), 1, type, g_rank, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  return position == n * 8 && to[0] == 3 && to[1] == 4 && to[static_cast<size_t>(n)] == 3;
}

}  // namespace

TOPIC(switch_pcontrol) {
  MPI_Datatype type = column(16);
  const int64_t start = taken_in_all();
  MPI_Pcontrol(0);
  CHECK(work(type, 16));
  CHECK(taken_in_all() == start);
  MPI_Pcontrol(1);
  CHECK(work(type, 16));
  CHECK(taken_in_all() == start + 4);
  MPI_Pcontrol(2);  // lacuna ignores it
  CHECK(work(type, 16));
  CHECK(taken_in_all() == start + 8);
  // Calls that lacuna has begun are finished by it.
  double to[256] = {}, from[16];
  for (double& value : from) value = 5;
  MPI_Request request;
  MPI_Irecv(to, 1, type, g_rank, 0, MPI_COMM_WORLD, &request);
  MPI_Pcontrol(0);
  MPI_Send(from, 16, MPI_DOUBLE, g_rank, 0, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(to[0] == 5 && to[16] == 5 && to[1] == 0);
  MPI_Pcontrol(1);
  MPI_Type_free(&type);
}

// Run with LACUNA_DISABLE=1: the program works, and main() checks that nothing was handled.
TOPIC(switch_disabled) {
  MPI_Datatype type = column(16);
  CHECK(work(type, 16));
  MPI_Pcontrol(1);
  CHECK(work(type, 16));
  MPI_Type_free(&type);
}

// Run with one family off.
TOPIC(switch_families) {
  MPI_Datatype type = column(16);
  CHECK(work(type, 16));
  CHECK(taken("MPI_Pack") == (is_set("LACUNA_DISABLE_PACK") ? 0 : 1));
  CHECK(taken("MPI_Sendrecv") == (is_set("LACUNA_DISABLE_P2P") ? 0 : 1));
  CHECK(taken("MPI_Irecv") == (is_set("LACUNA_DISABLE_P2P") ? 0 : 1));
  std::vector<double> from(256, 3), to(256, 4);
  MPI_Allgather(from.data(), 1, type, to.data(), 1, type, MPI_COMM_SELF);
  CHECK(to[0] == 3 && to[1] == 4 && to[16] == 3);
  CHECK(taken("MPI_Allgather") == (is_set("LACUNA_DISABLE_COLLECTIVES") ? 0 : 1));
  {
    const SharedFile file;
    MPI_File_write_at(file.fh(), g_rank * 128, from.data(), 1, type, MPI_STATUS_IGNORE);
    MPI_File_read_at_all(file.fh(), g_rank * 128, to.data() + 1, 1, type, MPI_STATUS_IGNORE);
    CHECK(to[1] == 3 && to[2] == 4 && to[17] == 3);
    CHECK(taken("MPI_File_write_at") == (is_set("LACUNA_DISABLE_FILES") ? 0 : 1));
    CHECK(taken("MPI_File_read_at_all") == (is_set("LACUNA_DISABLE_FILES") ? 0 : 1));
  }
  MPI_Win win;
  MPI_Win_create(to.data(), 256 * sizeof(double), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  from[16] = 5;
  MPI_Win_fence(0, win);
  MPI_Put(from.data(), 1, type, g_rank, 0, 1, type, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
  CHECK(to[0] == 3 && to[2] == 4 && to[16] == 5);
  CHECK(taken("MPI_Put") == (is_set("LACUNA_DISABLE_RMA") ? 0 : 1));
  MPI_Type_free(&type);
}

// Run with LACUNA_POOL_MB=1: what does not fit is declined each time, and what fits is handled.
TOPIC(switch_small_pool) {
  MPI_Datatype small = column(64);
  MPI_Datatype narrow = column(512), large;
  MPI_Type_create_resized(narrow, 0, sizeof(double), &large);
  MPI_Type_commit(&large);
  std::vector<double> from(512 * 512, 1), to(512 * 512, 2);
  for (int i = 0; i < 5; ++i) {
    CHECK(taken_by("MPI_Irecv", [&] { CHECK(work(small, 64)); }) == 1);
    const int64_t before = taken_in_all();
    std::fill(to.begin(), to.end(), 2);
    MPI_Request request;
    MPI_Irecv(to.data(), 512 * 512, MPI_DOUBLE, g_rank, 0, MPI_COMM_WORLD, &request);
    MPI_Send(from.data(), 512, large, g_rank, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(to == from);
    CHECK(taken_in_all() == before);
  }
  // Many small ones at once: some are handled, all arrive.
  std::vector<MPI_Request> requests(8000);
  std::vector<double> matrix(64 * 64, 0), line(64, 7);
  for (MPI_Request& request : requests) {
    MPI_Irecv(matrix.data() + (&request - requests.data()) % 64, 1, small, g_rank, 1,
              MPI_COMM_WORLD, &request);
  }
  for (size_t i = 0; i < requests.size(); ++i)
    MPI_Send(line.data(), 64, MPI_DOUBLE, g_rank, 1, MPI_COMM_WORLD);
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  CHECK(matrix == std::vector<double>(64 * 64, 7));
  for (MPI_Datatype* type : {&small, &narrow, &large}) MPI_Type_free(type);
}
