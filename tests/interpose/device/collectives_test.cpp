// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives whose data are in a CUDA device's memory, in all ranks or in some.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/interpose/device/memory.hpp"
#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int kCount = 40;

// Which ranks have their data on a device: all, the first alone, all but the first.
enum class Pattern { kDevice, kFirst, kLast };
constexpr Pattern kPatterns[] = {Pattern::kDevice, Pattern::kFirst, Pattern::kLast};
On place(Pattern pattern) {
  if (pattern == Pattern::kDevice) return On::kDevice;
  return (g_rank == 0) == (pattern == Pattern::kFirst) ? On::kDevice : On::kHost;
}

// A call on data of `pairs` elements for each rank, once on the host without lacuna, and once where
// the pattern says. `call` gets the two buffers.
template <typename Call>
void compare(const std::string& what, Pattern pattern, MPI_Datatype type, const Call& call) {
  context(what + ", pattern " + std::to_string(static_cast<int>(pattern)));
  const int all = kCount * g_size;
  const auto seed = static_cast<unsigned>(g_rank);
  const Elements plain_out(On::kHost, type, all, seed), plain_in(On::kHost, type, all, 50 + seed);
  lacuna(false);
  call(plain_out.base(), plain_in.base());
  lacuna(true);
  const Elements out(place(pattern), type, all, seed), in(place(pattern), type, all, 50 + seed);
  call(out.base(), in.base());
  CHECK(in.read() == plain_in.read());
  CHECK(out.read() == plain_out.read());
  context("");
}

}  // namespace

// The parts of a side share launches and waits: small ones a launch, all of them a wait.
TOPIC(device_collectives_fused) {
  if (!start_device() || !is_fake_device()) return;
  MPI_Datatype type = column(1024, 3);
  MPI_Aint lb = 0, extent = 0;
  MPI_Type_get_extent(type, &lb, &extent);
  const auto ranks = static_cast<size_t>(g_size);
  // Of one rank 17 columns, which are more than 64 KiB; of the others 2.
  std::vector<int> counts(ranks, 2), all_counts(ranks), places(ranks);
  if (g_rank == 0) std::fill(counts.begin(), counts.end(), 17);
  for (size_t i = 0; i < ranks; ++i) {
    all_counts[i] = i == 0 ? 17 : 2;
    places[i] = static_cast<int>(extent) * 17 * static_cast<int>(i);
  }
  const std::vector<MPI_Datatype> types(ranks, type);
  const Elements out(On::kDevice, type, 17 * g_size, static_cast<unsigned>(g_rank));
  const Elements in(On::kDevice, type, 17 * g_size, 7);
  for (int i = 0; i < 2; ++i) {
    const long launches = fake_count("fake_launches"), waits = fake_count("fake_waits");
    MPI_Request request;
    MPI_Ialltoallw(out.base(), counts.data(), places.data(), types.data(), in.base(),
                   all_counts.data(), places.data(), types.data(), MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    // Rank 0 packs long parts; each rank unpacks one, and the short ones in one launch.
    CHECK(fake_count("fake_launches") - launches == (g_rank == 0 ? g_size : 1) + 2);
    CHECK(fake_count("fake_waits") - waits == 2);
  }
  MPI_Type_free(&type);
}

TOPIC(device_collectives) {
  if (!start_device()) return;
  MPI_Datatype type = column(8, 3);
  MPI_Datatype chunk;  // without gaps, beside it
  MPI_Type_contiguous(8, MPI_DOUBLE, &chunk);
  MPI_Type_commit(&chunk);
  const auto ranks = static_cast<size_t>(g_size);
  std::vector<int> counts(ranks), displacements(ranks), bytes(ranks);
  std::vector<MPI_Datatype> types(ranks, type), mixed(ranks, type);
  MPI_Aint lb = 0, extent = 0;
  MPI_Type_get_extent(type, &lb, &extent);
  for (size_t i = 0; i < ranks; ++i) {
    counts[i] = kCount - static_cast<int>(i);
    displacements[i] = kCount * static_cast<int>(i);
    bytes[i] = displacements[i] * static_cast<int>(extent);
    if (i % 2 == 1) mixed[i] = chunk;
  }
  for (const Pattern pattern : kPatterns) {
    compare("bcast", pattern, type,
            [&](void*, void* in) { MPI_Bcast(in, kCount, type, 0, MPI_COMM_WORLD); });
    compare("gather", pattern, type, [&](void* out, void* in) {
      MPI_Gather(out, kCount, type, in, kCount, type, 0, MPI_COMM_WORLD);
    });
    compare("gatherv", pattern, type, [&](void* out, void* in) {
      MPI_Gatherv(out, counts[static_cast<size_t>(g_rank)], type, in, counts.data(),
                  displacements.data(), type, 0, MPI_COMM_WORLD);
    });
    compare("scatterv", pattern, type, [&](void* out, void* in) {
      MPI_Scatterv(out, counts.data(), displacements.data(), type, in,
                   counts[static_cast<size_t>(g_rank)], type, 0, MPI_COMM_WORLD);
    });
    compare("allgather", pattern, type, [&](void* out, void* in) {
      MPI_Allgather(out, kCount, type, in, kCount, type, MPI_COMM_WORLD);
    });
    compare("alltoall", pattern, type, [&](void* out, void* in) {
      MPI_Alltoall(out, kCount, type, in, kCount, type, MPI_COMM_WORLD);
    });
    compare("alltoallw", pattern, type, [&](void* out, void* in) {
      std::vector<int> same(static_cast<size_t>(g_size), kCount);
      MPI_Alltoallw(out, same.data(), bytes.data(), types.data(), in, same.data(), bytes.data(),
                    types.data(), MPI_COMM_WORLD);
    });
    compare("alltoallw of two types", pattern, type, [&](void* out, void* in) {
      std::vector<int> same(static_cast<size_t>(g_size), kCount);
      MPI_Alltoallw(out, same.data(), bytes.data(), mixed.data(), in, same.data(), bytes.data(),
                    types.data(), MPI_COMM_WORLD);
    });
    compare("ialltoallw", pattern, type, [&](void* out, void* in) {
      std::vector<int> same(static_cast<size_t>(g_size), kCount);
      MPI_Request request;
      MPI_Ialltoallw(out, same.data(), bytes.data(), types.data(), in, same.data(), bytes.data(),
                     types.data(), MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    });
    compare("alltoallv in place", pattern, type, [&](void*, void* in) {
      std::vector<int> same(static_cast<size_t>(g_size), kCount);
      MPI_Alltoallv(MPI_IN_PLACE, nullptr, nullptr, type, in, same.data(), displacements.data(),
                    type, MPI_COMM_WORLD);
    });
    MPI_Comm ring;
    const int dims[] = {g_size}, periods[] = {1};
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
    compare("neighbors", pattern, type, [&](void* out, void* in) {
      const int two[] = {kCount, kCount};
      const MPI_Aint places[] = {0, kCount * extent};
      const MPI_Datatype both[] = {type, type};
      MPI_Neighbor_alltoallw(out, two, places, both, in, two, places, both, ring);
    });
    MPI_Comm_free(&ring);
    // At the ends of a line a neighbour is absent: nothing lies at its place.
    MPI_Comm line;
    const int no_periods[] = {0};
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, no_periods, 0, &line);
    compare("neighbors of a line", pattern, type, [&](void* out, void* in) {
      constexpr MPI_Aint kNowhere = MPI_Aint{1} << 40;
      const int two[] = {kCount, kCount};
      const MPI_Aint places[] = {g_rank == 0 ? kNowhere : 0,
                                 g_rank == g_size - 1 ? kNowhere : kCount * extent};
      const MPI_Datatype both[] = {type, type};
      MPI_Neighbor_alltoallw(out, two, places, both, in, two, places, both, line);
    });
    MPI_Comm_free(&line);
  }
  CHECK(taken("MPI_Bcast") > 0 && taken("MPI_Gatherv") > 0 && taken("MPI_Alltoallw") > 0);
  MPI_Type_free(&chunk);
  MPI_Type_free(&type);
}
