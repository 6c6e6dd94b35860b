// SPDX-License-Identifier: BSD-3-Clause
#include "costs/machine/sweep.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <vector>

#include "bench/engine/problem.hpp"
#include "bench/harness/job.hpp"
#include "costs/machine/samples.hpp"

namespace lacuna::costs {
namespace {

constexpr int kStream = 16;  // messages before the receiver replies
constexpr useconds_t kPoll = 2000;
constexpr int kRequestTimeoutSeconds = 600;  // without a request for so long, the program ends

struct Size {
  int bytes = 0;
  int iterations[3] = {};
  std::vector<double> seconds[3];  // by round
};

struct Request {
  std::string lanes;
  int rounds = 0;
  std::vector<int> sizes;
  bool ends = false;
};

class Sweep {
 public:
  Sweep(int most_bytes, int rank)
      : rank_(rank), from_(static_cast<size_t>(most_bytes)), to_(static_cast<size_t>(most_bytes)) {
    if (from_.data() == nullptr || to_.data() == nullptr) fail("no memory for the messages");
    std::memset(from_.data(), 1, from_.bytes());
  }

  // Seconds of one message, copy, or message of a stream; valid on rank 0.
  double once(char lane, int bytes, int iterations) {
    MPI_Barrier(MPI_COMM_WORLD);
    const auto begin = Clock::now();
    for (int i = 0; i < iterations; ++i) {
      if (lane == 'm') {
        round_trip(bytes);
      } else if (lane == 's') {
        stream(bytes);
      } else if (rank_ == 0) {
        std::memcpy(to_.data(), from_.data(), static_cast<size_t>(bytes));
        asm volatile("" : : "r"(to_.data()) : "memory");  // the copy must happen each time
      }
    }
    const double seconds = seconds_since(begin) / iterations;
    return lane == 'm' ? seconds / 2 : lane == 's' ? seconds / kStream : seconds;
  }

 private:
  void send(int bytes) { MPI_Send(from_.data(), bytes, MPI_BYTE, 1 - rank_, kTag, MPI_COMM_WORLD); }
  void receive(int bytes) {
    MPI_Recv(to_.data(), bytes, MPI_BYTE, 1 - rank_, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }

  void round_trip(int bytes) {
    if (rank_ == 0) send(bytes);
    receive(bytes);
    if (rank_ == 1) send(bytes);
  }

  void stream(int bytes) {
    for (int i = 0; i < kStream; ++i) {
      if (rank_ == 0) {
        send(bytes);
      } else {
        receive(bytes);
      }
    }
    if (rank_ == 0) {
      receive(0);
    } else {
      send(0);
    }
  }

  int rank_;
  bench::Pages from_;
  bench::Pages to_;
};

// Rank 0 polls for the request file; the other rank sleeps between tests for rank 0's broadcast.
Request next_request(const std::string& folder, int number, int rank) {
  std::string text;
  if (rank == 0) {
    const std::string path = folder + "/" + std::to_string(number);
    const auto begin = Clock::now();
    while (access(path.c_str(), R_OK) != 0) {
      if (seconds_since(begin) > kRequestTimeoutSeconds)
        fail("no request within " + std::to_string(kRequestTimeoutSeconds) + " s");
      usleep(kPoll);
    }
    std::ifstream file(path);
    std::getline(file, text);
  }
  int bytes = static_cast<int>(text.size());
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibcast(&bytes, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
  for (int done = 0; done == 0;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0) usleep(kPoll / 10);
  }
  text.resize(static_cast<size_t>(bytes));
  MPI_Bcast(text.data(), bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
  Request found;
  std::istringstream words(text);
  words >> found.lanes;
  found.ends = found.lanes == "end";
  words >> found.rounds;
  for (int size = 0; words >> size;) found.sizes.push_back(size);
  if (!found.ends && (found.rounds < 1 || found.sizes.empty())) fail("bad request: " + text);
  return found;
}

std::vector<Size> measure(const Request& request, int rank) {
  Sweep sweep(std::max(1, *std::max_element(request.sizes.begin(), request.sizes.end())), rank);
  std::vector<Size> sizes;
  for (const int bytes : request.sizes) {
    Size size;
    size.bytes = bytes;
    for (size_t lane = 0; lane < request.lanes.size(); ++lane) {
      const char name = request.lanes[lane];
      (void)sweep.once(name, bytes, 1);
      const double seconds = sweep.once(name, bytes, 3);
      size.iterations[lane] = iterations_for(name == 'm'   ? 2 * seconds
                                             : name == 's' ? kStream * seconds
                                                           : seconds);
    }
    sizes.push_back(size);
  }
  std::vector<size_t> order(sizes.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::mt19937 random(1);  // the same on both ranks
  for (int round = 0; round < request.rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const size_t i : order) {
      for (size_t lane = 0; lane < request.lanes.size(); ++lane) {
        sizes[i].seconds[lane].push_back(
            sweep.once(request.lanes[lane], sizes[i].bytes, sizes[i].iterations[lane]));
      }
    }
  }
  return sizes;
}

}  // namespace

void answer_requests(const std::string& folder, int rank, bench::JsonLines& out) {
  bench::switch_lacuna(false);
  for (int number = 1;; ++number) {
    const Request request = next_request(folder, number, rank);
    if (request.ends) return;
    for (const char lane : request.lanes) {
      if (std::strchr("mcs", lane) == nullptr || request.lanes.size() > 3)
        fail("bad lanes: " + request.lanes);
    }
    for (const Size& size : measure(request, rank)) {
      std::string text = "{\"kind\": \"size\", \"request\": " + std::to_string(number) +
                         ", \"bytes\": " + std::to_string(size.bytes);
      for (size_t lane = 0; lane < request.lanes.size(); ++lane) {
        text += std::string(", \"") + request.lanes[lane] + "\": " + json_list(size.seconds[lane]);
      }
      out.write(text + "}");
    }
    out.write("{\"kind\": \"answer\", \"request\": " + std::to_string(number) + "}");
  }
}

}  // namespace lacuna::costs
