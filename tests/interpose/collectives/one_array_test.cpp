// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives that send parts of one array and receive into others, as a halo exchange does: both
// buffers are the same address. MPICH and its kin refuse some such calls, and lacuna must not hide
// that.
#include <mpi.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int kCount = 4;
constexpr MPI_Aint kExtent = 2048;      // bytes of an element with its gaps
constexpr MPI_Aint kIn = 128 << 10;     // what is received lies so far behind what is sent
constexpr size_t kDoubles = 256 << 10;  // room for 16 ranks

// 64 doubles, every third, from `offset` on.
MPI_Datatype column_at(MPI_Aint offset) {
  MPI_Datatype inner, shifted, type;
  MPI_Type_vector(64, 1, 3, MPI_DOUBLE, &inner);
  const int one = 1;
  MPI_Type_create_hindexed(1, &one, &offset, inner, &shifted);
  MPI_Type_create_resized(shifted, 0, kExtent, &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&inner);
  MPI_Type_free(&shifted);
  return type;
}

// What the calls are made of: the same data by displacements, and by types.
struct Arguments {
  explicit Arguments(MPI_Comm on) : comm(on), out(column_at(0)), in(column_at(kIn)) {
    const size_t pairs = std::max<size_t>(2, static_cast<size_t>(g_size));
    counts.assign(pairs, kCount);
    other_counts = counts;
    outs.assign(pairs, out);
    ins.assign(pairs, in);
    for (int i = 0; i < static_cast<int>(pairs); ++i) {
      from.push_back(i * kCount);
      to.push_back(i * kCount + static_cast<int>(kIn / kExtent));
      from_bytes.push_back(i * kCount * static_cast<int>(kExtent));
      from_aint.push_back(from_bytes.back());
      to_aint.push_back(from_bytes.back() + kIn);
    }
  }
  ~Arguments() {
    MPI_Type_free(&out);
    MPI_Type_free(&in);
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  MPI_Comm comm;
  MPI_Datatype out, in;
  std::vector<int> counts, other_counts, from, to, from_bytes;
  std::vector<MPI_Aint> from_aint, to_aint;
  std::vector<MPI_Datatype> outs, ins;
};

using Call = std::function<int(double* g)>;

double before(size_t i, int rank) { return static_cast<double>(i) + 0.25 * rank; }

std::vector<double> array_before() {
  std::vector<double> array(kDoubles);
  for (size_t i = 0; i < kDoubles; ++i) array[i] = before(i, g_rank);
  return array;
}

// kCount elements of a rank, from this one on; a rank of -1: none.
struct Elements {
  int rank;
  int first;
};

// What this rank receives as its elements `pair` * kCount and following.
using Received = Elements (*)(int pair);
Elements all_to_all(int pair) { return {pair, g_rank * kCount}; }
Elements gathered_by_all(int pair) { return {pair, 0}; }
Elements gathered(int pair) { return {g_rank == 0 ? pair : -1, 0}; }
Elements scattered(int pair) { return {pair == 0 ? 0 : -1, g_rank * kCount}; }

// The array is as MPI defines it. (Open MPI and Intel MPI move such types wrongly in some calls:
// docs/internals/defects.md.)
void expect(const char* function, const Call& call, Received received) {
  context(function);
  std::vector<double> array = array_before(), expected = array;
  constexpr size_t kOf = kExtent / sizeof(double);
  for (int pair = 0; pair < g_size; ++pair) {
    const Elements from = received(pair);
    for (int e = 0; e < kCount && from.rank >= 0; ++e) {
      for (size_t k = 0; k < 64; ++k) {
        const size_t to = static_cast<size_t>(pair * kCount + e) * kOf + kIn / sizeof(double);
        expected[to + 3 * k] = before(static_cast<size_t>(from.first + e) * kOf + 3 * k, from.rank);
      }
    }
  }
  const int64_t taken = taken_by(function, [&] { CHECK(call(array.data()) == MPI_SUCCESS); });
  CHECK(array == expected);
  CHECK(taken > 0);
  context("");
}

// The same array, and the same error class, as without lacuna.
void compare(const char* function, const Call& call, bool is_handled) {
  context(function);
  std::vector<double> array = array_before(), plain = array;
  lacuna(false);
  const int plain_class = class_of(call(plain.data()));
  lacuna(true);
  int got = 0;
  const int64_t taken = taken_by(function, [&] { got = class_of(call(array.data())); });
  CHECK(got == plain_class);
  CHECK(array == plain);
  CHECK((taken > 0) == is_handled);
  context("");
}

int wait_for(int code, MPI_Request* request) {
  return code == MPI_SUCCESS ? MPI_Wait(request, MPI_STATUS_IGNORE) : code;
}

}  // namespace

TOPIC(collectives_of_one_array) {
  if (g_size > 16) return;
  return_errors(MPI_COMM_WORLD);
  const Arguments a(MPI_COMM_WORLD);
  expect(
      "MPI_Alltoall",
      [&](double* g) { return MPI_Alltoall(g, kCount, a.out, g, kCount, a.in, a.comm); },
      all_to_all);
  expect(
      "MPI_Alltoallv",
      [&](double* g) {
        return MPI_Alltoallv(g, a.counts.data(), a.from.data(), a.out, g, a.other_counts.data(),
                             a.to.data(), a.out, a.comm);
      },
      all_to_all);
  expect(
      "MPI_Alltoallw",
      [&](double* g) {
        return MPI_Alltoallw(g, a.counts.data(), a.from_bytes.data(), a.outs.data(), g,
                             a.counts.data(), a.from_bytes.data(), a.ins.data(), a.comm);
      },
      all_to_all);
  const Call ialltoallw = [&](double* g) {
    MPI_Request request;
    const int code =
        MPI_Ialltoallw(g, a.counts.data(), a.from_bytes.data(), a.outs.data(), g, a.counts.data(),
                       a.from_bytes.data(), a.ins.data(), a.comm, &request);
    return wait_for(code, &request);
  };
#if defined(LACUNA_MPI_FAMILY_OMPI)  // which takes these buffers for MPI_IN_PLACE
  compare("MPI_Ialltoallw", ialltoallw, false);
#else
  expect("MPI_Ialltoallw", ialltoallw, all_to_all);
#endif
  expect(
      "MPI_Allgather",
      [&](double* g) { return MPI_Allgather(g, kCount, a.out, g, kCount, a.in, a.comm); },
      gathered_by_all);
  expect(
      "MPI_Gather",
      [&](double* g) { return MPI_Gather(g, kCount, a.out, g, kCount, a.in, 0, a.comm); },
      gathered);
  expect(
      "MPI_Scatter",
      [&](double* g) { return MPI_Scatter(g, kCount, a.out, g, kCount, a.in, 0, a.comm); },
      scattered);
  // MPICH refuses these, whatever the displacements.
  compare(
      "MPI_Alltoallv",
      [&](double* g) {
        return MPI_Alltoallv(g, a.counts.data(), a.from.data(), a.out, g, a.counts.data(),
                             a.to.data(), a.out, a.comm);
      },
      false);
  compare(
      "MPI_Alltoallw",
      [&](double* g) {
        std::vector<int> to(a.from_bytes);
        for (int& place : to) place += static_cast<int>(kIn);
        return MPI_Alltoallw(g, a.counts.data(), a.from_bytes.data(), a.outs.data(), g,
                             a.counts.data(), to.data(), a.outs.data(), a.comm);
      },
      false);
}

TOPIC(neighborhoods_of_one_array) {
  if (g_size > 16) return;
  MPI_Comm ring;
  const int periodic = 1;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &g_size, &periodic, 0, &ring);
  return_errors(ring);
  const Arguments a(ring);
  compare(
      "MPI_Neighbor_alltoall",
      [&](double* g) { return MPI_Neighbor_alltoall(g, kCount, a.out, g, kCount, a.in, ring); },
      true);
  compare(
      "MPI_Neighbor_alltoallv",
      [&](double* g) {
        return MPI_Neighbor_alltoallv(g, a.counts.data(), a.from.data(), a.out, g, a.counts.data(),
                                      a.to.data(), a.out, ring);
      },
      true);
  compare(
      "MPI_Neighbor_alltoallw",
      [&](double* g) {
        return MPI_Neighbor_alltoallw(g, a.counts.data(), a.from_aint.data(), a.outs.data(), g,
                                      a.counts.data(), a.to_aint.data(), a.outs.data(), ring);
      },
      true);
  compare(
      "MPI_Ineighbor_alltoallw",
      [&](double* g) {
        MPI_Request request;
        const int code = MPI_Ineighbor_alltoallw(g, a.counts.data(), a.from_aint.data(),
                                                 a.outs.data(), g, a.counts.data(),
                                                 a.to_aint.data(), a.outs.data(), ring, &request);
        return wait_for(code, &request);
      },
      true);
  compare(
      "MPI_Neighbor_allgather",
      [&](double* g) { return MPI_Neighbor_allgather(g, kCount, a.out, g, kCount, a.in, ring); },
      true);
  compare(
      "MPI_Neighbor_allgatherv",
      [&](double* g) {
        return MPI_Neighbor_allgatherv(g, kCount, a.out, g, a.counts.data(), a.to.data(), a.out,
                                       ring);
      },
      true);
  MPI_Comm_free(&ring);
}
