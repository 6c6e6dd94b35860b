// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives with arrays of counts that are declined without a vote
// (direct/rooms/repeat_decline.hpp) while they have few bytes, and are handled as soon as they have
// more, with the same types, from the same call site; and those of types whose handles are used
// again.
#include <functional>
#include <numeric>
#include <vector>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr int kFew = 2;
constexpr int kMany = 4000;
constexpr double kGap = -1;

// Elements of 8 bytes with a gap behind each, room for kMany of them to or from each rank.
struct Data {
  MPI_Datatype type;
  std::vector<double> from, to;
  std::vector<int> counts, places, bytes;
  std::vector<MPI_Aint> far;
  std::vector<MPI_Datatype> types;

  Data() {
    MPI_Type_create_resized(MPI_DOUBLE, 0, 16, &type);
    MPI_Type_commit(&type);
    from.assign(static_cast<size_t>(g_size) * kMany * 2, kGap);
    to = from;
    for (int i = 0; i < g_size; ++i) {
      places.push_back(i * kMany);
      bytes.push_back(i * kMany * 16);
      far.push_back(bytes.back());
      types.push_back(type);
      for (int j = 0; j < kMany; ++j) at(&from, i, j) = value(g_rank, i, j);
    }
  }
  ~Data() { MPI_Type_free(&type); }
  Data(const Data&) = delete;
  Data& operator=(const Data&) = delete;

  static double value(int rank, int block, int j) { return rank * 1e8 + block * 1e7 + j; }
  static double& at(std::vector<double>* data, int block, int j) {
    return (*data)[static_cast<size_t>(block * kMany + j) * 2];
  }
  void begin(int count) {
    counts.assign(static_cast<size_t>(g_size), count);
    to.assign(to.size(), kGap);
  }
  // Whether it holds what rank i has sent this rank in `block`, and nothing else.
  bool has_come(int count, const std::function<int(int)>& block) {
    bool right = true;
    for (int i = 0; i < g_size; ++i) {
      for (int j = 0; j < kMany; ++j) {
        const double expected = block(i) >= 0 && j < count ? value(i, block(i), j) : kGap;
        right = right && at(&to, i, j) == expected && (&at(&to, i, j))[1] == kGap;
      }
    }
    return right;
  }
};

struct Case {
  const char* name;
  bool (*run)(Data& d, MPI_Comm comm, int count);
};

const Case kCases[] = {
    {"MPI_Gatherv",
     [](Data& d, MPI_Comm comm, int count) {
       MPI_Gatherv(d.from.data(), count, d.type, d.to.data(), d.counts.data(), d.places.data(),
                   d.type, 0, comm);
       return d.has_come(count, [](int) { return g_rank == 0 ? 0 : -1; });
     }},
    {"MPI_Scatterv",
     [](Data& d, MPI_Comm comm, int count) {
       MPI_Scatterv(d.from.data(), d.counts.data(), d.places.data(), d.type, d.to.data(), count,
                    d.type, 0, comm);
       return d.has_come(count, [](int i) { return i == 0 ? g_rank : -1; });
     }},
    {"MPI_Allgatherv",
     [](Data& d, MPI_Comm comm, int count) {
       MPI_Allgatherv(d.from.data(), count, d.type, d.to.data(), d.counts.data(), d.places.data(),
                      d.type, comm);
       return d.has_come(count, [](int) { return 0; });
     }},
    {"MPI_Alltoallv",
     [](Data& d, MPI_Comm comm, int count) {
       MPI_Alltoallv(d.from.data(), d.counts.data(), d.places.data(), d.type, d.to.data(),
                     d.counts.data(), d.places.data(), d.type, comm);
       return d.has_come(count, [](int) { return g_rank; });
     }},
    {"MPI_Alltoallw",
     [](Data& d, MPI_Comm comm, int count) {
       MPI_Alltoallw(d.from.data(), d.counts.data(), d.bytes.data(), d.types.data(), d.to.data(),
                     d.counts.data(), d.bytes.data(), d.types.data(), comm);
       return d.has_come(count, [](int) { return g_rank; });
     }},
    // Among all ranks; the received blocks are in the order of the sources.
    {"MPI_Neighbor_alltoallv",
     [](Data& d, MPI_Comm comm, int count) {
       MPI_Neighbor_alltoallv(d.from.data(), d.counts.data(), d.places.data(), d.type, d.to.data(),
                              d.counts.data(), d.places.data(), d.type, comm);
       return d.has_come(count, [](int) { return g_rank; });
     }},
    {"MPI_Neighbor_alltoallw",
     [](Data& d, MPI_Comm comm, int count) {
       MPI_Neighbor_alltoallw(d.from.data(), d.counts.data(), d.far.data(), d.types.data(),
                              d.to.data(), d.counts.data(), d.far.data(), d.types.data(), comm);
       return d.has_come(count, [](int) { return g_rank; });
     }},
};

// All ranks are neighbours of all.
MPI_Comm everybody() {
  std::vector<int> all;
  for (int i = 0; i < g_size; ++i) all.push_back(i);
  MPI_Comm comm;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, g_size, all.data(), MPI_UNWEIGHTED, g_size,
                                 all.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
  return comm;
}

}  // namespace

TOPIC(rooms_counts_grow) {
  constexpr int kPassing = 20;
  constexpr int kUntilVoted = 100;  // after declined calls, ranks vote only now and then
  Data data;
  for (const Case& one : kCases) {
    MPI_Comm comm = everybody();
    for (int round = 0; round < 2; ++round) {
      context(std::string(one.name) + ", round " + std::to_string(round));
      const auto calls = [&](int count, int times) {
        bool right = true;
        const int64_t taken = taken_by(one.name, [&] {
          for (int i = 0; i < times; ++i) {
            data.begin(count);
            right = one.run(data, comm, count) && right;
          }
        });
        CHECK(right);
        return taken;
      };
      calls(kFew, kPassing);
      const int64_t at_once = calls(kMany, 1);
      // All ranks know how many bytes these calls have, and did not vote on the small ones.
      if (std::string(one.name) == "MPI_Allgatherv") CHECK(at_once == 1);
      CHECK(at_once + calls(kMany, kUntilVoted) > 0);
    }
    MPI_Comm_free(&comm);
  }
}

// A type without gaps, whose calls are declined without a vote after a while; then another type,
// often with the same handle.
TOPIC(rooms_handles) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  constexpr int kDoubles = 8;
  constexpr int kSpan = 2 * kDoubles - 1;
  const auto size = static_cast<size_t>(g_size);
  std::vector<double> from(size * kSpan), to(size * kDoubles);
  std::iota(from.begin(), from.end(), 1e6 * g_rank);
  const auto taken_of = [&](MPI_Datatype type, int calls) {
    std::fill(to.begin(), to.end(), 0);
    return taken_by("MPI_Alltoall", [&] {
      for (int i = 0; i < calls; ++i) {
        MPI_Alltoall(from.data(), 1, type, to.data(), kDoubles, MPI_DOUBLE, comm);
        MPI_Barrier(comm);
      }
    });
  };
  const auto arrived = [&](int span, int step) {
    bool right = true;
    for (int i = 0; i < g_size; ++i) {
      for (int j = 0; j < kDoubles; ++j) {
        const double sent = 1e6 * i + span * g_rank + step * j;
        right = right && to[static_cast<size_t>(i * kDoubles + j)] == sent;
      }
    }
    return right;
  };
  for (int i = 0; i < 3; ++i) {
    context(std::to_string(i));
    MPI_Datatype type;
    MPI_Type_contiguous(kDoubles, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    CHECK(taken_of(type, 8) == 0);
    CHECK(arrived(kDoubles, 1));
    MPI_Type_free(&type);
    MPI_Type_vector(kDoubles, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    CHECK(taken_of(type, 1) == 1);
    CHECK(arrived(kSpan, 2));
    MPI_Type_free(&type);
  }
  MPI_Comm_free(&comm);
}
