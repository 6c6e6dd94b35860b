// SPDX-License-Identifier: BSD-3-Clause
//
// Lifetimes of types: handles are reused at once; types are freed while messages are in flight,
// while they are parts of other types, and after they were copied. Each must get its own plan.
#include <malloc.h>

#include <cstring>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

// Allocated memory, in MiB. (Resident memory would also count fragmentation by leaks of the
// library: Debian's MPICH 4.0 leaks 64 bytes for each of these types in every second process,
// natively.)
double allocated_mib() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd) / (1 << 20);
}

int g_copied = 0;
int g_deleted = 0;
int copy_attribute(MPI_Datatype, int, void*, void* in, void* out, int* flag) {
  ++g_copied;
  *static_cast<void**>(out) = in;
  *flag = 1;
  return MPI_SUCCESS;
}
int delete_attribute(MPI_Datatype, int, void*, void*) {
  ++g_deleted;
  return MPI_SUCCESS;
}

// Packs from doubles 0, 1, 2, ... and checks that the stride and count are those the type was made
// with.
bool packs_right(MPI_Datatype type, int count, int stride) {
  static double from[4096], to[64];
  for (int i = 0; i < 4096; ++i) from[i] = i;
  int position = 0;
  MPI_Pack(from, 1, type, to, sizeof(to), &position, MPI_COMM_WORLD);
  bool right = position == count * 8;
  for (int i = 0; i < count; ++i) right = right && to[i] == i * stride;
  return right;
}

}  // namespace

// The library gives the handle of a freed type to the next one.
TOPIC(lifetime_handles_are_reused) {
  bool right = true;
  const int64_t calls = taken_by("MPI_Pack", [&] {
    for (int i = 0; i < 3000; ++i) {
      const int count = 2 + i % 60, stride = 2 + i % 50;
      MPI_Datatype type;
      MPI_Type_vector(count, 1, stride, MPI_DOUBLE, &type);
      MPI_Type_commit(&type);
      right = right && packs_right(type, count, stride);
      MPI_Type_free(&type);
    }
  });
  CHECK(right);
  CHECK(calls == 3000);
  // The same with messages, and types that are freed while they are on their way.
  right = true;
  for (int i = 0; i < 300; ++i) {
    const int count = 2 + i % 60, stride = 2 + i % 50;
    double from[4096], to[4096], line[64];
    for (int k = 0; k < 4096; ++k) from[k] = k + i;
    std::memset(to, 0, sizeof(to));
    MPI_Request requests[3];
    for (int turn = 0; turn < 2; ++turn) {
      MPI_Datatype type;
      MPI_Type_vector(count, 1, stride, MPI_DOUBLE, &type);
      MPI_Type_commit(&type);
      if (turn == 0) {
        MPI_Irecv(to, 1, type, 1 - g_rank, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(line, count, MPI_DOUBLE, 1 - g_rank, 1, MPI_COMM_WORLD, &requests[1]);
      } else {
        MPI_Isend(from, 1, type, 1 - g_rank, 0, MPI_COMM_WORLD, &requests[2]);
        MPI_Send(from, 1, type, 1 - g_rank, 1, MPI_COMM_WORLD);
      }
      MPI_Type_free(&type);
    }
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < count; ++k)
      right = right && to[k * stride] == k * stride + i && line[k] == k * stride + i;
    right = right && to[1] == 0;
  }
  CHECK(right);
}

// Parts may be freed before the whole is used, and a copy outlives its original.
TOPIC(lifetime_parts_and_copies) {
  MPI_Datatype part, whole, copy;
  MPI_Type_vector(4, 1, 3, MPI_DOUBLE, &part);
  MPI_Type_commit(&part);
  CHECK(packs_right(part, 4, 3));  // the part has a plan of its own
  MPI_Type_create_resized(part, 0, 12 * sizeof(double), &whole);
  MPI_Type_free(&part);
  MPI_Type_contiguous(3, whole, &part);
  MPI_Type_free(&whole);
  MPI_Type_commit(&part);
  CHECK(taken_by("MPI_Pack", [&] { CHECK(packs_right(part, 12, 3)); }) == 1);
  MPI_Type_dup(part, &copy);
  MPI_Type_free(&part);
  CHECK(taken_by("MPI_Pack", [&] { CHECK(packs_right(copy, 12, 3)); }) == 1);
  MPI_Type_dup(copy, &part);
  MPI_Type_free(&copy);
  MPI_Type_vector(5, 1, 7, MPI_DOUBLE, &copy);  // probably the old handle
  MPI_Type_commit(&copy);
  CHECK(packs_right(copy, 5, 7));
  CHECK(packs_right(part, 12, 3));
  MPI_Type_free(&part);
  MPI_Type_free(&copy);
}

// The program's own attributes on types work as natively, with callbacks at the same moments.
TOPIC(lifetime_with_attributes) {
  std::vector<int> seen[2];
  for (const bool on : {false, true}) {
    lacuna(on);
    g_copied = g_deleted = 0;
    const auto look = [&] {
      seen[on].push_back(g_copied);
      seen[on].push_back(g_deleted);
    };
    int keyval;
    MPI_Type_create_keyval(copy_attribute, delete_attribute, &keyval, nullptr);
    MPI_Datatype type, copy;
    MPI_Type_vector(4, 1, 3, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    int value = 7;
    MPI_Type_set_attr(type, keyval, &value);
    CHECK(packs_right(type, 4, 3));
    MPI_Type_dup(type, &copy);
    look();
    CHECK(packs_right(copy, 4, 3));
    void* found = nullptr;
    int flag = 0;
    MPI_Type_get_attr(copy, keyval, &found, &flag);
    CHECK(flag != 0 && found == &value);
    MPI_Type_free(&type);
    look();
    CHECK(packs_right(copy, 4, 3));
    MPI_Type_free(&copy);
    look();
    MPI_Type_free_keyval(&keyval);
  }
  CHECK(seen[0] == seen[1]);
  CHECK(seen[1].back() == 2);
}

// A receive into a type that was freed, with the handle already taken by another, while the message
// was on its way.
TOPIC(lifetime_free_in_flight) {
  MPI_Datatype type, other;
  double matrix[64] = {}, also[64] = {}, line[8];
  MPI_Request requests[2];
  for (int i = 0; i < 8; ++i) line[i] = i + 1;
  MPI_Type_vector(8, 1, 8, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  MPI_Irecv(matrix, 1, type, 1 - g_rank, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Type_free(&type);
  MPI_Type_vector(8, 1, 4, MPI_DOUBLE, &other);
  MPI_Type_commit(&other);
  MPI_Irecv(also, 1, other, 1 - g_rank, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Type_free(&other);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Send(line, 8, MPI_DOUBLE, 1 - g_rank, 1, MPI_COMM_WORLD);
  MPI_Send(line, 8, MPI_DOUBLE, 1 - g_rank, 0, MPI_COMM_WORLD);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(taken("MPI_Irecv") == 2);
  for (int i = 0; i < 64; ++i) CHECK(matrix[i] == (i % 8 == 0 ? i / 8 + 1 : 0));
  for (int i = 0; i < 64; ++i) CHECK(also[i] == (i % 4 == 0 && i < 32 ? i / 4 + 1 : 0));
}

// No memory grows with the number of types: neither lacuna's nor the library's (handles from
// MPI_Type_get_contents).
TOPIC(lifetime_no_leak) {
  const auto cycle = [](int times) {
    for (int i = 0; i < times; ++i) {
      MPI_Datatype inner, middle, outer;
      MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &inner);
      const int lengths[] = {1, 1};
      const MPI_Aint bytes[] = {0, 64};
      const MPI_Datatype members[] = {inner, inner};
      MPI_Type_create_struct(2, lengths, bytes, members, &middle);
      MPI_Type_create_resized(middle, 0, 128, &outer);
      MPI_Type_commit(&outer);
      double from[32] = {}, to[4];
      int position = 0;
      MPI_Pack(from, 1, outer, to, sizeof(to), &position, MPI_COMM_WORLD);
      MPI_Type_free(&inner);
      MPI_Type_free(&middle);
      MPI_Type_free(&outer);
    }
  };
  cycle(2000);  // until all pools are warm
  const double before = allocated_mib();
  CHECK(taken_by("MPI_Pack", [&] { cycle(20000); }) == 20000);
  const double grown = allocated_mib() - before;
  context(std::to_string(grown) + " MiB");
  CHECK(grown < 2);
}
