// SPDX-License-Identifier: BSD-3-Clause
//
// Blocking messages: on whichever side lacuna is on, the bytes in the receiver's memory (gaps
// included)
// and its status are those of the library alone.
#include <cstring>
#include <tuple>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int kTag = 17;
const bool kSides[][2] = {{false, false}, {true, true}, {true, false}, {false, true}};

enum class Mode { kSend, kSsend, kRsend };
const std::tuple<Mode, const char*> kModes[] = {
    {Mode::kSend, "MPI_Send"}, {Mode::kSsend, "MPI_Ssend"}, {Mode::kRsend, "MPI_Rsend"}};

void send(Mode mode, void* buf, int count, MPI_Datatype type, int dest, int tag) {
  switch (mode) {
    case Mode::kSend:
      MPI_Send(buf, count, type, dest, tag, MPI_COMM_WORLD);
      return;
    case Mode::kSsend:
      MPI_Ssend(buf, count, type, dest, tag, MPI_COMM_WORLD);
      return;
    case Mode::kRsend: {
      char go;
      MPI_Recv(&go, 1, MPI_CHAR, dest, tag + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Rsend(buf, count, type, dest, tag, MPI_COMM_WORLD);
      return;
    }
  }
}

// A ready send needs a posted receive, so MPI_Irecv is used; for other modes MPI_Recv.
void receive(Mode mode, void* buf, int count, MPI_Datatype type, int source, int tag,
             MPI_Status* status) {
  if (mode != Mode::kRsend) {
    MPI_Recv(buf, count, type, source, tag, MPI_COMM_WORLD, status);
    return;
  }
  MPI_Request request;
  MPI_Irecv(buf, count, type, source, tag, MPI_COMM_WORLD, &request);
  char go = 1;
  MPI_Send(&go, 1, MPI_CHAR, 0, tag + 1, MPI_COMM_WORLD);
  MPI_Wait(&request, status);
}

// Rank 0 sends, rank 1 receives, with lacuna on the sides that `on` says.
struct Received {
  Buffer buffer;
  StatusView status;
  bool operator==(const Received&) const = default;
};
Received exchange(Mode mode, int sent, MPI_Datatype sendtype, int posted, MPI_Datatype recvtype,
                  const bool (&on)[2]) {
  lacuna(on[g_rank]);
  Buffer buffer(g_rank == 0 ? sendtype : recvtype, g_rank == 0 ? sent : posted);
  buffer.fill(static_cast<unsigned>(g_rank));
  MPI_Status status{};
  if (g_rank == 0) {
    send(mode, buffer.base(), sent, sendtype, 1, kTag);
  } else {
    receive(mode, buffer.base(), posted, recvtype, 0, kTag, &status);
  }
  lacuna(true);
  return {buffer, StatusView(status, recvtype)};
}

void compare(Mode mode, int sent, MPI_Datatype sendtype, int posted, MPI_Datatype recvtype) {
  const Received native = exchange(mode, sent, sendtype, posted, recvtype, kSides[0]);
  for (const auto& on : kSides) {
    const Received ours = exchange(mode, sent, sendtype, posted, recvtype, on);
    if (g_rank != 1) continue;
    CHECK(ours.buffer == native.buffer);
    CHECK(ours.status == native.status);
  }
}

}  // namespace

TOPIC(p2p_same_messages) {
  std::vector<Shape> shapes = all_shapes();
  for (const auto& [mode, name] : kModes) {
    for (const Shape& shape : shapes) {
      for (const int count : {0, 1, 2, 19}) {
        context(std::string(name) + " of " + shape.name + " x " + std::to_string(count));
        const int64_t before = taken(name);
        compare(mode, count, shape.type, count, shape.type);
        if (g_rank == 0 && shape.taken && count > 1) CHECK(taken(name) - before == 2);
        compare(mode, count, shape.type, count + 3, shape.type);  // the receive is longer
      }
    }
  }
  free_shapes(&shapes);
}

// Large enough for every library's rendezvous, and for the pool.
TOPIC(p2p_large_messages) {
  MPI_Datatype narrow = column(512);
  MPI_Datatype type;
  MPI_Type_create_resized(narrow, 0, sizeof(double), &type);
  MPI_Type_commit(&type);
  for (const int count : {8, 64, 512}) {
    context(std::to_string(count) + " columns");
    for (const auto& [mode, name] : kModes) compare(mode, count, type, count, type);
    compare(Mode::kSend, count - 3, type, count, type);
  }
  MPI_Type_free(&narrow);
  MPI_Type_free(&type);
}

// The receiver may have another type with the same signature, or none at all.
TOPIC(p2p_other_types) {
  MPI_Datatype columns = column(12), indexed, half;
  const int places[] = {40, 3, 77, 20, 9, 60, 51, 1, 33, 88, 14, 70};
  MPI_Type_create_indexed_block(12, 1, places, MPI_DOUBLE, &indexed);
  MPI_Type_vector(6, 1, 2, MPI_DOUBLE, &half);
  MPI_Type_commit(&indexed);
  MPI_Type_commit(&half);
  const std::tuple<MPI_Datatype, int> sides[] = {
      {columns, 1}, {indexed, 1}, {half, 2}, {MPI_DOUBLE, 12}};
  for (const auto& [sendtype, sent] : sides) {
    for (const auto& [recvtype, posted] : sides)
      compare(Mode::kSend, sent, sendtype, posted, recvtype);
  }
  for (MPI_Datatype* type : {&columns, &indexed, &half}) MPI_Type_free(type);

  // Mixed signature: it travels as MPI_PACKED, and is received member by member or as a struct.
  const int lengths[] = {1, 2};
  const MPI_Aint bytes[] = {0, 16};
  const MPI_Datatype members[] = {MPI_INT, MPI_DOUBLE};
  MPI_Datatype loose, dense;
  MPI_Type_create_struct(2, lengths, bytes, members, &loose);
  const MPI_Aint dense_bytes[] = {0, 4};
  MPI_Type_create_struct(2, lengths, dense_bytes, members, &dense);
  MPI_Type_commit(&loose);
  MPI_Type_commit(&dense);
  for (const int count : {1, 5}) {
    compare(Mode::kSend, count, loose, count, dense);
    compare(Mode::kSend, count, dense, count, loose);
    compare(Mode::kSend, count, loose, count, loose);
  }
  MPI_Type_free(&loose);
  MPI_Type_free(&dense);
}

// Short messages: whole elements, and one that ends inside an element (the count is then undefined,
// the elements are not).
TOPIC(p2p_short_messages) {
  MPI_Datatype type;
  MPI_Type_vector(7, 1, 3, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  for (int doubles = 0; doubles <= 22; ++doubles) {
    context(std::to_string(doubles) + " doubles");
    compare(Mode::kSend, doubles, MPI_DOUBLE, 4, type);
  }
  MPI_Type_free(&type);
}

TOPIC(p2p_wildcards_and_null) {
  MPI_Datatype type = column(16);
  Buffer buffer(type, 2), untouched(type, 2);
  buffer.fill(3);
  untouched.fill(3);
  MPI_Status status{};
  if (g_rank == 0) {
    for (int tag = 5; tag < 9; ++tag) MPI_Send(buffer.base(), 2, type, 1, tag, MPI_COMM_WORLD);
  } else {
    for (int tag = 5; tag < 9; ++tag) {
      Buffer to(type, 2);
      to.fill(3);
      status.MPI_ERROR = 4711;
      const int64_t calls = taken_by("MPI_Recv", [&] {
        MPI_Recv(to.base(), 2, type, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      });
      CHECK(calls == 1);
      CHECK(to == buffer);
      CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == tag);
      CHECK(status.MPI_ERROR == 4711);  // calls with one status leave it alone
    }
  }
  // MPI_PROC_NULL: declined, with the same status as without lacuna.
  const int64_t before = taken_in_all();
  std::vector<int> said[2];
  for (const bool on : {false, true}) {
    lacuna(on);
    const auto look = [&] {
      said[on].insert(said[on].end(),
                      {status.MPI_SOURCE, status.MPI_TAG, StatusView(status, type).count});
    };
    MPI_Send(buffer.base(), 2, type, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Recv(buffer.base(), 2, type, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status);
    look();
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
    MPI_Request request;
    MPI_Isend(buffer.base(), 2, type, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    MPI_Irecv(buffer.base(), 2, type, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);  // the status is not checked: MPICH 4.0 does not write it
    MPI_Sendrecv(buffer.base(), 2, type, MPI_PROC_NULL, 0, buffer.base(), 2, type, MPI_PROC_NULL, 0,
                 MPI_COMM_WORLD, &status);
    look();
  }
  CHECK(said[0] == said[1]);
  CHECK(buffer == untouched);
  CHECK(taken_in_all() == before);
  MPI_Type_free(&type);
}

// Absolute addresses on both sides.
TOPIC(p2p_bottom) {
  double data[60];
  for (int i = 0; i < 60; ++i) data[i] = g_rank == 0 ? i : -1;
  MPI_Aint places[20];
  for (int i = 0; i < 20; ++i) MPI_Get_address(&data[59 - 3 * i], &places[i]);
  MPI_Datatype type;
  MPI_Type_create_hindexed_block(20, 1, places, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  if (g_rank == 0) {
    CHECK(taken_by("MPI_Send", [&] { MPI_Send(MPI_BOTTOM, 1, type, 1, 0, MPI_COMM_WORLD); }) == 1);
  } else {
    CHECK(taken_by("MPI_Recv", [&] {
            MPI_Recv(MPI_BOTTOM, 1, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          }) == 1);
    for (int i = 0; i < 60; ++i) CHECK(data[i] == (i % 3 == 2 ? i : -1));
  }
  MPI_Type_free(&type);
}

// To oneself, probed, matched, on copies and on intercommunicators.
TOPIC(p2p_other_ways) {
  MPI_Datatype type = column(16);
  Buffer from(type, 1), to(type, 1);
  from.fill(1);
  MPI_Request request;
  to.fill(1 + static_cast<unsigned>(g_rank));
  MPI_Isend(from.base(), 1, type, 0, 0, MPI_COMM_SELF, &request);
  MPI_Recv(to.base(), 1, type, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);

  if (g_rank == 0) {
    MPI_Send(from.base(), 1, type, 1, 1, MPI_COMM_WORLD);
    MPI_Send(from.base(), 1, type, 1, 2, MPI_COMM_WORLD);
  } else {
    MPI_Status status;
    MPI_Probe(0, 1, MPI_COMM_WORLD, &status);
    CHECK(StatusView(status, type).count == 1);
    to.fill(1);
    MPI_Recv(to.base(), 1, type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(to == from);
    MPI_Message message;
    MPI_Mprobe(0, 2, MPI_COMM_WORLD, &message, &status);
    CHECK(StatusView(status, type).count == 1);
    to.fill(1);
    MPI_Mrecv(to.base(), 1, type, &message, &status);
    CHECK(to == from);
  }

  MPI_Comm alone, between;
  MPI_Comm_split(MPI_COMM_WORLD, g_rank, 0, &alone);
  MPI_Intercomm_create(alone, 0, MPI_COMM_WORLD, 1 - g_rank, 5, &between);
  to.fill(1);
  if (g_rank == 0) {
    MPI_Send(from.base(), 1, type, 0, 0, between);
  } else {
    MPI_Recv(to.base(), 1, type, 0, 0, between, MPI_STATUS_IGNORE);
    CHECK(to == from);
  }
  MPI_Comm_free(&between);
  MPI_Comm_free(&alone);
  MPI_Type_free(&type);
}

// Both sides of MPI_Sendrecv, each handled or not.
TOPIC(p2p_sendrecv) {
  std::vector<Shape> shapes = all_shapes();
  MPI_Datatype columns = column(9);
  const int other = 1 - g_rank;
  for (const Shape& shape : shapes) {
    for (const int count : {1, 5}) {
      context(shape.name + " x " + std::to_string(count));
      Buffer natively(shape.type, count), by_us(shape.type, count), from(shape.type, count);
      from.fill(static_cast<unsigned>(g_rank) + 1);
      MPI_Status status[2] = {};
      for (const bool on : {false, true}) {
        Buffer& to = on ? by_us : natively;
        to.fill(9);
        lacuna(on);
        MPI_Sendrecv(from.base(), count, shape.type, other, 4, to.base(), count, shape.type, other,
                     4, MPI_COMM_WORLD, &status[on]);
      }
      CHECK(by_us == natively);
      CHECK(StatusView(status[0], shape.type) == StatusView(status[1], shape.type));
    }
  }
  context("");
  // One side contiguous.
  double line[9], matrix[81];
  for (int i = 0; i < 81; ++i) matrix[i] = 100 * g_rank + i;
  CHECK(taken_by("MPI_Sendrecv", [&] {
          MPI_Sendrecv(matrix, 1, columns, other, 0, line, 9, MPI_DOUBLE, other, 0, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
        }) == 1);
  for (int i = 0; i < 9; ++i) CHECK(line[i] == 100 * other + 9 * i);
  CHECK(taken_by("MPI_Sendrecv", [&] {
          MPI_Sendrecv(line, 9, MPI_DOUBLE, other, 0, matrix + 1, 1, columns, other, 0,
                       MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }) == 1);
  for (int i = 0; i < 9; ++i) CHECK(matrix[9 * i + 1] == 100 * g_rank + 9 * i);
  MPI_Type_free(&columns);
  free_shapes(&shapes);
}

// The padding of long double: what arrives is what was sent, or what was in memory before, as with
// the library alone.
TOPIC(p2p_padding) {
  constexpr int kElement = 16, kStep = 2 * kElement;
  if (sizeof(long double) != kElement) return;
  // Elements without padding, too.
  const std::tuple<MPI_Datatype, int> elements[] = {{MPI_LONG_DOUBLE, 10},
                                                    {MPI_C_DOUBLE_COMPLEX, kElement}};
  for (const auto& [element, number_bytes] : elements) {
    for (const int count : {20, 5000}) {
      MPI_Datatype type;
      MPI_Type_vector(count, 1, 2, element, &type);
      MPI_Type_commit(&type);
      std::vector<unsigned char> from(static_cast<size_t>(count) * kStep);
      for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i % 100 + 1);
      for (const auto& on : kSides) {
        context("of " + std::to_string(count) + ", numbers of " + std::to_string(number_bytes) +
                ", sender " + std::to_string(on[0]) + ", receiver " + std::to_string(on[1]));
        std::vector<unsigned char> to(from.size(), 0xaa);
        lacuna(on[g_rank % 2]);
        if (g_rank == 0) MPI_Send(from.data(), 1, type, 1, kTag, MPI_COMM_WORLD);
        if (g_rank == 1) MPI_Recv(to.data(), 1, type, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        lacuna(true);
        bool right = true;
        for (size_t i = 0; g_rank == 1 && i < to.size(); ++i) {
          const int at = static_cast<int>(i) % kStep;
          right = right &&
                  ((at < kElement && to[i] == from[i]) || (at >= number_bytes && to[i] == 0xaa));
        }
        CHECK(right);
      }
      MPI_Type_free(&type);
    }
  }
}
