// SPDX-License-Identifier: BSD-3-Clause
//
// Many messages of random sizes, kinds and orders through the arenas, each checked. The memory of
// the process does not grow after the first tenth, and at the end the arenas are empty.
//
// LACUNA_TEST_MESSAGES of them in the whole job (20 000), between ranks 0 and 1, 2 and 3, ...
// Meant for LACUNA_ARENA_MB=1: many batches are larger than that before anything is received.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tests/interpose/harness/arena_view.hpp"
#include "tests/interpose/harness/harness.hpp"
#include "type/random/random.hpp"

using namespace test;

namespace {

using lacuna::Random;

constexpr int kMostDoubles = 32 << 10;
constexpr int kMostInBatch = 48;
constexpr int kKinds = 7;
constexpr int kBehind = 2;  // doubles that must stay as they are

struct Outcome {
  int64_t resident_kib = 0;
  int64_t mappings = 0;
};

Outcome look_at_memory() {
  Outcome note;
  each_line("/proc/self/status", [&](const std::string& line) {
    if (line.compare(0, 6, "VmRSS:") == 0) note.resident_kib = std::atoll(line.c_str() + 6);
  });
  each_line("/proc/self/maps", [&](const std::string&) { ++note.mappings; });
  return note;
}

struct Letter {
  int doubles, start, kind;
};

// Both ends draw the same, from the same seed.
std::vector<Letter> draw_letters(Random* random, bool large) {
  std::vector<Letter> letters(static_cast<size_t>(random->between(1, kMostInBatch)));
  for (Letter& letter : letters) {
    const bool longer = large || random->chance(2);
    letter.doubles =
        static_cast<int>(random->magnitude(longer ? 2000 : 11, longer ? kMostDoubles : 1500));
    letter.start = static_cast<int>(random->between(0, kMostDoubles));
    letter.kind = static_cast<int>(random->between(0, kKinds));
  }
  return letters;
}

enum class Order { kAsSent, kBackwards, kPosted, kBlocking };
constexpr Order kOrders[] = {Order::kAsSent, Order::kBackwards, Order::kPosted, Order::kBlocking};

class Soak {
 public:
  Soak(MPI_Comm pair, int me) : pair_(pair), me_(me) {
    MPI_Type_create_resized(MPI_DOUBLE, 0, 16, &spread_);
    MPI_Type_commit(&spread_);
    for (size_t i = 0; i < data_.size(); ++i) data_[i] = static_cast<double>(i);
  }
  ~Soak() { MPI_Type_free(&spread_); }
  Soak(const Soak&) = delete;
  Soak& operator=(const Soak&) = delete;

  // The largest batch first, so that the library and lacuna allocate their buffers now.
  void warm_up() {
    const std::vector<Letter> letters(kMostInBatch, {kMostDoubles, 0, kKinds});
    for (int i = 0; i < 3; ++i) {
      for (const Order order : kOrders) exchange(order, letters, letters);
    }
  }

  // How many messages of both ranks.
  int64_t batch(Random* random) {
    const Order order = kOrders[random->between(0, 3)];
    const bool large = random->chance(order == Order::kBackwards ? 30 : 3);
    const std::vector<Letter> letters[2] = {draw_letters(random, large),
                                            draw_letters(random, large)};
    exchange(order, letters[me_], letters[1 - me_]);
    return static_cast<int64_t>(letters[0].size() + letters[1].size());
  }
  // One message that fills an arena of 1 MiB but for its three front pages. If it is found in the
  // arena, nothing else was left there.
  void check_empty() {
    constexpr int kAll = ((1 << 20) - 12288 - 512) / 8;
    std::vector<double> all(2 * kAll), got(kAll);
    MPI_Barrier(pair_);
    for (const int sender : {0, 1}) {
      for (size_t i = 0; i < all.size(); ++i)
        all[i] = 0.125 + static_cast<double>(i) + 1e7 * (g_rank / 2 * 2 + sender);
      if (sender == me_) {
        MPI_Request request;
        MPI_Isend(all.data(), kAll, spread_, 1 - me_, 0, pair_, &request);
        MPI_Barrier(pair_);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      } else {
        MPI_Barrier(pair_);
        const double first[] = {all[0], all[2], all[4], all[6]};
        CHECK(lies_in_arena(first, sizeof(first)));
        MPI_Recv(got.data(), kAll, MPI_DOUBLE, sender, 0, pair_, MPI_STATUS_IGNORE);
        CHECK(got[0] == all[0] && got[kAll - 1] == all[2 * (kAll - 1)]);
      }
      MPI_Barrier(pair_);
    }
  }

 private:
  void exchange(Order order, const std::vector<Letter>& out, const std::vector<Letter>& in) {
    // A type that lives for one batch.
    MPI_Type_vector(kMostDoubles, 1, 2, MPI_DOUBLE, &passing_);
    MPI_Type_commit(&passing_);
    if (order == Order::kBlocking) {
      for (const int sender : {0, 1}) {
        if (sender == me_) {
          for (size_t i = 0; i < out.size(); ++i) send(out[i], i);
        } else {
          for (size_t i = 0; i < in.size(); ++i) receive(in[i], i);
        }
      }
    } else if (order == Order::kPosted) {
      posted(in, out);
    } else {
      start_all(out);
      if (order == Order::kBackwards) MPI_Barrier(pair_);
      for (size_t k = 0; k < in.size(); ++k) {
        const size_t i = order == Order::kBackwards ? in.size() - 1 - k : k;
        receive(in[i], i);
      }
      end_all();
    }
    MPI_Type_free(&passing_);
  }

  const double* from(const Letter& letter) const { return data_.data() + letter.start; }

  void send(const Letter& letter, size_t tag) {
    const auto to = 1 - me_;
    const int t = static_cast<int>(tag);
    if (letter.kind == 0) {
      MPI_Ssend(from(letter), letter.doubles, spread_, to, t, pair_);
    } else {
      MPI_Send(from(letter), letter.doubles, spread_, to, t, pair_);
    }
  }

  void start_all(const std::vector<Letter>& out) {
    requests_.assign(out.size(), MPI_REQUEST_NULL);
    for (size_t i = 0; i < out.size(); ++i) {
      const auto isend = out[i].kind == 0 ? MPI_Issend : MPI_Isend;
      isend(from(out[i]), out[i].doubles, spread_, 1 - me_, static_cast<int>(i), pair_,
            &requests_[i]);
    }
  }

  void end_all() {
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }

  void posted(const std::vector<Letter>& in, const std::vector<Letter>& out) {
    std::vector<MPI_Request> receives(in.size());
    const auto place = [&](size_t i) { return all_.data() + i * (kMostDoubles + kBehind); };
    for (size_t i = 0; i < in.size(); ++i) {
      std::fill_n(place(i), in[i].doubles + kBehind, -1);
      MPI_Irecv(place(i), in[i].doubles, MPI_DOUBLE, 1 - me_, static_cast<int>(i), pair_,
                &receives[i]);
    }
    start_all(out);
    MPI_Waitall(static_cast<int>(in.size()), receives.data(), MPI_STATUSES_IGNORE);
    for (size_t i = 0; i < in.size(); ++i) look_at(in[i], place(i), 1);
    end_all();
  }

  void receive(const Letter& letter, size_t tag) {
    const int peer = 1 - me_;
    const int t = static_cast<int>(tag);
    const int n = letter.doubles;
    MPI_Status status;
    MPI_Message message;
    MPI_Request request;
    std::fill_n(got_.begin(), 2 * n + kBehind, -1);
    switch (letter.kind) {
      case 1:
        MPI_Probe(peer, t, pair_, &status);
        CHECK(StatusView(status, MPI_DOUBLE).count == n);
        MPI_Recv(got_.data(), n, MPI_DOUBLE, peer, t, pair_, &status);
        break;
      case 2:
        MPI_Mprobe(peer, t, pair_, &message, &status);
        MPI_Mrecv(got_.data(), n + 1, MPI_DOUBLE, &message, &status);
        break;
      case 3:
        MPI_Irecv(got_.data(), n, MPI_DOUBLE, peer, t, pair_, &request);
        for (int done = 0; done == 0;) MPI_Test(&request, &done, &status);
        break;
      case 4:
        MPI_Recv(got_.data(), n, spread_, peer, t, pair_, &status);
        CHECK(StatusView(status, spread_).count == n);
        return look_at(letter, got_.data(), 2);
      case 5:
        MPI_Recv(got_.data(), 1, passing_, peer, t, pair_, &status);
        CHECK(StatusView(status, passing_).elements == n);
        return look_at(letter, got_.data(), 2);
      default:
        MPI_Recv(got_.data(), kMostDoubles, MPI_DOUBLE, peer, t, pair_, &status);
    }
    CHECK(StatusView(status, MPI_DOUBLE).count == n);
    look_at(letter, got_.data(), 1);
  }

  void look_at(const Letter& letter, const double* got, int stride) {
    bool same = true;
    for (int i = 0; i < letter.doubles; ++i) {
      same = same && got[i * stride] == letter.start + 2 * i;
      same = same && (stride == 1 || got[i * stride + 1] == -1);
    }
    for (int i = 0; i < kBehind; ++i) same = same && got[letter.doubles * stride + i] == -1;
    CHECK(same);
  }

  MPI_Comm pair_;
  int me_;
  MPI_Datatype spread_{}, passing_{};
  std::vector<double> data_ = std::vector<double>(3 * kMostDoubles + 1);
  std::vector<double> all_ =
      std::vector<double>(static_cast<size_t>(kMostInBatch) * (kMostDoubles + kBehind));
  std::vector<double> got_ = std::vector<double>(2 * kMostDoubles + kBehind);
  std::vector<MPI_Request> requests_;
};

}  // namespace

TOPIC(soak_direct) {
  constexpr int64_t kMayGrowMappings = 8;
  const char* text = std::getenv("LACUNA_TEST_MESSAGES");
  const int64_t messages = (text != nullptr ? std::atoll(text) : 20000) / (g_size / 2);
  // With few messages, the process grows after the first tenth: by 4.6 MiB with Intel MPI 2021.19
  // (2.1 MiB without lacuna). With a million, by 1.7 MiB.
  const int64_t may_grow_kib = messages < 100000 ? 8 << 10 : 4 << 10;
  MPI_Comm pair;
  MPI_Comm_split(MPI_COMM_WORLD, g_rank / 2, g_rank, &pair);
  Soak soak(pair, g_rank % 2);
  Random random(static_cast<uint64_t>(g_rank / 2) + 1);
  CHECK(static_cast<int>(arenas().size()) == g_size);
  soak.warm_up();
  Outcome early, most;
  int64_t next_look = messages / 10;
  for (int64_t done = 0; done < messages;) {
    done += soak.batch(&random);
    if (done < next_look) continue;
    next_look += messages / 10;
    const Outcome now = look_at_memory();
    if (early.resident_kib == 0) early = now;
    most.resident_kib = std::max(most.resident_kib, now.resident_kib);
    most.mappings = std::max(most.mappings, now.mappings);
  }
  std::printf("rank %d: resident %lld KiB after a tenth, %lld at most later; mappings %lld, %lld\n",
              g_rank, static_cast<long long>(early.resident_kib),
              static_cast<long long>(most.resident_kib), static_cast<long long>(early.mappings),
              static_cast<long long>(most.mappings));
  CHECK(most.resident_kib <= early.resident_kib + may_grow_kib);
  CHECK(most.mappings <= early.mappings + kMayGrowMappings);
  soak.check_empty();
  MPI_Comm_free(&pair);
}
