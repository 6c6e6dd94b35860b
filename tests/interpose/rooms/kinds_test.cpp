// SPDX-License-Identifier: BSD-3-Clause
//
// Each collective that may go through shared memory (direct/rooms/room.hpp): even ranks have data
// with gaps, odd ones have not, so that calls that lacuna has handled in odd ranks went that way.
#include <array>
#include <functional>
#include <vector>

#include "tests/interpose/harness/harness.hpp"

using namespace test;

namespace {

constexpr double kGap = -1;

// Blocks of n doubles each, every other place a gap, or none.
class Blocks {
 public:
  Blocks(int blocks, int n, bool gaps) : n_(n), step_(gaps ? 2 : 1), count_(gaps ? 1 : n) {
    const size_t all = static_cast<size_t>(blocks) * static_cast<size_t>(n * step_);
    places_.assign(all + 1, kGap);
    if (gaps) {
      MPI_Datatype vector;
      MPI_Type_vector(n, 1, 2, MPI_DOUBLE, &vector);
      MPI_Type_create_resized(vector, 0, n * 16, &type_);
      MPI_Type_commit(&type_);
      MPI_Type_free(&vector);
    }
    for (int i = 0; i < blocks; ++i) {
      counts_.push_back(count_);
      displacements_.push_back(i * count_);
      bytes_.push_back(i * n * step_ * 8);
      far_.push_back(bytes_.back());
      types_.push_back(type_);
    }
  }
  ~Blocks() {
    if (step_ == 2) MPI_Type_free(&type_);
  }
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;

  void* base() { return places_.data(); }
  int count() const { return count_; }
  MPI_Datatype type() const { return type_; }
  const int* counts() const { return counts_.data(); }
  const int* displacements() const { return displacements_.data(); }
  const int* bytes() const { return bytes_.data(); }
  const MPI_Aint* far() const { return far_.data(); }
  const MPI_Datatype* types() const { return types_.data(); }

  void fill(int block, int from, int to) {
    for (int j = 0; j < n_; ++j) at(block, j) = value(from, to, j);
  }
  bool holds(int block, int from, int to) {
    bool right = true;
    for (int j = 0; j < n_; ++j) right = right && at(block, j) == value(from, to, j);
    return right;
  }
  bool is_empty(int block) {
    bool right = true;
    for (int j = 0; j < n_; ++j) right = right && at(block, j) == kGap;
    return right;
  }
  bool gaps_are_untouched() const {
    bool right = places_.back() == kGap;
    for (size_t i = 1; step_ == 2 && i < places_.size(); i += 2)
      right = right && places_[i] == kGap;
    return right;
  }

 private:
  static double value(int from, int to, int j) { return from * 1e8 + to * 1e7 + j; }
  double& at(int block, int j) {
    return places_[static_cast<size_t>(block) * static_cast<size_t>(n_ * step_) +
                   static_cast<size_t>(j * step_)];
  }

  int n_;
  int step_;
  int count_;
  MPI_Datatype type_ = MPI_DOUBLE;
  std::vector<double> places_;
  std::vector<int> counts_, displacements_, bytes_;
  std::vector<MPI_Aint> far_;
  std::vector<MPI_Datatype> types_;
};

struct Case {
  const char* name;
  bool rooted;
  // Whether the received data are right.
  bool (*run)(MPI_Comm comm, int root, int n, bool gaps);
};

// From all ranks to all: block i is for rank i.
template <typename Sides>
bool all_to_all(int n, bool gaps, const Sides& exchange) {
  Blocks out(g_size, n, gaps), in(g_size, n, gaps);
  for (int i = 0; i < g_size; ++i) out.fill(i, g_rank, i);
  exchange(out, in);
  bool right = out.gaps_are_untouched() && in.gaps_are_untouched();
  for (int i = 0; i < g_size; ++i) right = in.holds(i, i, g_rank) && right;
  return right;
}

template <typename Gather>
bool gathered(int root, int n, bool gaps, bool in_place, const Gather& gather) {
  const bool is_root = g_rank == root;
  Blocks out(1, n, gaps), in(is_root ? g_size : 0, n, gaps);
  out.fill(0, g_rank, root);
  if (is_root && in_place) in.fill(root, root, root);
  gather(is_root && in_place ? MPI_IN_PLACE : out.base(), out, in);
  bool right = in.gaps_are_untouched();
  for (int i = 0; is_root && i < g_size; ++i) right = in.holds(i, i, root) && right;
  return right;
}

template <typename Scatter>
bool scattered(int root, int n, bool gaps, bool in_place, const Scatter& scatter) {
  const bool is_root = g_rank == root;
  Blocks out(is_root ? g_size : 0, n, gaps), in(1, n, gaps);
  for (int i = 0; is_root && i < g_size; ++i) out.fill(i, root, i);
  const bool stays = is_root && in_place;
  scatter(out, stays ? MPI_IN_PLACE : in.base(), in);
  return in.gaps_are_untouched() && (stays ? in.is_empty(0) : in.holds(0, root, g_rank));
}

template <typename Gather>
bool gathered_by_all(int n, bool gaps, bool in_place, const Gather& gather) {
  Blocks out(1, n, gaps), in(g_size, n, gaps);
  out.fill(0, g_rank, 0);
  if (in_place) in.fill(g_rank, g_rank, 0);
  gather(in_place ? MPI_IN_PLACE : out.base(), out, in);
  bool right = in.gaps_are_untouched();
  for (int i = 0; i < g_size; ++i) right = in.holds(i, i, 0) && right;
  return right;
}

const Case kCases[] = {
    {"MPI_Bcast", true,
     [](MPI_Comm comm, int root, int n, bool gaps) {
       Blocks data(1, n, gaps);
       if (g_rank == root) data.fill(0, root, 0);
       MPI_Bcast(data.base(), data.count(), data.type(), root, comm);
       return data.holds(0, root, 0) && data.gaps_are_untouched();
     }},
    {"MPI_Gather", true,
     [](MPI_Comm comm, int root, int n, bool gaps) {
       return gathered(root, n, gaps, n % 2 != 0, [&](void* from, Blocks& out, Blocks& in) {
         MPI_Gather(from, out.count(), out.type(), in.base(), in.count(), in.type(), root, comm);
       });
     }},
    {"MPI_Gatherv", true,
     [](MPI_Comm comm, int root, int n, bool gaps) {
       return gathered(root, n, gaps, n % 2 != 0, [&](void* from, Blocks& out, Blocks& in) {
         MPI_Gatherv(from, out.count(), out.type(), in.base(), in.counts(), in.displacements(),
                     in.type(), root, comm);
       });
     }},
    {"MPI_Scatter", true,
     [](MPI_Comm comm, int root, int n, bool gaps) {
       return scattered(root, n, gaps, n % 2 != 0, [&](Blocks& out, void* to, Blocks& in) {
         MPI_Scatter(out.base(), out.count(), out.type(), to, in.count(), in.type(), root, comm);
       });
     }},
    {"MPI_Scatterv", true,
     [](MPI_Comm comm, int root, int n, bool gaps) {
       return scattered(root, n, gaps, n % 2 != 0, [&](Blocks& out, void* to, Blocks& in) {
         MPI_Scatterv(out.base(), out.counts(), out.displacements(), out.type(), to, in.count(),
                      in.type(), root, comm);
       });
     }},
    {"MPI_Allgather", false,
     [](MPI_Comm comm, int, int n, bool gaps) {
       return gathered_by_all(n, gaps, n % 2 != 0, [&](void* from, Blocks& out, Blocks& in) {
         MPI_Allgather(from, out.count(), out.type(), in.base(), in.count(), in.type(), comm);
       });
     }},
    {"MPI_Allgatherv", false,
     [](MPI_Comm comm, int, int n, bool gaps) {
       return gathered_by_all(n, gaps, n % 2 != 0, [&](void* from, Blocks& out, Blocks& in) {
         MPI_Allgatherv(from, out.count(), out.type(), in.base(), in.counts(), in.displacements(),
                        in.type(), comm);
       });
     }},
    {"MPI_Alltoall", false,
     [](MPI_Comm comm, int, int n, bool gaps) {
       return all_to_all(n, gaps, [&](Blocks& out, Blocks& in) {
         MPI_Alltoall(out.base(), out.count(), out.type(), in.base(), in.count(), in.type(), comm);
       });
     }},
    {"MPI_Alltoallv", false,
     [](MPI_Comm comm, int, int n, bool gaps) {
       return all_to_all(n, gaps, [&](Blocks& out, Blocks& in) {
         MPI_Alltoallv(out.base(), out.counts(), out.displacements(), out.type(), in.base(),
                       in.counts(), in.displacements(), in.type(), comm);
       });
     }},
    {"MPI_Alltoallw", false,
     [](MPI_Comm comm, int, int n, bool gaps) {
       return all_to_all(n, gaps, [&](Blocks& out, Blocks& in) {
         MPI_Alltoallw(out.base(), out.counts(), out.bytes(), out.types(), in.base(), in.counts(),
                       in.bytes(), in.types(), comm);
       });
     }},
};

// Among neighbours on a line with two ends. `one`: the same data to both.
template <typename Sides>
bool among_neighbors(int n, bool gaps, bool one, const Sides& exchange) {
  Blocks out(one ? 1 : 2, n, gaps), in(2, n, gaps);
  const std::array<int, 2> others = {g_rank - 1, g_rank + 1};
  if (one) out.fill(0, g_rank, 0);
  for (int i = 0; i < 2 && !one; ++i) out.fill(i, g_rank, others[static_cast<size_t>(i)]);
  exchange(out, in);
  bool right = in.gaps_are_untouched();
  for (int i = 0; i < 2; ++i) {
    const int other = others[static_cast<size_t>(i)];
    const bool there = other >= 0 && other < g_size;
    right = (there ? in.holds(i, other, one ? 0 : g_rank) : in.is_empty(i)) && right;
  }
  return right;
}

const Case kNeighborCases[] = {
    {"MPI_Neighbor_allgather", false,
     [](MPI_Comm comm, int, int n, bool gaps) {
       return among_neighbors(n, gaps, true, [&](Blocks& out, Blocks& in) {
         MPI_Neighbor_allgather(out.base(), out.count(), out.type(), in.base(), in.count(),
                                in.type(), comm);
       });
     }},
    {"MPI_Neighbor_allgatherv", false,
     [](MPI_Comm comm, int, int n, bool gaps) {
       return among_neighbors(n, gaps, true, [&](Blocks& out, Blocks& in) {
         MPI_Neighbor_allgatherv(out.base(), out.count(), out.type(), in.base(), in.counts(),
                                 in.displacements(), in.type(), comm);
       });
     }},
    {"MPI_Neighbor_alltoall", false,
     [](MPI_Comm comm, int, int n, bool gaps) {
       return among_neighbors(n, gaps, false, [&](Blocks& out, Blocks& in) {
         MPI_Neighbor_alltoall(out.base(), out.count(), out.type(), in.base(), in.count(),
                               in.type(), comm);
       });
     }},
    {"MPI_Neighbor_alltoallv", false,
     [](MPI_Comm comm, int, int n, bool gaps) {
       return among_neighbors(n, gaps, false, [&](Blocks& out, Blocks& in) {
         MPI_Neighbor_alltoallv(out.base(), out.counts(), out.displacements(), out.type(),
                                in.base(), in.counts(), in.displacements(), in.type(), comm);
       });
     }},
    {"MPI_Neighbor_alltoallw", false,
     [](MPI_Comm comm, int, int n, bool gaps) {
       return among_neighbors(n, gaps, false, [&](Blocks& out, Blocks& in) {
         MPI_Neighbor_alltoallw(out.base(), out.counts(), out.far(), out.types(), in.base(),
                                in.counts(), in.far(), in.types(), comm);
       });
     }},
};

// Few bytes, and more than a window has room for; the odd sizes in place.
constexpr int kSizes[] = {600, 601, 5000, 150001};

void run(const Case& one, MPI_Comm comm, bool has_room) {
  for (const int n : kSizes) {
    for (int root = 0; root < (one.rooted ? g_size : 1); ++root) {
      context(std::string(one.name) + " of " + std::to_string(n) + ", root " +
              std::to_string(root));
      bool right = false;
      const int64_t took =
          taken_by(one.name, [&] { right = one.run(comm, root, n, g_rank % 2 == 0); });
      CHECK(right);
      CHECK(!has_room || took == 1);
    }
  }
}

MPI_Comm line() {
  MPI_Comm comm;
  const int periodic = 0;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &g_size, &periodic, 0, &comm);
  return comm;
}

void run_all(bool has_room) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (const Case& one : kCases) run(one, comm, has_room);
  MPI_Comm_free(&comm);
  comm = line();
  for (const Case& one : kNeighborCases) run(one, comm, has_room);
  MPI_Comm_free(&comm);
}

}  // namespace

TOPIC(rooms_every_collective) { run_all(true); }

// Small calls are declined, even if only some ranks know that they are small.
TOPIC(rooms_small) {
  for (const int n : {1, 7, 600, 7}) {
    for (const Case& one : kCases) {
      MPI_Comm comm;
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
      context(std::string(one.name) + " of " + std::to_string(n));
      for (int i = 0; i < 10; ++i) CHECK(one.run(comm, i % g_size, n, g_rank % 2 == 0));
      MPI_Comm_free(&comm);
    }
  }
}

// With arenas too small for some of the regions.
TOPIC(rooms_every_collective_starved) { run_all(false); }

// Ranks that vote no, each time other ones, some far ahead of the rest; and different calls after
// each other.
TOPIC(rooms_each_for_itself) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  int64_t took = 0;
  uint32_t mine = static_cast<uint32_t>(g_rank) * 977 + 1, all = 5;
  const auto next = [](uint32_t* seed) { return (*seed = *seed * 1664525 + 1013904223) >> 16; };
  for (int i = 0; i < 600; ++i) {
    const Case& one = kCases[next(&all) % std::size(kCases)];
    const int root = static_cast<int>(next(&all)) % g_size;
    const int n = 1 + static_cast<int>(next(&all) % 700);
    context("call " + std::to_string(i) + ", " + one.name);
    if (next(&mine) % 4 == 0) MPI_Pcontrol(0);
    bool right = false;
    took += taken_by(one.name, [&] { right = one.run(comm, root, n, next(&mine) % 2 == 0); });
    MPI_Pcontrol(1);
    CHECK(right);
  }
  context("");
  CHECK(took > 0);
  MPI_Comm_free(&comm);
}

// If two ranks are neighbours twice, only the library knows which message is for which edge.
TOPIC(rooms_neighbors_twice) {
  MPI_Comm comm;
  const int periodic = 1;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &g_size, &periodic, 0, &comm);
  const int n = 600;
  Blocks out(2, n, true), in(2, n, true), expected(2, n, true);
  for (int i = 0; i < 2; ++i) out.fill(i, g_rank, i);
  lacuna(false);
  MPI_Neighbor_alltoall(out.base(), 1, out.type(), expected.base(), 1, out.type(), comm);
  lacuna(true);
  MPI_Neighbor_alltoall(out.base(), 1, out.type(), in.base(), 1, in.type(), comm);
  for (int i = 0; i < 2; ++i) {
    for (int from = 0; from < g_size; ++from) {
      for (int to = 0; to < 2; ++to) CHECK(in.holds(i, from, to) == expected.holds(i, from, to));
    }
  }
  MPI_Comm_free(&comm);
}
