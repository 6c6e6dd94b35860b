// SPDX-License-Identifier: BSD-3-Clause
//
// New types: their first small messages are declined, large ones and persistent requests are
// handled at once; all arrive. (LACUNA_ALWAYS=0.)
#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int kRows = 16;
constexpr int kMostUses = 20;  // by then lacuna has analysed any type

struct Matrix {
  std::vector<double> from = std::vector<double>(kRows * kRows, 3);
  std::vector<double> packed = std::vector<double>(kRows, 0);

  bool pack(MPI_Datatype type) {
    std::fill(packed.begin(), packed.end(), 0.0);
    int position = 0;
    MPI_Pack(from.data(), 1, type, packed.data(), kRows * 8, &position, MPI_COMM_WORLD);
    return position == kRows * 8 && packed == std::vector<double>(kRows, 3);
  }
};

int uses_until_taken(MPI_Datatype type) {
  Matrix matrix;
  for (int use = 0; use < kMostUses; ++use) {
    const int64_t before = taken("MPI_Pack");
    CHECK(matrix.pack(type));
    if (taken("MPI_Pack") > before) return use;
  }
  return kMostUses;
}

std::vector<char> packed(Buffer& data, MPI_Datatype type, int count) {
  std::vector<char> stream(static_cast<size_t>(data_bytes(type, count)));
  int position = 0;
  MPI_Pack(data.base(), count, type, stream.data(), static_cast<int>(stream.size()), &position,
           MPI_COMM_WORLD);
  return stream;
}

}  // namespace

TOPIC(new_types_small_messages) {
  // Made for a few messages and freed: never handled, even if handles are reused.
  const int64_t before = taken_in_all();
  Matrix matrix;
  for (int i = 0; i < 50; ++i) {
    MPI_Datatype type = column(kRows);
    for (int use = 0; use < 4; ++use) CHECK(matrix.pack(type));
    MPI_Type_free(&type);
  }
  CHECK(taken_in_all() == before);
  // Kept: handled after a while, and from then on.
  MPI_Datatype type = column(kRows);
  const int uses = uses_until_taken(type);
  CHECK(uses > 0 && uses < kMostUses);
  CHECK(taken_by("MPI_Pack", [&] { CHECK(matrix.pack(type)); }) == 1);
  MPI_Type_commit(&type);  // once more: it is not new again
  CHECK(taken_by("MPI_Pack", [&] { CHECK(matrix.pack(type)); }) == 1);
  // A copy is never committed, and is analysed at once.
  MPI_Datatype copy;
  MPI_Type_dup(type, &copy);
  MPI_Type_free(&type);
  CHECK(taken_by("MPI_Pack", [&] { CHECK(matrix.pack(copy)); }) == 1);
  MPI_Type_free(&copy);
}

TOPIC(new_types_large_and_persistent) {
  // Large, and under the handle of a small one that was freed while it was new.
  std::vector<double> pairs(4096, 3), half(2048);
  for (int i = 0; i < 20; ++i) {
    MPI_Datatype small = column(kRows), large;
    CHECK(Matrix().pack(small));
    MPI_Type_free(&small);
    MPI_Type_vector(2048, 1, 2, MPI_DOUBLE, &large);
    MPI_Type_commit(&large);
    int position = 0;
    CHECK(taken_by("MPI_Pack", [&] {
            MPI_Pack(pairs.data(), 1, large, half.data(), 2048 * 8, &position, MPI_COMM_WORLD);
          }) == 1);
    MPI_Type_free(&large);
  }
  // 128 KiB in one call.
  constexpr int kMany = 128;
  MPI_Datatype narrow = column(kMany), type;
  MPI_Type_create_resized(narrow, 0, sizeof(double), &type);
  MPI_Type_commit(&type);
  std::vector<double> from(kMany * kMany, 2), to(kMany * kMany, 0);
  int position = 0;
  const int bytes = kMany * kMany * 8;
  CHECK(taken_by("MPI_Pack", [&] {
          MPI_Pack(from.data(), kMany, type, to.data(), bytes, &position, MPI_COMM_WORLD);
        }) == 1);
  CHECK(from == to);
  MPI_Type_free(&type);
  MPI_Type_free(&narrow);
  // An uncommitted type, a freed handle and MPI_DATATYPE_NULL are declined.
  MPI_Datatype null = MPI_DATATYPE_NULL;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  return_errors(comm);
  position = 0;
  const int handled = handled_errors();
  const int code = MPI_Pack(from.data(), 1, null, to.data(), bytes, &position, comm);
  CHECK(code != MPI_SUCCESS || handled_errors() > handled);
  MPI_Comm_free(&comm);
}

// A library must be able to receive what lacuna sends packed. MPICH 5.0.2 cannot receive some sizes
// into a struct unless it has sent them itself (policy.cpp, breaks_structs()).
TOPIC(new_types_structs_to_the_library) {
  const int peer = 1 - g_rank;
  for (const int doubles : {30, 1017, 1018, 1019, 1020, 1021, 1022, 4000}) {
    const int count = doubles == 30 ? 33 : 1;
    int lengths[] = {1, doubles, 4};
    MPI_Aint places[] = {0, 8, 8 + 8 * static_cast<MPI_Aint>(doubles)};
    MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR}, fields, type;
    MPI_Type_create_struct(3, lengths, places, types, &fields);
    MPI_Type_create_resized(fields, 0, 8 * doubles + 16, &type);
    MPI_Type_commit(&type);
    Buffer from(type, count), to(type, count);
    from.fill(1);
    to.fill(1);
    for (int turn = 0; turn < 12; ++turn) {
      lacuna(g_rank == 0);
      if (g_rank == 0) {
        MPI_Send(from.base(), count, type, peer, 0, MPI_COMM_WORLD);
      } else {
        to.fill(2);
        MPI_Recv(to.base(), count, type, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
      lacuna(true);
    }
    // The data of `from`, as rank 1 has it.
    CHECK(g_rank == 0 || packed(from, type, count) == packed(to, type, count));
    MPI_Type_free(&type);
    MPI_Type_free(&fields);
  }
}

// And to oneself, where MPICH sends pieces of another size; into pairs, which lacuna receives
// packed only if a token may come.
TOPIC(new_types_structs_to_oneself) {
  struct Pair {
    double number;
    int index;
  };
  MPI_Datatype two, type;
  MPI_Type_contiguous(2, MPI_DOUBLE_INT, &two);
  MPI_Type_create_resized(two, 0, 3 * sizeof(Pair), &type);
  MPI_Type_commit(&type);
  for (const int count : {10, 500, 690, 1000, 2000, 4000, 6000}) {
    const size_t n = static_cast<size_t>(count);
    std::vector<Pair> from(3 * n), to(2 * n, {-1, -1});
    for (size_t i = 0; i < from.size(); ++i)
      from[i] = {static_cast<double>(i), static_cast<int>(i)};
    for (const bool persistent : {false, true}) {
      MPI_Request request;
      if (persistent) {
        MPI_Send_init(from.data(), count, type, g_rank, 0, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
      } else {
        MPI_Isend(from.data(), count, type, g_rank, 0, MPI_COMM_WORLD, &request);
      }
      MPI_Recv(to.data(), 2 * count, MPI_DOUBLE_INT, g_rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      if (persistent) MPI_Request_free(&request);
      bool same = true;
      for (size_t i = 0; i < to.size(); ++i) {
        const Pair& sent = from[i / 2 * 3 + i % 2];
        same = same && to[i].number == sent.number && to[i].index == sent.index;
      }
      CHECK(same);
    }
  }
  MPI_Type_free(&type);
  MPI_Type_free(&two);
}

// And into structs without gaps, which lacuna leaves to the library. Their data of 13 bytes are cut
// at 8 KiB, as pairs are not.
TOPIC(new_types_tight_structs_to_oneself) {
  int lengths[] = {1, 1, 1};
  MPI_Aint wide[] = {0, 8, 16}, tight[] = {0, 4, 12};
  MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR}, fields[2], from_type, to_type;
  MPI_Type_create_struct(3, lengths, wide, types, &fields[0]);
  MPI_Type_create_struct(3, lengths, tight, types, &fields[1]);
  MPI_Type_create_resized(fields[0], 0, 24, &from_type);
  MPI_Type_create_resized(fields[1], 0, 13, &to_type);
  MPI_Type_commit(&from_type);
  MPI_Type_commit(&to_type);
  for (const int count : {10, 620, 631, 700, 900, 1230, 1300, 4000}) {
    Buffer from(from_type, count), to(to_type, count);
    from.fill(1);
    for (int turn = 0; turn < 12; ++turn) {
      to.fill(2);
      MPI_Request request;
      MPI_Irecv(to.base(), count, to_type, g_rank, 0, MPI_COMM_WORLD, &request);
      MPI_Send(from.base(), count, from_type, g_rank, 0, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    CHECK(packed(from, from_type, count) == packed(to, to_type, count));
  }
  for (MPI_Datatype* type : {&from_type, &to_type, &fields[0], &fields[1]}) MPI_Type_free(type);
}
