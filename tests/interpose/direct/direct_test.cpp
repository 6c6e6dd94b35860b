// SPDX-License-Identifier: BSD-3-Clause
//
// What only the direct path can get wrong: messages that look like tokens, pieces, and statuses
// (probes: tokens/probe_test.cpp). The other topics run with LACUNA_DIRECT=1, too.
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/interpose/direct/numbers.hpp"
#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

// Newer than MPI 3.1.
const auto Isendrecv =
    newer<int (*)(const void*, int, MPI_Datatype, int, int, void*, int, MPI_Datatype, int, int,
                  MPI_Comm, MPI_Request*)>("MPI_Isendrecv");
struct DoubleInt {
  double value;
  int index;
  bool operator==(const DoubleInt& other) const = default;
};

int receive_pairs(int way, std::vector<DoubleInt>& got, int count, MPI_Datatype type) {
  constexpr int kTag = 11;
  MPI_Request request;
  MPI_Message message;
  switch (way) {
    case 0:
      return MPI_Recv(got.data(), count, type, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    case 1:
      MPI_Irecv(got.data(), count, type, 0, kTag, MPI_COMM_WORLD, &request);
      return MPI_Wait(&request, MPI_STATUS_IGNORE);
    case 2:
      MPI_Mprobe(0, kTag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
      return MPI_Mrecv(got.data(), count, type, &message, MPI_STATUS_IGNORE);
    case 3:
      return MPI_Sendrecv(nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, got.data(), count, type, 0, kTag,
                          MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    default:
      MPI_Recv_init(got.data(), count, type, 0, kTag, MPI_COMM_WORLD, &request);
      MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      return MPI_Request_free(&request);
  }
}

}  // namespace

// Into a predefined type with gaps, whose handle in MPICH differs from other predefined ones.
TOPIC(direct_pairs) {
  constexpr size_t kPairs = 20000;
  MPI_Datatype every_other, twice;
  MPI_Type_vector(kPairs, 1, 2, MPI_DOUBLE_INT, &every_other);
  MPI_Type_contiguous(2, MPI_DOUBLE_INT, &twice);
  MPI_Type_commit(&every_other);
  MPI_Type_commit(&twice);
  std::vector<DoubleInt> sent(2 * kPairs);
  for (int way = 0; way < 10; ++way) {
    context("way " + std::to_string(way));
    for (size_t i = 0; i < sent.size(); ++i) sent[i] = {0.5 * double(i) + way, int(i)};
    if (g_rank == 0) MPI_Send(sent.data(), 1, every_other, 1, 11, MPI_COMM_WORLD);
    if (g_rank == 1) {
      std::vector<DoubleInt> got(kPairs);
      const bool by_two = way >= 5;
      CHECK(receive_pairs(way % 5, got, by_two ? kPairs / 2 : kPairs,
                          by_two ? twice : MPI_DOUBLE_INT) == MPI_SUCCESS);
      bool same = true;
      for (size_t i = 0; i < kPairs; ++i) same = same && got[i] == sent[2 * i];
      CHECK(same);
    }
  }
  // One pair more, of which only the value arrives.
  const int ones[] = {1, 1};
  const MPI_Aint places[] = {0, 2 * kPairs * sizeof(DoubleInt)};
  const MPI_Datatype parts[] = {every_other, MPI_DOUBLE};
  MPI_Datatype and_a_value;
  MPI_Type_create_struct(2, ones, places, parts, &and_a_value);
  MPI_Type_commit(&and_a_value);
  sent.push_back({-7, -7});
  if (g_rank == 0) MPI_Send(sent.data(), 1, and_a_value, 1, 11, MPI_COMM_WORLD);
  if (g_rank == 1) {
    std::vector<DoubleInt> got(kPairs + 2, DoubleInt{3, 3});
    CHECK(receive_pairs(0, got, kPairs + 2, MPI_DOUBLE_INT) == MPI_SUCCESS);
    bool same = true;
    for (size_t i = 0; i < kPairs; ++i) same = same && got[i] == sent[2 * i];
    CHECK(same);
    CHECK((got[kPairs] == DoubleInt{-7, 3}));
    CHECK((got[kPairs + 1] == DoubleInt{3, 3}));
  }
  MPI_Type_free(&and_a_value);
  MPI_Type_free(&every_other);
  MPI_Type_free(&twice);
}

// MPI_Isendrecv, whose status does not say how much was received: types of several basic types,
// messages of all sizes, receives that are longer than the message.
TOPIC(direct_isendrecv_of_structs) {
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {0, 8};
  const MPI_Datatype members[] = {MPI_DOUBLE, MPI_INT};
  MPI_Datatype packed, type;
  MPI_Type_create_struct(2, lengths, places, members, &packed);
  MPI_Type_create_resized(packed, 0, sizeof(DoubleInt), &type);
  MPI_Type_commit(&type);
  const int other = 1 - g_rank;
  for (const size_t count : {size_t{1}, size_t{4}, size_t{40}, size_t{400}, size_t{20000}}) {
    for (MPI_Datatype received : {type, MPI_DOUBLE_INT}) {
      if (g_rank > 1) break;
      context(std::to_string(count));
      const size_t room = count + 10;
      std::vector<DoubleInt> sent(count);
      std::vector<DoubleInt> got(room, DoubleInt{3, 3});
      for (size_t i = 0; i < count; ++i) sent[i] = {double(i) + g_rank, int(i) - g_rank};
      MPI_Request request;
      const int given = static_cast<int>(count);
      const int wanted = static_cast<int>(room);
      if (Isendrecv != nullptr) {
        Isendrecv(sent.data(), given, type, other, 13, got.data(), wanted, received, other, 13,
                  MPI_COMM_WORLD, &request);
      } else {
        MPI_Irecv(got.data(), wanted, received, other, 13, MPI_COMM_WORLD, &request);
        MPI_Send(sent.data(), given, type, other, 13, MPI_COMM_WORLD);
      }
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      bool same = true;
      for (size_t i = 0; i < room; ++i) {
        const DoubleInt want =
            i < count ? DoubleInt{double(i) + other, int(i) - other} : DoubleInt{3, 3};
        same = same && got[i] == want;
      }
      CHECK(same);
    }
  }
  MPI_Type_free(&packed);
  MPI_Type_free(&type);
}

// Into whole rows of a matrix, one run that does not begin with the buffer: sent with gaps, as one
// run, and in as few bytes as are packed.
TOPIC(direct_one_run) {
  constexpr int kRow = kCount / 4;
  for (const int rows : {1, 4}) {
    const int sizes[] = {8, rows == 1 ? 10 : kRow};
    const int part[] = {rows, sizes[1]};
    const int starts[] = {3, 0};
    MPI_Datatype place;
    MPI_Type_create_subarray(2, sizes, part, starts, MPI_ORDER_C, MPI_DOUBLE, &place);
    MPI_Type_commit(&place);
    const int all = rows * sizes[1];
    MPI_Datatype type = column(all, 3);
    for (int turn = 0; turn < 4; ++turn) {
      context(std::to_string(rows) + " rows, turn " + std::to_string(turn));
      const std::vector<double> sent = numbers(turn);
      std::vector<double> matrix(size_t{8} * static_cast<size_t>(sizes[1]), -1.0);
      const bool is_dense = turn % 2 == 1;
      if (g_rank == 0) {
        if (is_dense) {
          MPI_Send(sent.data() - 3 * sizes[1], 1, place, 1, 12, MPI_COMM_WORLD);
        } else {
          MPI_Send(sent.data(), 1, type, 1, 12, MPI_COMM_WORLD);
        }
      } else if (g_rank == 1) {
        MPI_Recv(matrix.data(), 1, place, 0, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        const auto begin = static_cast<size_t>(3 * sizes[1]);
        bool same = true;
        for (size_t i = 0; i < matrix.size(); ++i) {
          const bool is_got = i >= begin && i < begin + static_cast<size_t>(all);
          const size_t from = (i - begin) * (is_dense ? 1 : 3);
          same = same && matrix[i] == (is_got ? sent[from] : -1.0);
        }
        CHECK(same);
      }
    }
    MPI_Type_free(&place);
    MPI_Type_free(&type);
  }
}

// MPI_Request_get_status and the call that completes the request return the same status.
TOPIC(direct_statuses) {
  MPI_Datatype type = column(kCount, 3);
  if (g_rank == 0) {
    MPI_Send(numbers(3).data(), 1, type, 1, 1, MPI_COMM_WORLD);
  } else if (g_rank == 1) {
    MPI_Request request;
    MPI_Status status{};
    std::vector<double> got(kCount);
    MPI_Irecv(got.data(), kCount, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, &request);
    int flag = 0;
    while (flag == 0) MPI_Request_get_status(request, &flag, &status);
    CHECK(bytes_in(status) == kBytes);
    CHECK(is_packed(got, 3));
    MPI_Wait(&request, &status);
    CHECK(bytes_in(status) == kBytes);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Type_free(&type);
}

// A receive too small for the payload, but large enough for a token: MPI_ERR_TRUNCATE from every
// kind of receive.
TOPIC(direct_truncation) {
  MPI_Datatype type = column(kCount, 3);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  return_errors(comm);
  return_errors(MPI_COMM_WORLD);  // MPICH raises errors of MPI_Waitall there
  const auto class_of = [](int code) {
    int error_class = code;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &error_class);
    return error_class;
  };
  for (int way = 0; way < 3; ++way) {
    context("way " + std::to_string(way));
    if (g_rank == 0) {
      MPI_Send(numbers(4).data(), 1, type, 1, 1, comm);
    } else if (g_rank == 1) {
      std::vector<double> got(kCount, -1);
      MPI_Status status{};
      MPI_Request request = MPI_REQUEST_NULL;
      if (way == 0) {
        CHECK(class_of(MPI_Recv(got.data(), 100, MPI_DOUBLE, 0, 1, comm, &status)) ==
              MPI_ERR_TRUNCATE);
      } else if (way == 1) {
        MPI_Irecv(got.data(), 100, MPI_DOUBLE, 0, 1, comm, &request);
        CHECK(class_of(MPI_Wait(&request, &status)) == MPI_ERR_TRUNCATE);
      } else {
        MPI_Irecv(got.data(), 100, MPI_DOUBLE, 0, 1, comm, &request);
        CHECK(class_of(MPI_Waitall(1, &request, &status)) == MPI_ERR_IN_STATUS);
        CHECK(class_of(status.MPI_ERROR) == MPI_ERR_TRUNCATE);
      }
      // MPICH's and Intel MPI's statuses count the bytes that were received.
#if defined(LACUNA_MPI_FAMILY_OMPI)
      CHECK(bytes_in(status) == kBytes);
#else
      CHECK(bytes_in(status) == 100 * 8);
#endif
      const std::vector<double> sent = numbers(4);
      for (size_t i = 0; i < 100; ++i) CHECK(got[i] == sent[3 * i]);
      CHECK(got[100] == -1);
    }
    MPI_Barrier(comm);
  }
  MPI_Comm_free(&comm);
  MPI_Type_free(&type);
}

// Payloads of one piece and of many, which end in the middle of a line, of a piece and of what is
// packed at once: runs that all have one length, runs of many lengths, and rows that become
// columns.
TOPIC(direct_pieces) {
  for (const int blocks : {511, 513, 2050, 4099, 20011, 120007, 300007}) {
    std::vector<int> lengths(static_cast<size_t>(blocks / 2)), places(lengths.size());
    for (size_t i = 0; i < lengths.size(); ++i) {
      lengths[i] = 1 + static_cast<int>(i % 3);
      places[i] = static_cast<int>(6 * i);
    }
    const int edge = static_cast<int>(std::sqrt(blocks));
    MPI_Datatype one_column = column(edge, edge);
    MPI_Datatype shifted, types[3];
    MPI_Type_create_resized(one_column, 0, 8, &shifted);
    MPI_Type_vector(blocks, 1, 3, MPI_DOUBLE, &types[0]);
    MPI_Type_indexed(static_cast<int>(lengths.size()), lengths.data(), places.data(), MPI_DOUBLE,
                     &types[1]);
    MPI_Type_contiguous(edge, shifted, &types[2]);
    std::vector<double> memory(static_cast<size_t>(blocks) * 3);
    for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<double>(i);
    for (int kind = 0; kind < 3; ++kind) {
      context(std::to_string(blocks) + " blocks, kind " + std::to_string(kind));
      MPI_Datatype type = types[kind];
      MPI_Type_commit(&type);
      std::vector<double> sent;
      if (kind == 0) {
        for (int i = 0; i < blocks; ++i) sent.push_back(3.0 * i);
      } else if (kind == 1) {
        for (size_t i = 0; i < lengths.size(); ++i)
          for (int k = 0; k < lengths[i]; ++k) sent.push_back(static_cast<double>(places[i] + k));
      } else {
        for (int c = 0; c < edge; ++c)
          for (int r = 0; r < edge; ++r) sent.push_back(static_cast<double>(r * edge + c));
      }
      const int count = static_cast<int>(sent.size());
      if (g_rank == 0) {
        MPI_Send(memory.data(), 1, type, 1, 3, MPI_COMM_WORLD);
        MPI_Send(memory.data(), 1, type, 1, 4, MPI_COMM_WORLD);
      } else if (g_rank == 1) {
        std::vector<double> flat(sent.size() + 1, -1), apart(memory.size(), -1);
        MPI_Recv(flat.data(), count, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(flat.back() == -1);
        flat.pop_back();
        CHECK(flat == sent);
        MPI_Recv(apart.data(), 1, type, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        int64_t there = 0;
        bool same = true;
        for (size_t i = 0; i < apart.size(); ++i) {
          there += apart[i] == memory[i];
          same = same && (apart[i] == memory[i] || apart[i] == -1);
        }
        CHECK(same && there == count);
      }
      MPI_Type_free(&type);
    }
    MPI_Type_free(&shifted);
    MPI_Type_free(&one_column);
  }
}

// More unread messages than an arena holds: the rest are sent by the library, and all arrive.
TOPIC(direct_many_unread) {
  constexpr int kMessages = 200;
  MPI_Datatype type = column(kCount, 3);
  if (g_rank == 0) {
    std::vector<MPI_Request> requests(kMessages);
    std::vector<std::vector<double>> data;
    for (int i = 0; i < kMessages; ++i) data.push_back(numbers(i));
    for (int i = 0; i < kMessages; ++i) {
      const auto at = static_cast<size_t>(i);
      MPI_Isend(data[at].data(), 1, type, 1, i, MPI_COMM_WORLD, &requests[at]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Waitall(kMessages, requests.data(), MPI_STATUSES_IGNORE);
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = kMessages; g_rank == 1 && i-- > 0;) {
      std::vector<double> got(kCount);
      MPI_Recv(got.data(), kCount, MPI_DOUBLE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(is_packed(got, i));
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Type_free(&type);
}
