// SPDX-License-Identifier: BSD-3-Clause
//
// How truncated messages are reported by MPI_Request_get_status, and by calls that complete several
// requests; and callbacks that communicate.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int kCount = 20000;
constexpr int kTag = 4;

bool is_open_mpi() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(version, &length);
  return std::strncmp(version, "Open MPI", 8) == 0;
}

}  // namespace

// MPI_Request_get_status and then MPI_Wait say of a truncated message what they say without lacuna.
TOPIC(direct_truncation_asked) {
  MPI_Datatype type = column(kCount, 2);
  std::vector<double> data(2 * kCount, 3);
  std::vector<int> told[2];
  return_errors(MPI_COMM_WORLD);
  return_errors(MPI_COMM_SELF);  // MPICH raises the error there
  for (const bool on : {false, true}) {
    lacuna(on);
    MPI_Barrier(MPI_COMM_WORLD);
    if (g_rank == 0) {
      MPI_Send(data.data(), 1, type, 1, kTag, MPI_COMM_WORLD);
    } else if (g_rank == 1) {
      MPI_Request request;
      MPI_Status status;
      MPI_Irecv(data.data(), kCount / 2, MPI_DOUBLE, 0, kTag, MPI_COMM_WORLD, &request);
      for (int i = 0; i < 3; ++i) {
        int flag = 0, code = MPI_SUCCESS;
        const int before = handled_errors();
        while (flag == 0 && code == MPI_SUCCESS && handled_errors() == before)
          code = MPI_Request_get_status(request, &flag, &status);
        told[on].push_back(handled_errors() - before);
      }
      const int before = handled_errors();
      MPI_Wait(&request, &status);
      told[on].push_back(handled_errors() - before);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  lacuna(true);
  CHECK(told[0] == told[1]);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Type_free(&type);
}

// A type that the library packs itself (MPICH: because of padding). MPICH's status counts all bytes
// of a truncated message, and its call succeeds if a handler of the program's was called.
TOPIC(direct_truncation_by_library) {
  constexpr int kElements = 5000, kRoom = 2000;
  MPI_Datatype type;
  MPI_Type_vector(2, 1, 2, MPI_LONG_DOUBLE, &type);
  MPI_Type_commit(&type);
  return_errors(MPI_COMM_WORLD);
  return_errors(MPI_COMM_SELF);
  for (const bool tests : {false, true}) {
    std::vector<long double> data(3 * kElements, 3);
    if (g_rank == 0) {
      MPI_Send(data.data(), kElements, type, 1, kTag, MPI_COMM_WORLD);
    } else if (g_rank == 1) {
      std::fill(data.begin(), data.end(), 1);
      MPI_Request request;
      MPI_Status status;
      const int before = handled_errors();
      int flag = tests ? 0 : 1, code = MPI_SUCCESS;
      MPI_Irecv(data.data(), kRoom, type, 0, kTag, MPI_COMM_WORLD, &request);
      while (flag == 0 && code == MPI_SUCCESS) code = MPI_Test(&request, &flag, &status);
      if (!tests) code = MPI_Wait(&request, &status);
      CHECK(code != MPI_SUCCESS || handled_errors() > before);
      // Only Open MPI writes past the end (docs/internals/defects.md).
      const auto behind = data.begin() + 3 * kRoom;
      CHECK(is_open_mpi() || std::count(behind, data.end(), 1) == data.end() - behind);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  // A type that lacuna handles, to show that it is on.
  MPI_Datatype taken_type = column(kCount, 2);
  std::vector<double> from(2 * kCount), packed(kCount);
  int position = 0;
  MPI_Pack(from.data(), 1, taken_type, packed.data(), kCount * 8, &position, MPI_COMM_WORLD);
  MPI_Type_free(&taken_type);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Type_free(&type);
}

// Of three receives, one is complete, one is truncated and one is pending. If the status of the
// first is success, its data are there.
TOPIC(direct_testall_of_three) {
  MPI_Datatype type = column(kCount, 2), few = column(30, 2);
  std::vector<double> data(2 * kCount, 3);
  return_errors(MPI_COMM_WORLD);
  for (int round = 0; round < 3; ++round) {
    if (g_rank == 0) {
      MPI_Send(data.data(), 1, type, 1, kTag, MPI_COMM_WORLD);
      MPI_Send(data.data(), 1, few, 1, kTag + 1, MPI_COMM_WORLD);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Send(data.data(), 1, type, 1, kTag + 2, MPI_COMM_WORLD);
    } else if (g_rank == 1) {
      std::vector<double> got(kCount), rest(kCount), last(kCount);
      MPI_Request requests[3];
      MPI_Status statuses[3];
      MPI_Irecv(got.data(), kCount, MPI_DOUBLE, 0, kTag, MPI_COMM_WORLD, &requests[0]);
      MPI_Irecv(rest.data(), 15, MPI_DOUBLE, 0, kTag + 1, MPI_COMM_WORLD, &requests[1]);
      MPI_Irecv(last.data(), kCount, MPI_DOUBLE, 0, kTag + 2, MPI_COMM_WORLD, &requests[2]);
      MPI_Barrier(MPI_COMM_WORLD);
      int code = MPI_SUCCESS, flag = 0;
      for (int i = 0; i < 100000 && code == MPI_SUCCESS && flag == 0; ++i)
        code = MPI_Testall(3, requests, &flag, statuses);
      int count = 0;
      if (code != MPI_SUCCESS && class_of(code) == MPI_ERR_IN_STATUS &&
          statuses[0].MPI_ERROR == MPI_SUCCESS) {
        MPI_Get_count(&statuses[0], MPI_DOUBLE, &count);
        CHECK(count == kCount && got == std::vector<double>(kCount, 3));
      }
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Waitall(3, requests, statuses);
      CHECK(got == std::vector<double>(kCount, 3) && last == std::vector<double>(kCount, 3));
    } else {
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Type_free(&few);
  MPI_Type_free(&type);
}

namespace {

int g_deleted = 0;

// Called within the MPI call that releases the last reference to the type.
int receive_in_delete(MPI_Datatype, int, void*, void*) {
  int from = 1, to = 0;
  MPI_Request request;
  ++g_deleted;
  MPI_Irecv(&to, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
  MPI_Send(&from, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
  return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

}  // namespace

// With threads: during a probe, the library completes a send that the program has freed, and the
// delete callback of its type receives.
TOPIC(direct_receives_in_callbacks) {
  constexpr int kRounds = 20, kLong = 400000;
  int keyval = 0;
  MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, receive_in_delete, &keyval, nullptr);
  std::vector<int> data(kLong);
  MPI_Datatype gapped = column(kCount, 2);
  std::vector<double> numbers(2 * kCount);
  for (int round = 0; round < kRounds; ++round) {
    MPI_Datatype type;
    MPI_Type_contiguous(kLong, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Type_set_attr(type, keyval, nullptr);
    if (g_rank == 0) {
      MPI_Request request;
      MPI_Isend(data.data(), 1, type, 1, kTag, MPI_COMM_WORLD, &request);
      MPI_Type_free(&type);
      MPI_Request_free(&request);
      MPI_Probe(1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Recv(numbers.data(), 1, gapped, 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Type_free(&type);
      if (g_rank == 1) {
        MPI_Recv(data.data(), kLong, MPI_INT, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(numbers.data(), 1, gapped, 0, kTag, MPI_COMM_WORLD);
      }
    }
  }
  MPI_Type_free_keyval(&keyval);
  MPI_Type_free(&gapped);
  CHECK(g_rank == 0 || g_deleted == kRounds);
}
