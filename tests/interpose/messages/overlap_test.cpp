// SPDX-License-Identifier: BSD-3-Clause
//
// Data received into a type that has a byte of memory twice. MPI forbids that. Libraries write in
// the order of the typemap, so that the last value stays, and so must lacuna.
#include <utility>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int kElements = 60;

struct Overlapping {
  const char* name;
  MPI_Datatype type;  // of doubles
};

std::vector<Overlapping> overlapping_types() {
  std::vector<Overlapping> types;
  const auto add = [&](const char* name, MPI_Datatype type) {
    MPI_Type_commit(&type);
    types.push_back({name, type});
  };
  MPI_Datatype type, part;
  MPI_Type_create_hvector(40, 1, 4, MPI_DOUBLE, &type);
  add("runs that begin within each other", type);
  MPI_Type_vector(24, 2, 0, MPI_DOUBLE, &type);
  add("one run many times", type);
  MPI_Type_vector(64, 1, 8, MPI_DOUBLE, &part);
  MPI_Type_create_hvector(64, 1, 64, part, &type);
  MPI_Type_free(&part);
  add("a transpose whose rows cross", type);
  MPI_Type_vector(16, 2, 4, MPI_DOUBLE, &part);
  MPI_Type_create_resized(part, 0, 8, &type);
  MPI_Type_free(&part);
  add("elements that begin within each other", type);
  int places[90];
  for (int i = 0; i < 90; ++i) places[i] = (i * 37) % 45;
  MPI_Type_create_indexed_block(90, 1, places, MPI_DOUBLE, &type);
  add("a list with each place twice", type);
  const int lengths[] = {3, 5, 2};
  const MPI_Aint bytes[] = {0, 16, 8};
  const MPI_Datatype members[] = {MPI_DOUBLE, MPI_DOUBLE, MPI_DOUBLE};
  MPI_Type_create_struct(3, lengths, bytes, members, &type);
  add("a struct whose members overlap", type);
  return types;
}

// From `from`, doubles without gaps, in rank 0 to rank 1, or within each; all ways to receive.
void receive_all_ways(std::vector<double>& from, MPI_Datatype type, int count, Buffer* to,
                      size_t way) {
  const int doubles = static_cast<int>(from.size());
  const int bytes = doubles * 8;
  MPI_Request request;
  int position = 0;
  switch (way) {
    case 0:
      MPI_Unpack(from.data(), bytes, &position, to->base(), count, type, MPI_COMM_WORLD);
      return;
    case 1:
      MPI_Sendrecv(from.data(), doubles, MPI_DOUBLE, 1 - g_rank, 1, to->base(), count, type,
                   1 - g_rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      return;
    case 2:
      MPI_Irecv(to->base(), count, type, 1 - g_rank, 2, MPI_COMM_WORLD, &request);
      MPI_Send(from.data(), doubles, MPI_DOUBLE, 1 - g_rank, 2, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      return;
    case 3:
      if (g_rank == 0) {
        MPI_Bcast(from.data(), doubles, MPI_DOUBLE, 0, MPI_COMM_WORLD);
      } else {
        MPI_Bcast(to->base(), count, type, 0, MPI_COMM_WORLD);
      }
      return;
    case 4:  // with gaps on the other side, too
      MPI_Datatype spread;
      MPI_Type_vector(doubles / 2, 1, 2, MPI_DOUBLE, &spread);
      MPI_Type_commit(&spread);
      MPI_Sendrecv(from.data(), 1, spread, 1 - g_rank, 3, to->base(), count, type, 1 - g_rank, 3,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Type_free(&spread);
      return;
  }
}

}  // namespace

TOPIC(p2p_overlapping) {
  static const char* const kWays[] = {"MPI_Unpack", "MPI_Sendrecv", "MPI_Irecv", "MPI_Bcast",
                                      "MPI_Sendrecv of runs"};
  for (Overlapping& overlapping : overlapping_types()) {
    for (const int count : {1, 2, kElements}) {
      std::vector<double> from(static_cast<size_t>(data_bytes(overlapping.type, count) / 8));
      for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<double>(i) + 0.37;
      for (size_t way = 0; way < std::size(kWays); ++way) {
        context(std::to_string(count) + " of " + overlapping.name + ", " + kWays[way]);
        Buffer expected(overlapping.type, count), to(overlapping.type, count);
        expected.fill(3);
        to.fill(3);
        lacuna(false);
        receive_all_ways(from, overlapping.type, count, &expected, way);
        lacuna(true);
        receive_all_ways(from, overlapping.type, count, &to, way);
        CHECK(to == expected);
      }
    }
    MPI_Type_free(&overlapping.type);
  }
  context("");
}
