// SPDX-License-Identifier: BSD-3-Clause
//
// LACUNA_VERIFY: if a library gets a byte wrong, the difference is found in every way that data
// move, and the program gets the library's result. (tests/cli/run/test_watch.py checks what is
// logged.)
#include <cstring>

#include "tests/interpose/faults/faulty_below.hpp"
#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int kN = 16;

struct Data {
  double matrix[kN * kN];
  double line[kN];
};

double value(int i) { return 1.5 + i; }

void prepare(Data* data) {
  for (int i = 0; i < kN * kN; ++i) data->matrix[i] = value(i);
  for (double& number : data->line) number = 0;
}

// Whether exactly the first byte of the first number is wrong.
bool first_is_spoiled(double got, double right) {
  unsigned char a[8], b[8];
  std::memcpy(a, &got, 8);
  std::memcpy(b, &right, 8);
  return static_cast<unsigned char>(a[0] ^ 0xff) == b[0] && std::memcmp(a + 1, b + 1, 7) == 0;
}

bool rest_is_right(const Data& data) {
  for (int i = 1; i < kN; ++i) {
    if (data.line[i] != value(i * kN)) return false;
  }
  return true;
}

// Sends a column in one of the ways.
void send(int way, Data* data, MPI_Datatype type, int dest) {
  MPI_Request request;
  switch (way) {
    case 0:
      MPI_Send(data->matrix, 1, type, dest, way, MPI_COMM_WORLD);
      return;
    case 1:
      MPI_Isend(data->matrix, 1, type, dest, way, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      return;
    case 2:
      MPI_Send_init(data->matrix, 1, type, dest, way, MPI_COMM_WORLD, &request);
      MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Request_free(&request);
      return;
    default: {
      double packed[kN];
      int position = 0;
      MPI_Pack(data->matrix, 1, type, packed, sizeof(packed), &position, MPI_COMM_WORLD);
      MPI_Send(packed, kN, MPI_DOUBLE, dest, way, MPI_COMM_WORLD);
    }
  }
}

void receive(int way, Data* data, MPI_Datatype type, int source) {
  MPI_Request request;
  switch (way) {
    case 0:
      MPI_Recv(data->matrix, 1, type, source, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      return;
    case 1:
      MPI_Irecv(data->matrix, 1, type, source, way, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      return;
    case 2:
      MPI_Recv_init(data->matrix, 1, type, source, way, MPI_COMM_WORLD, &request);
      MPI_Start(&request);
      MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
      MPI_Request_free(&request);
      return;
    default: {
      double packed[kN];
      int position = 0;
      MPI_Recv(packed, kN, MPI_DOUBLE, source, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Unpack(packed, sizeof(packed), &position, data->matrix, 1, type, MPI_COMM_WORLD);
    }
  }
}

}  // namespace

TOPIC(verify_finds_wrong_bytes) {
  MPI_Datatype type = column(kN);
  Data data;
  for (const int wrong : {0, 1}) {
    for (int way = 0; way < 4; ++way) {
      context("way " + std::to_string(way) + ", wrong " + std::to_string(wrong));
      prepare(&data);
      faulty_wrong = wrong;
      faulty_wrongs = 0;
      if (g_rank == 0) {
        send(way, &data, type, 1);
        CHECK(faulty_wrongs == wrong);
        MPI_Send(data.line, 0, MPI_DOUBLE, 1, 99, MPI_COMM_WORLD);
        for (int i = 0; i < kN; ++i) data.line[i] = value(i * kN);
        MPI_Send(data.line, kN, MPI_DOUBLE, 1, way, MPI_COMM_WORLD);
      } else {
        MPI_Recv(data.line, kN, MPI_DOUBLE, 0, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(wrong != 0 ? first_is_spoiled(data.line[0], value(0)) : data.line[0] == value(0));
        CHECK(rest_is_right(data));
        MPI_Recv(data.line, 0, MPI_DOUBLE, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        std::memset(data.matrix, 0, sizeof(data.matrix));
        receive(way, &data, type, 0);
        CHECK(faulty_wrongs == 2 * wrong);  // once to compare, once to use it
        for (int i = 0; i < kN; ++i) data.line[i] = data.matrix[i * kN];
        CHECK(wrong != 0 ? first_is_spoiled(data.line[0], value(0)) : data.line[0] == value(0));
        CHECK(rest_is_right(data));
        CHECK(data.matrix[1] == 0);
      }
    }
    context("a broadcast, wrong " + std::to_string(wrong));
    prepare(&data);
    faulty_wrongs = 0;
    faulty_wrong = g_rank == 0 ? wrong : 0;
    MPI_Bcast(data.matrix, 1, type, 0, MPI_COMM_WORLD);
    CHECK(faulty_wrongs == (g_rank == 0 ? wrong : 0));
    if (g_rank != 0) {
      CHECK(wrong != 0 ? first_is_spoiled(data.matrix[0], value(0)) : data.matrix[0] == value(0));
      CHECK(data.matrix[kN] == value(kN));
    }
  }
  faulty_wrong = 0;
  MPI_Type_free(&type);
}
