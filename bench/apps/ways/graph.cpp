// SPDX-License-Identifier: BSD-3-Clause
//
// The exchange of an irregular graph among many ranks, future work of [Schneider2012, 4]. Each rank
// has vertices, and ghosts of its neighbours' vertices. The neighbours, and the vertices that each
// needs, are random but the same in every run. By messages to each neighbour, or one neighborhood
// collective; with indexed types, or by hand.
#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "bench/apps/ways/way.hpp"

namespace lacuna::bench {
namespace {

constexpr int kTag = 5;

// A permutation that depends only on `about`. std::shuffle would differ between standard libraries.
std::vector<int> shuffled(int n, int from, int to) {
  std::seed_seq about{n, from, to};
  std::mt19937_64 random(about);
  std::vector<int> numbers(static_cast<size_t>(n));
  std::iota(numbers.begin(), numbers.end(), 0);
  for (size_t i = numbers.size(); i > 1; --i) std::swap(numbers[i - 1], numbers[random() % i]);
  return numbers;
}

uint64_t drawn(int from, int to) {
  std::seed_seq about{from, to};
  return std::mt19937_64(about)();
}

// A ring, so that each rank has a neighbour, and half of all other pairs.
bool are_neighbors(int a, int b, int ranks) {
  if (a == b) return false;
  if ((a + 1) % ranks == b || (b + 1) % ranks == a) return true;
  return drawn(std::min(a, b), std::max(a, b)) % 2 != 0;
}

// The vertices of one rank that another has ghosts of: from all of them to a 16th.
std::vector<int> shared_vertices(int n, int owner, int other) {
  std::vector<int> vertices = shuffled(n, owner, other);
  vertices.resize(static_cast<size_t>(std::max(n >> (drawn(owner, other) % 5), 1)));
  return vertices;
}

}  // namespace

struct Graph {
  Graph(int vertices, int of_rank, int ranks);
  ~Graph() { MPI_Comm_free(&comm); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  int n;  // vertices on each rank
  int rank;
  std::vector<int> neighbors;
  std::vector<std::vector<int>> out, in;   // of each neighbor: elements of the arrays below
  std::vector<int> out_counts, in_counts;  // their lengths,
  std::vector<int> out_starts, in_starts;  // and where they begin in the packed messages
  std::vector<double> values, ghosts;  // what is sent and where it arrives; not all ghosts are used
  std::vector<double> out_packed, in_packed;
  MPI_Comm comm = MPI_COMM_NULL;  // of the neighbors
};

Graph::Graph(int vertices, int of_rank, int ranks) : n(vertices), rank(of_rank) {
  size_t received = 0;
  for (int other = 0; other < ranks; ++other) {
    if (!are_neighbors(rank, other, ranks)) continue;
    neighbors.push_back(other);
    out.push_back(shared_vertices(n, rank, other));
    in.push_back(shared_vertices(n, other, rank));  // vertices of the other; ghost indices below
    received += in.back().size();
  }
  // Ghosts of all neighbours are numbered in mixed order, and some numbers are not used here.
  const std::vector<int> places = shuffled(static_cast<int>(received + received / 4), rank, rank);
  size_t sent = 0;
  received = 0;
  for (size_t i = 0; i < neighbors.size(); ++i) {
    out_counts.push_back(static_cast<int>(out[i].size()));
    in_counts.push_back(static_cast<int>(in[i].size()));
    out_starts.push_back(static_cast<int>(sent));
    in_starts.push_back(static_cast<int>(received));
    sent += out[i].size();
    std::copy_n(places.begin() + static_cast<ptrdiff_t>(received), in[i].size(), in[i].begin());
    received += in[i].size();
  }
  values.assign(static_cast<size_t>(n), 0);
  ghosts.assign(places.size(), 0);
  out_packed.assign(sent, 0);
  in_packed.assign(received, 0);
  const int degree = static_cast<int>(neighbors.size());
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, neighbors.data(), MPI_UNWEIGHTED, degree,
                                 neighbors.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
}

std::shared_ptr<Graph> make_graph(int n) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return std::make_shared<Graph>(n, rank, ranks);
}

namespace {

LACUNA_BY_HAND void gather(const double* __restrict array, const std::vector<int>& list,
                           double* __restrict buffer) {
  const int* at = list.data();
  const size_t size = list.size();
  for (size_t i = 0; i < size; ++i) buffer[i] = array[at[i]];
}

LACUNA_BY_HAND void scatter(const double* __restrict buffer, const std::vector<int>& list,
                            double* __restrict array) {
  const int* at = list.data();
  const size_t size = list.size();
  for (size_t i = 0; i < size; ++i) array[at[i]] = buffer[i];
}

class GraphWay : public Way {
 public:
  GraphWay(Graph& graph, bool is_collective) : g_(graph), is_collective_(is_collective) {}
  int transfers() const override { return 1; }

  // Every value encodes its owner and its index there.
  std::string verify() override {
    for (size_t i = 0; i < g_.values.size(); ++i) g_.values[i] = value(g_.rank, int(i));
    g_.ghosts.assign(g_.ghosts.size(), -1);
    g_.in_packed.assign(g_.in_packed.size(), -1);
    round(nullptr);
    std::vector<double> expected(g_.ghosts.size(), -1);
    for (size_t i = 0; i < g_.neighbors.size(); ++i) {
      const std::vector<int> sent = shared_vertices(g_.n, g_.neighbors[i], g_.rank);
      for (size_t v = 0; v < sent.size(); ++v)
        expected[size_t(g_.in[i][v])] = value(g_.neighbors[i], sent[v]);
    }
    for (size_t i = 0; i < expected.size(); ++i)
      if (g_.ghosts[i] != expected[i]) return "ghost " + std::to_string(i) + " is wrong";
    return "";
  }

 protected:
  static double value(int rank, int vertex) { return rank * 1e9 + vertex; }

  // `receive(i, request)` and `send(i, request)` of each neighbor.
  template <class Receive, class Send>
  void exchange(const Receive& receive, const Send& send) {
    requests_.clear();
    for (size_t i = 0; i < g_.neighbors.size(); ++i) receive(i, &requests_.emplace_back());
    for (size_t i = 0; i < g_.neighbors.size(); ++i) send(i, &requests_.emplace_back());
    MPI_Waitall(int(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }

  void exchange_packed() {
    if (is_collective_) {
      MPI_Neighbor_alltoallv(g_.out_packed.data(), g_.out_counts.data(), g_.out_starts.data(),
                             MPI_DOUBLE, g_.in_packed.data(), g_.in_counts.data(),
                             g_.in_starts.data(), MPI_DOUBLE, g_.comm);
      return;
    }
    exchange(
        [&](size_t i, MPI_Request* request) {
          MPI_Irecv(&g_.in_packed[size_t(g_.in_starts[i])], g_.in_counts[i], MPI_DOUBLE,
                    g_.neighbors[i], kTag, g_.comm, request);
        },
        [&](size_t i, MPI_Request* request) {
          MPI_Isend(&g_.out_packed[size_t(g_.out_starts[i])], g_.out_counts[i], MPI_DOUBLE,
                    g_.neighbors[i], kTag, g_.comm, request);
        });
  }

  Graph& g_;
  bool is_collective_;

 private:
  std::vector<MPI_Request> requests_;
};

class DerivedGraph : public GraphWay {
 public:
  using GraphWay::GraphWay;
  void create() override {
    for (const auto& list : g_.out) out_.push_back(indexed(list));
    for (const auto& list : g_.in) in_.push_back(indexed(list));
    ones_.assign(out_.size(), 1);
    zeros_.assign(out_.size(), 0);
  }
  void destroy() override {
    for (auto* types : {&out_, &in_}) {
      for (MPI_Datatype& type : *types) MPI_Type_free(&type);
      types->clear();
    }
  }
  void round(Phases*) override {
    if (is_collective_) {
      MPI_Neighbor_alltoallw(g_.values.data(), ones_.data(), zeros_.data(), out_.data(),
                             g_.ghosts.data(), ones_.data(), zeros_.data(), in_.data(), g_.comm);
      return;
    }
    exchange(
        [&](size_t i, MPI_Request* request) {
          MPI_Irecv(g_.ghosts.data(), 1, in_[i], g_.neighbors[i], kTag, g_.comm, request);
        },
        [&](size_t i, MPI_Request* request) {
          MPI_Isend(g_.values.data(), 1, out_[i], g_.neighbors[i], kTag, g_.comm, request);
        });
  }

 private:
  static MPI_Datatype indexed(const std::vector<int>& list) {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_create_indexed_block(int(list.size()), 1, list.data(), MPI_DOUBLE, &made);
    MPI_Type_commit(&made);
    return made;
  }
  std::vector<MPI_Datatype> out_, in_;
  std::vector<int> ones_;
  std::vector<MPI_Aint> zeros_;
};

class ByHandGraph : public GraphWay {
 public:
  using GraphWay::GraphWay;
  bool has_phases() const override { return true; }
  void round(Phases* phases) override {
    Laps laps(phases);
    for (size_t i = 0; i < g_.out.size(); ++i)
      gather(g_.values.data(), g_.out[i], &g_.out_packed[size_t(g_.out_starts[i])]);
    laps.end(&Phases::pack);
    exchange_packed();
    laps.end(&Phases::communicate);
    for (size_t i = 0; i < g_.in.size(); ++i)
      scatter(&g_.in_packed[size_t(g_.in_starts[i])], g_.in[i], g_.ghosts.data());
    laps.end(&Phases::unpack);
  }
};

// The messages alone.
class ContiguousGraph : public GraphWay {
 public:
  using GraphWay::GraphWay;
  void round(Phases*) override { exchange_packed(); }

  std::string verify() override {
    g_.out_packed.assign(g_.out_packed.size(), g_.rank);
    g_.in_packed.assign(g_.in_packed.size(), -1);
    round(nullptr);
    for (size_t i = 0; i < g_.neighbors.size(); ++i)
      for (int v = 0; v < g_.in_counts[i]; ++v)
        if (g_.in_packed[size_t(g_.in_starts[i] + v)] != g_.neighbors[i])
          return "the message of rank " + std::to_string(g_.neighbors[i]) + " is wrong";
    return "";
  }
};

}  // namespace

std::unique_ptr<Way> make_graph_way(const std::string& name, Graph& graph) {
  if (name == "derived") return std::make_unique<DerivedGraph>(graph, false);
  if (name == "neighbor_derived") return std::make_unique<DerivedGraph>(graph, true);
  if (name == "by_hand") return std::make_unique<ByHandGraph>(graph, false);
  if (name == "neighbor_by_hand") return std::make_unique<ByHandGraph>(graph, true);
  if (name == "contiguous") return std::make_unique<ContiguousGraph>(graph, false);
  return nullptr;
}

}  // namespace lacuna::bench
