// SPDX-License-Identifier: BSD-3-Clause
//
// Exchanges of blocks of 3-d arrays with many ranks at once, which [Byna2003, 7] names: the halo of
// a grid with its 26 neighbours, and the alltoallw of subarrays with which distributed FFTs turn
// slabs or pencils of one direction into those of another. A block goes as a subarray, or by hand.
#include <array>
#include <cstring>
#include <vector>

#include "bench/apps/ways/way.hpp"

namespace lacuna::bench {
namespace {

using Three = std::array<int, 3>;

// A box of a C array of doubles.
struct Box {
  Three size, start;
  int elements() const { return size[0] * size[1] * size[2]; }
};

// What is sent to a peer and received from it. Tags distinguish the messages of two ranks.
struct Edge {
  int peer;
  Box out, in;
  int out_tag, in_tag;
};

MPI_Datatype subarray(const Three& bounds, const Box& box) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_subarray(3, bounds.data(), box.size.data(), box.start.data(), MPI_ORDER_C,
                           MPI_DOUBLE, &made);
  MPI_Type_commit(&made);
  return made;
}

size_t place(const Three& bounds, int i, int j, int k) {
  return (size_t(i) * size_t(bounds[1]) + size_t(j)) * size_t(bounds[2]) + size_t(k);
}

// Calls move(element of the array, element of the buffer) for each element of the box.
template <class Move>
inline __attribute__((always_inline)) void elements(const Three& bounds, const Box& box,
                                                    const Move& move) {
  size_t at = 0;
  for (int i = box.start[0]; i < box.start[0] + box.size[0]; ++i)
    for (int j = box.start[1]; j < box.start[1] + box.size[1]; ++j)
      for (int k = box.start[2]; k < box.start[2] + box.size[2]; ++k)
        move(place(bounds, i, j, k), at++);
}

LACUNA_BY_HAND void pack_box(const double* __restrict array, const Three& bounds, const Box& box,
                             double* __restrict buffer) {
  elements(bounds, box, [=](size_t from, size_t to) { buffer[to] = array[from]; });
}

LACUNA_BY_HAND void unpack_box(const double* __restrict buffer, const Three& bounds, const Box& box,
                               double* __restrict array) {
  elements(bounds, box, [=](size_t to, size_t from) { array[to] = buffer[from]; });
}

}  // namespace

struct Grid {
  Three out_bounds, in_bounds;  // of the arrays that are sent and received
  std::vector<Edge> edges;
  bool is_alltoall = false;  // one edge for each rank, in their order
  std::vector<double> out, in;
  std::vector<double> out_packed, in_packed;
  int rank = 0;

  void allocate() {
    const auto elements = [](const Three& b) { return size_t(b[0]) * size_t(b[1]) * size_t(b[2]); };
    out.assign(elements(out_bounds), 0);
    in.assign(elements(in_bounds), 0);
    size_t packed_out = 0;
    size_t packed_in = 0;
    for (const Edge& edge : edges) {
      packed_out += size_t(edge.out.elements());
      packed_in += size_t(edge.in.elements());
    }
    out_packed.assign(packed_out, 0);
    in_packed.assign(packed_in, 0);
  }
};

// An n^3 grid on each rank with a halo of one element, periodic in a grid of processes.
std::shared_ptr<Grid> make_halo(int n) {
  auto grid = std::make_shared<Grid>();
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &grid->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Three dims = {0, 0, 0};
  MPI_Dims_create(ranks, 3, dims.data());
  const int r = grid->rank;
  const Three mine = {r / (dims[1] * dims[2]), r / dims[2] % dims[1], r % dims[2]};
  grid->out_bounds = grid->in_bounds = {n + 2, n + 2, n + 2};
  for (int direction = 0; direction < 27; ++direction) {
    if (direction == 13) continue;  // this rank itself
    const Three to = {direction / 9 - 1, direction / 3 % 3 - 1, direction % 3 - 1};
    Edge edge = {};
    int peer = 0;
    for (size_t d = 0; d < 3; ++d) {
      peer = peer * dims[d] + (mine[d] + to[d] + dims[d]) % dims[d];
      edge.out.size[d] = edge.in.size[d] = to[d] == 0 ? n : 1;
      edge.out.start[d] = to[d] > 0 ? n : 1;
      edge.in.start[d] = to[d] > 0 ? n + 1 : to[d] < 0 ? 0 : 1;
    }
    edge.peer = peer;
    edge.out_tag = direction;
    edge.in_tag = 26 - direction;  // the neighbour sent it the opposite way
    grid->edges.push_back(edge);
  }
  grid->allocate();
  return grid;
}

namespace {

// An n^3 array, divided among all ranks along one of its dimensions, to one divided along another.
std::shared_ptr<Grid> make_divided(int n, size_t from, size_t to) {
  auto grid = std::make_shared<Grid>();
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &grid->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int each = n / ranks;
  grid->is_alltoall = true;
  grid->out_bounds = grid->in_bounds = {n, n, n};
  grid->out_bounds[from] = grid->in_bounds[to] = each;
  for (int peer = 0; peer < ranks; ++peer) {
    Three size = {n, n, n}, out = {0, 0, 0}, in = {0, 0, 0};
    size[from] = size[to] = each;
    out[to] = in[from] = peer * each;
    grid->edges.push_back({peer, {size, out}, {size, in}, 0, 0});
  }
  grid->allocate();
  return grid;
}

}  // namespace

std::shared_ptr<Grid> make_slabs(int n) { return make_divided(n, 0, 1); }

// In a row of a grid of processes: runs of n / ranks elements.
std::shared_ptr<Grid> make_pencils(int n) { return make_divided(n, 1, 2); }

namespace {

class GridWay : public Way {
 public:
  explicit GridWay(Grid& grid) : g_(grid) {}
  int transfers() const override { return 1; }

  // Every element that is sent carries its rank, its edge and its place in the message.
  std::string verify() override {
    g_.in.assign(g_.in.size(), -1);
    g_.in_packed.assign(g_.in_packed.size(), -1);
    for (size_t i = 0; i < g_.out.size(); ++i) g_.out[i] = g_.rank * 1e9 + double(i);
    round(nullptr);
    std::vector<double> expected(g_.in.size(), -1);
    for (const Edge& edge : g_.edges) {
      const Box sent = sent_by_peer(edge);
      size_t at = 0;
      std::vector<double> message(size_t(sent.elements()));
      elements(g_.out_bounds, sent,
               [&](size_t from, size_t to) { message[to] = edge.peer * 1e9 + double(from); });
      elements(g_.in_bounds, edge.in, [&](size_t to, size_t) { expected[to] = message[at++]; });
    }
    return check(expected);
  }

 protected:
  virtual std::string check(const std::vector<double>& expected) const {
    for (size_t i = 0; i < expected.size(); ++i)
      if (g_.in[i] != expected[i]) return "the array is wrong at element " + std::to_string(i);
    return "";
  }

  // All packed messages, each edge's from `packed[i]` to `unpacked[i]`.
  void exchange_packed() {
    if (g_.is_alltoall) {
      const int each = g_.edges[0].out.elements();
      MPI_Alltoall(g_.out_packed.data(), each, MPI_DOUBLE, g_.in_packed.data(), each, MPI_DOUBLE,
                   MPI_COMM_WORLD);
      return;
    }
    double* in = g_.in_packed.data();
    const double* out = g_.out_packed.data();
    requests_.clear();
    for (const Edge& edge : g_.edges) {
      MPI_Irecv(in, edge.in.elements(), MPI_DOUBLE, edge.peer, edge.in_tag, MPI_COMM_WORLD,
                &requests_.emplace_back());
      in += edge.in.elements();
    }
    for (const Edge& edge : g_.edges) {
      MPI_Isend(out, edge.out.elements(), MPI_DOUBLE, edge.peer, edge.out_tag, MPI_COMM_WORLD,
                &requests_.emplace_back());
      out += edge.out.elements();
    }
    MPI_Waitall(int(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }

  Grid& g_;
  std::vector<MPI_Request> requests_;

 private:
  // The box of the peer that was sent into edge.in: that of the peer's edge with this tag.
  Box sent_by_peer(const Edge& edge) const {
    if (g_.is_alltoall) return g_.edges[size_t(g_.rank)].out;
    for (const Edge& other : g_.edges)
      if (other.out_tag == edge.in_tag) return other.out;
    return edge.out;
  }
};

class DerivedGrid : public GridWay {
 public:
  using GridWay::GridWay;
  void create() override {
    for (const Edge& edge : g_.edges) {
      out_.push_back(subarray(g_.out_bounds, edge.out));
      in_.push_back(subarray(g_.in_bounds, edge.in));
    }
    ones_.assign(g_.edges.size(), 1);
    zeros_.assign(g_.edges.size(), 0);
  }
  void destroy() override {
    for (auto* types : {&out_, &in_}) {
      for (MPI_Datatype& type : *types) MPI_Type_free(&type);
      types->clear();
    }
  }
  void round(Phases*) override {
    if (g_.is_alltoall) {
      MPI_Alltoallw(g_.out.data(), ones_.data(), zeros_.data(), out_.data(), g_.in.data(),
                    ones_.data(), zeros_.data(), in_.data(), MPI_COMM_WORLD);
      return;
    }
    requests_.clear();
    for (size_t i = 0; i < g_.edges.size(); ++i)
      MPI_Irecv(g_.in.data(), 1, in_[i], g_.edges[i].peer, g_.edges[i].in_tag, MPI_COMM_WORLD,
                &requests_.emplace_back());
    for (size_t i = 0; i < g_.edges.size(); ++i)
      MPI_Isend(g_.out.data(), 1, out_[i], g_.edges[i].peer, g_.edges[i].out_tag, MPI_COMM_WORLD,
                &requests_.emplace_back());
    MPI_Waitall(int(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }

 protected:
  std::vector<MPI_Datatype> out_, in_;

 private:
  std::vector<int> ones_, zeros_;
};

class MpiPackGrid : public DerivedGrid {
 public:
  using DerivedGrid::DerivedGrid;
  bool has_phases() const override { return true; }
  void round(Phases* phases) override {
    Laps laps(phases);
    const int out_bytes = int(g_.out_packed.size() * sizeof(double));
    const int in_bytes = int(g_.in_packed.size() * sizeof(double));
    int position = 0;
    for (const MPI_Datatype type : out_)
      MPI_Pack(g_.out.data(), 1, type, g_.out_packed.data(), out_bytes, &position, MPI_COMM_WORLD);
    laps.end(&Phases::pack);
    exchange_packed();
    laps.end(&Phases::communicate);
    position = 0;
    for (const MPI_Datatype type : in_)
      MPI_Unpack(g_.in_packed.data(), in_bytes, &position, g_.in.data(), 1, type, MPI_COMM_WORLD);
    laps.end(&Phases::unpack);
  }
};

class ByHandGrid : public GridWay {
 public:
  using GridWay::GridWay;
  bool has_phases() const override { return true; }
  void round(Phases* phases) override {
    Laps laps(phases);
    double* out = g_.out_packed.data();
    for (const Edge& edge : g_.edges) {
      pack_box(g_.out.data(), g_.out_bounds, edge.out, out);
      out += edge.out.elements();
    }
    laps.end(&Phases::pack);
    exchange_packed();
    laps.end(&Phases::communicate);
    const double* in = g_.in_packed.data();
    for (const Edge& edge : g_.edges) {
      unpack_box(in, g_.in_bounds, edge.in, g_.in.data());
      in += edge.in.elements();
    }
    laps.end(&Phases::unpack);
  }
};

// The messages alone.
class ContiguousGrid : public GridWay {
 public:
  using GridWay::GridWay;
  void round(Phases*) override { exchange_packed(); }

 protected:
  std::string check(const std::vector<double>&) const override { return ""; }
};

}  // namespace

std::unique_ptr<Way> make_grid_way(const std::string& name, Grid& grid) {
  if (name == "derived") return std::make_unique<DerivedGrid>(grid);
  if (name == "mpi_pack") return std::make_unique<MpiPackGrid>(grid);
  if (name == "by_hand") return std::make_unique<ByHandGrid>(grid);
  if (name == "contiguous") return std::make_unique<ContiguousGrid>(grid);
  return nullptr;
}

}  // namespace lacuna::bench
