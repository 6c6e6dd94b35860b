// SPDX-License-Identifier: BSD-3-Clause
#include "costs/machine/split.hpp"

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "bench/harness/job.hpp"
#include "bench/preload/message.hpp"
#include "costs/machine/samples.hpp"

namespace lacuna::costs {
namespace {

using bench::Form;
using bench::Message;

// What a sender does. The receiver always receives without gaps, as in the paper.
enum class Way : uint8_t {
  kContiguous,  // sends data without gaps, which stay in both ranks' caches: nobody writes them
  kCopied,      // writes such data first, by a copy, which is timed as well
  kPacked,      // packs by MPI_Pack first, which is timed as well
  kDerived,     // passes the type to MPI_Send
};

struct Lane {
  const char* name;
  Way way;
  bool lacuna;
};
// `repacked` does the same as `packed`. The time of the message alone is taken from `repacked`, so
// that it is independent of the total, which is taken from `packed`.
constexpr Lane kLanes[] = {
    {"contiguous", Way::kContiguous, false}, {"copied", Way::kCopied, false},
    {"packed", Way::kPacked, false},         {"repacked", Way::kPacked, false},
    {"derived", Way::kDerived, false},       {"packed-lacuna", Way::kPacked, true},
    {"repacked-lacuna", Way::kPacked, true}, {"derived-lacuna", Way::kDerived, true},
};

// A round is four passes over all lanes: forward and backward, then the same with `packed` and
// `repacked` exchanged. So both lanes find the same state of caches and buffers, which the lane
// before leaves. The pass matters, so medians are computed for each pass
// (python/lacuna/costs/pieces.py). Why, and what else was tried:
// docs/experiments/2026-11-26-costs.md, "The pieces add up".
constexpr size_t kPasses = 4;
// The lanes with `packed` and `repacked` exchanged.
constexpr size_t kExchanged[] = {0, 1, 3, 2, 4, 6, 5, 7};
static_assert(std::size(kExchanged) == std::size(kLanes));

constexpr int kLeastRounds = 7;
constexpr int kMessagesToLearn = 16;  // lacuna leaves small messages of a new type to the library

struct LaneSamples {
  int iterations = 1;
  std::vector<double> seconds;  // of one message, by round and pass
  std::vector<double> inside;   // of its copy or packing
};

class Split {
 public:
  Split(const Message& message, int rank)
      : message_(message),
        rank_(rank),
        packed_(static_cast<size_t>(message.bytes())),
        clock_seconds_(clock_seconds()) {
    if (packed_.data() == nullptr) fail(message.id() + ": no memory");
  }

  // Adds a sample of `iterations` round trips to `samples` (valid on rank 0). A round trip before
  // them is not timed: it leaves caches and buffers as this lane does, not as another. (A batch of
  // large messages has only one or two; without this the parts of one row in 62 did not add up.)
  void batch(const Lane& lane, int iterations, LaneSamples* samples) {
    bench::switch_lacuna(lane.lacuna);
    round_trip(lane.way);
    inside_ = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    const auto begin = Clock::now();
    for (int i = 0; i < iterations; ++i) round_trip(lane.way);
    const double seconds = seconds_since(begin) / iterations / 2;
    // The sum of both ranks, each of which sends half of the messages.
    double both = 0;
    MPI_Reduce(&inside_, &both, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    samples->seconds.push_back(seconds);
    samples->inside.push_back(std::max(0.0, both / iterations / 2 - clock_overhead(lane.way)));
  }

  void verify(const Lane& lane) {
    LaneSamples unused;
    batch(lane, message_.bytes() <= 64 * 1024 ? kMessagesToLearn : 1, &unused);
    message_.clear();
    batch(lane, 1, &unused);
    const bool flat = lane.way == Way::kContiguous || lane.way == Way::kCopied;
    const std::string wrong =
        message_.check(flat ? Form::kContiguous : Form::kDerived, Form::kContiguous);
    if (!wrong.empty())
      fail("wrong data in " + message_.id() + ", lane " + lane.name + ": " + wrong);
  }

 private:
  void round_trip(Way way) {
    if (rank_ == 0) send(way);
    message_.receive(Form::kContiguous, 1 - rank_);
    if (rank_ == 1) send(way);
  }

  void send(Way way) {
    if (way == Way::kContiguous) return message_.send(Form::kContiguous, 1 - rank_);
    if (way == Way::kDerived) return message_.send(Form::kDerived, 1 - rank_);
    const auto begin = Clock::now();
    if (way == Way::kCopied) {
      std::memcpy(packed_.data(), message_.flat(), packed_.bytes());
    } else {
      message_.pack(packed_.data());
    }
    // Waits for the stores, or their time would be part of the message's.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    inside_ += seconds_since(begin);
    MPI_Send(packed_.data(), static_cast<int>(packed_.bytes()), MPI_BYTE, 1 - rank_, kTag,
             MPI_COMM_WORLD);
  }

  double clock_overhead(Way way) const {
    return way == Way::kContiguous || way == Way::kDerived ? 0 : clock_seconds_;
  }

  const Message& message_;
  int rank_;
  bench::Pages packed_;
  double clock_seconds_;
  double inside_ = 0;
};

}  // namespace

void measure_split(const bench::Row& row, const SplitOptions& options,
                   const PredefinedTypes& predefined, int rank, bench::JsonLines& out) {
  const auto made = Message::make(row, predefined);
  if (!made) fail(row.id + ": " + made.error().message);
  const Message& message = **made;
  std::vector<Lane> lanes;
  for (const Lane& lane : kLanes) {
    if (bench::lacuna_loaded() || !lane.lacuna) lanes.push_back(lane);
  }
  Split split(message, rank);
  std::vector<LaneSamples> samples_of(lanes.size());
  for (size_t i = 0; i < lanes.size(); ++i) {
    split.verify(lanes[i]);
    LaneSamples first;
    split.batch(lanes[i], 1, &first);
    samples_of[i].iterations = iterations_for(2 * first.seconds[0]);
  }
  const auto begin = Clock::now();
  for (int round = 0, more = 1; more != 0; ++round) {
    for (size_t pass = 0; pass < kPasses; ++pass) {
      for (size_t step = 0; step < lanes.size(); ++step) {
        // Each round begins with another lane.
        const size_t shifted = (step + static_cast<size_t>(round)) % lanes.size();
        const size_t place = pass % 2 == 0 ? shifted : lanes.size() - 1 - shifted;
        const size_t i = pass < kPasses / 2 ? place : kExchanged[place];
        split.batch(lanes[i], samples_of[i].iterations, &samples_of[i]);
      }
    }
    more = round + 1 < options.rounds &&
           (round + 1 < kLeastRounds || seconds_since(begin) < options.seconds);
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  std::string text = "{\"kind\": \"row\", \"id\": " + bench::json_string(message.id()) +
                     ", \"bytes\": " + std::to_string(message.bytes()) +
                     ", \"turns\": " + std::to_string(kPasses) + ", \"lanes\": {";
  for (size_t i = 0; i < lanes.size(); ++i) {
    text += std::string(i == 0 ? "" : ", ") + "\"" + lanes[i].name +
            "\": {\"iterations\": " + std::to_string(samples_of[i].iterations) +
            ", \"seconds\": " + json_list(samples_of[i].seconds) +
            ", \"inside\": " + json_list(samples_of[i].inside) + "}";
  }
  out.write(text + "}}");
}

}  // namespace lacuna::costs
