// SPDX-License-Identifier: BSD-3-Clause
//
// Several elements at absolute addresses, also of a type that lacuna leaves to the library to pack
// and unpack (long double). MPICH 5 packs from MPI_BOTTOM one element at most, and reports an error
// as a position that has not moved.
#include <string>
#include <vector>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int kTag = 3;

enum class Way { kRecv, kIrecv, kPersistent, kMatched, kReplace };

void receive(Way way, int count, MPI_Datatype type) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Message message;
  switch (way) {
    case Way::kRecv:
      MPI_Recv(MPI_BOTTOM, count, type, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      return;
    case Way::kIrecv:
      MPI_Irecv(MPI_BOTTOM, count, type, 0, kTag, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      return;
    case Way::kPersistent:
      MPI_Recv_init(MPI_BOTTOM, count, type, 0, kTag, MPI_COMM_WORLD, &request);
      MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Request_free(&request);
      return;
    case Way::kMatched:
      MPI_Mprobe(0, kTag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
      MPI_Mrecv(MPI_BOTTOM, count, type, &message, MPI_STATUS_IGNORE);
      return;
    case Way::kReplace:
      MPI_Sendrecv_replace(MPI_BOTTOM, count, type, 0, kTag, 0, kTag, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE);
      return;
  }
}

// A number in 16 bytes.
template <typename Number>
struct Cell {
  alignas(16) Number number;
};

template <typename Number>
void receive_from_bottom(Way way, int count, MPI_Datatype element) {
  std::vector<Number> numbers(static_cast<size_t>(count));
  std::vector<Cell<Number>> cells(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<Number>(i + 1);
    cells[i].number = static_cast<Number>(1000000 + i);
  }
  MPI_Aint place = 0;
  MPI_Get_address(cells.data(), &place);
  const int one = 1;
  MPI_Datatype at_place, type;
  MPI_Type_create_struct(1, &one, &place, &element, &at_place);
  MPI_Type_create_resized(at_place, place, sizeof(Cell<Number>), &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&at_place);
  if (g_rank == 0 && way == Way::kReplace) {
    std::vector<Number> got(numbers.size());
    MPI_Sendrecv(numbers.data(), count, element, 1, kTag, got.data(), count, element, 1, kTag,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    bool right = true;
    for (size_t i = 0; i < got.size(); ++i)
      right = right && got[i] == static_cast<Number>(1000000 + i);
    CHECK(right);
  } else if (g_rank == 0) {
    MPI_Send(numbers.data(), count, element, 1, kTag, MPI_COMM_WORLD);
  } else if (g_rank == 1) {
    receive(way, count, type);
    bool right = true;
    for (size_t i = 0; i < cells.size(); ++i) right = right && cells[i].number == numbers[i];
    CHECK(right);
  }
  MPI_Type_free(&type);
}

}  // namespace

TOPIC(bottom_of_several) {
  for (const int count : {2, 10, 3000}) {
    for (int way = 0; way <= static_cast<int>(Way::kReplace); ++way) {
      context("way " + std::to_string(way) + ", " + std::to_string(count) + " elements");
      receive_from_bottom<double>(static_cast<Way>(way), count, MPI_DOUBLE);
      if (sizeof(long double) == 16)
        receive_from_bottom<long double>(static_cast<Way>(way), count, MPI_LONG_DOUBLE);
    }
  }
  context("");
}
