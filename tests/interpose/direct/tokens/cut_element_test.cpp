// SPDX-License-Identifier: BSD-3-Clause
//
// Receives into a packed struct, in which a token's 80 bytes end within a basic element. MPICH and
// Intel MPI raise an error where a message does so.
#include <string>
#include <vector>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

const auto Isendrecv =
    newer<int (*)(const void*, int, MPI_Datatype, int, int, void*, int, MPI_Datatype, int, int,
                  MPI_Comm, MPI_Request*)>("MPI_Isendrecv");

struct Way {
  const char* name;
  void (*receive)(void* data, int count, MPI_Datatype type);
};

void receive(void* data, int count, MPI_Datatype type) {
  MPI_Recv(data, count, type, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

void irecv(void* data, int count, MPI_Datatype type) {
  MPI_Request request;
  MPI_Irecv(data, count, type, 0, 5, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void persistent(void* data, int count, MPI_Datatype type) {
  MPI_Request request;
  MPI_Recv_init(data, count, type, 0, 5, MPI_COMM_WORLD, &request);
  MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
}

void matched(void* data, int count, MPI_Datatype type) {
  MPI_Message message;
  MPI_Mprobe(0, 5, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  MPI_Mrecv(data, count, type, &message, MPI_STATUS_IGNORE);
}

void sendrecv(void* data, int count, MPI_Datatype type) {
  MPI_Sendrecv(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, data, count, type, 0, 5, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

void replace(void* data, int count, MPI_Datatype type) {
  MPI_Sendrecv_replace(data, count, type, MPI_PROC_NULL, 0, 0, 5, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
}

void isendrecv(void* data, int count, MPI_Datatype type) {
  if (Isendrecv == nullptr) return receive(data, count, type);
  MPI_Request request;
  Isendrecv(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, data, count, type, 0, 5, MPI_COMM_WORLD,
            &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

}  // namespace

TOPIC(direct_cut_elements) {
  constexpr int kBytes = 9;
  constexpr int kExtent = 16;  // in the sender
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {0, 1};
  const MPI_Datatype members[] = {MPI_CHAR, MPI_DOUBLE};
  MPI_Datatype both, dense, sparse;
  MPI_Type_create_struct(2, lengths, places, members, &both);  // may have an extent of 16
  MPI_Type_create_resized(both, 0, kBytes, &dense);
  MPI_Type_create_resized(both, 0, kExtent, &sparse);
  MPI_Type_free(&both);
  MPI_Type_commit(&dense);
  MPI_Type_commit(&sparse);
  const Way ways[] = {{"Recv", receive},         {"Irecv", irecv},
                      {"Recv_init", persistent}, {"Mrecv", matched},
                      {"Sendrecv", sendrecv},    {"Sendrecv_replace", replace},
                      {"Isendrecv", isendrecv}};
  for (const size_t count : {size_t{1}, size_t{10}, size_t{20}, size_t{5000}}) {
    for (const Way& way : ways) {
      context(std::string(way.name) + ", " + std::to_string(count));
      const auto byte = [](size_t element, size_t i) {
        return static_cast<char>(element * 7 + i * 3 + 1);
      };
      if (g_rank == 0) {
        std::vector<char> data(count * kExtent, -1);
        for (size_t i = 0; i < count; ++i)
          for (size_t j = 0; j < kBytes; ++j) data[i * kExtent + j] = byte(i, j);
        MPI_Send(data.data(), static_cast<int>(count), sparse, 1, 5, MPI_COMM_WORLD);
      } else if (g_rank == 1) {
        std::vector<char> data((count + 1) * kBytes, -1);
        way.receive(data.data(), static_cast<int>(count), dense);
        bool same = true;
        for (size_t i = 0; i < count; ++i)
          for (size_t j = 0; j < kBytes; ++j) same = same && data[i * kBytes + j] == byte(i, j);
        CHECK(same);
        CHECK(data[count * kBytes] == -1);
      }
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  MPI_Type_free(&dense);
  MPI_Type_free(&sparse);
}
