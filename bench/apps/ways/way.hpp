// SPDX-License-Identifier: BSD-3-Clause
//
// Way: how the data of a message gets from one rank to another: the loops of [Schneider2012, figure
// 4] and those of its future work. main.cpp verifies a way, then times it; every function is
// collective over the ranks that take part. A new way is a class in one of the files here.
#ifndef LACUNA_BENCH_APPS_WAYS_WAY_HPP_
#define LACUNA_BENCH_APPS_WAYS_WAY_HPP_

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "bench/apps/applications/app.hpp"
#include "bench/engine/problem.hpp"

namespace lacuna::bench {

// Seconds of this rank in the phases of a transfer.
struct Phases {
  double pack = 0;
  double communicate = 0;
  double unpack = 0;
};

// Adds the time since the last call to a phase; without phases it does not read the clock.
class Laps {
 public:
  explicit Laps(Phases* phases) : phases_(phases) {
    if (phases_ != nullptr) last_ = Clock::now();
  }
  void end(double Phases::* phase) {
    if (phases_ == nullptr) return;
    const auto now = Clock::now();
    phases_->*phase += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Phases* phases_;
  Clock::time_point last_;
};

// The arrays of the exchanges that are not between partners (fft.cpp, graph.cpp, grids.cpp), on one
// rank.
struct FftArrays;
struct Graph;
struct Grid;
std::shared_ptr<FftArrays> make_fft_arrays(int n);
std::shared_ptr<Graph> make_graph(int n);  // creation and destruction are collective
std::shared_ptr<Grid> make_halo(int n);
std::shared_ptr<Grid> make_slabs(int n);
std::shared_ptr<Grid> make_pencils(int n);

// The data to move: a problem of the corpus between this rank and its partner. The lanes of a row
// share its memory, as different pages would have different times.
struct Message {
  std::shared_ptr<Problem> problem;
  std::shared_ptr<Problem> partners;  // if the partner's type differs from this rank's
  std::shared_ptr<Problem> received;  // as problem, for ways that send and receive at once
  std::shared_ptr<FftArrays> fft;     // instead of all of them
  std::shared_ptr<Graph> graph;
  std::shared_ptr<Grid> grid;
  const App* app = nullptr;          // nullptr: there are no loops by hand
  const App* specialised = nullptr;  // the same, by lacuna-c++
  Input input;
  std::function<MPI_Datatype()> make;  // the type, not committed; its maker frees it
  int count = 1;
  // The receiver takes the data contiguous, as `elements` of this type.
  bool receives_packed = false;
  MPI_Datatype element = MPI_DATATYPE_NULL;
  int elements = 0;
  int rank = 0;
  int partner = 1;
  int work_us = 0;   // how long to compute beside the message (overlap.cpp)
  int work_kib = 0;  // what a computation around the packing reads (cache.cpp)
};

class Way {
 public:
  Way() = default;
  virtual ~Way() = default;
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;

  virtual void create() {}  // makes types and windows, as a program does once
  virtual void destroy() {}
  // One round of the benchmark, which holds `transfers()` transfers one after the other.
  virtual void round(Phases* phases) = 0;
  // The seconds of `count` rounds.
  virtual double rounds(int count) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) round(nullptr);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  virtual int transfers() const { return 2; }
  // Rank 0 works, the others sleep until it has finished.
  virtual bool is_alone() const { return false; }
  virtual bool has_phases() const { return false; }
  // Moves data of known bytes once each way; empty, or what is wrong. Between create and destroy.
  virtual std::string verify() = 0;
};

// nullptr: there is no such way, or not for this message. The message outlives it.
std::unique_ptr<Way> make_way(const std::string& name, const Message& message);
// Called by make_way(): the ways of one file each.
std::unique_ptr<Way> make_fft_way(const std::string& name, FftArrays& arrays);
std::unique_ptr<Way> make_graph_way(const std::string& name, Graph& graph);
std::unique_ptr<Way> make_grid_way(const std::string& name, Grid& grid);
std::unique_ptr<Way> make_overlap_way(const std::string& name, const Message& message);
std::unique_ptr<Way> make_one_sided_way(const std::string& name, const Message& message);
std::unique_ptr<Way> make_cache_way(const std::string& name, const Message& message);

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_APPS_WAYS_WAY_HPP_
