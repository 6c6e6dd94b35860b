// SPDX-License-Identifier: BSD-3-Clause
#include "tests/interpose/random/program.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "type/random/random.hpp"
#include "type/text/text.hpp"

namespace test {
namespace {

using lacuna::Random;

// Without the types that libraries copy by value (padding) or Intel MPI places wrongly (cyclic
// darrays); the engine's own differential test has them.
bool is_plain(const lacuna::Type& type) {
  if (type.combiner == lacuna::Combiner::kDarray) return false;
  if (type.basic != nullptr && type.basic->size_bytes >= 16) return false;
  for (const lacuna::TypePtr& child : type.children) {
    if (!is_plain(*child)) return false;
  }
  return true;
}

// With up to so many elements, interleaved ones do not overlap.
constexpr int64_t kInterleaved = 64;

Drawn draw_type(Random* random) {
  lacuna::RandomOptions options;
  options.overlap = false;
  options.max_entries = 300;
  options.max_true_extent = 1 << 15;
  for (;;) {
    options.max_depth = static_cast<int>(random->between(1, 4));
    const lacuna::TypePtr type = lacuna::random_type(random->next(), options);
    if (type->size_bytes > 0 && is_plain(*type) && !lacuna::has_overlap(*type, kInterleaved))
      return {type};
  }
}

// Whether the send may wait for its receive, which must be posted then.
bool may_wait(Sending how) {
  return how == Sending::kSend || how == Sending::kSsend || how == Sending::kIrsend ||
         how == Sending::kPack;
}

int draw_count(Random* random, const lacuna::Type& type) {
  const int64_t most = std::max<int64_t>(1, (random->chance(10) ? 200000 : 3000) / type.size_bytes);
  const bool apart = std::abs(type.extent()) >= type.true_ub - type.true_lb;
  return static_cast<int>(
      std::min<int64_t>(random->magnitude(0, most), apart ? 2000 : kInterleaved - 8));
}

Message draw_message(Random* random, Random* ways, Random* more, const std::vector<Drawn>& types,
                     int tag) {
  Message m;
  m.source = static_cast<int>(random->between(0, g_size - 1));
  m.dest = static_cast<int>(random->between(0, g_size - 1));
  m.tag = tag;
  m.type = static_cast<size_t>(random->between(0, static_cast<int64_t>(types.size()) - 1));
  m.count = draw_count(random, *types[m.type].type);
  m.room = m.count + (random->chance(25) ? static_cast<int>(random->between(1, 5)) : 0);
  m.receiving = static_cast<Receiving>(random->between(0, 5));
  m.sending = static_cast<Sending>(random->between(0, is_posted_before(m.receiving) ? 8 : 5));
  if (!is_posted_before(m.receiving) && may_wait(m.sending)) m.sending = Sending::kIsend;
  m.any_source = random->chance(20);
  // Another message from the same rank might match otherwise.
  m.any_tag = false;
  if (m.receiving == Receiving::kRecv && ways->chance(30)) m.receiving = Receiving::kSendrecv;
  m.in_basics = types[m.type].type->signature.uniform != nullptr && ways->chance(30);
  m.pairs = Pairs::kNone;
  if (more->chance(10)) {
    m.pairs = static_cast<Pairs>(more->between(1, static_cast<int64_t>(Pairs::kDoubleInt)));
    m.in_basics = more->chance(50);
    m.room += static_cast<int>(std::min(m.count, 300)) - m.count;  // MPICH, 8168 to 8191 bytes
    m.count = std::min(m.count, 300);
  }
  return m;
}

const CollectiveCall* draw_call(Random* random, std::span<const CollectiveCall> calls) {
  return &calls[static_cast<size_t>(random->between(0, static_cast<int64_t>(calls.size()) - 1))];
}

}  // namespace

Program draw_program(uint64_t seed) {
  Random random(seed * 2 + 1);
  // Separate generators, so that these draws change nothing else.
  Random ways(~seed * 2 + 1), more((seed ^ uint64_t{0x9E3779B97F4A7C15}) * 2 + 1);
  Program program;
  program.seed = seed;
  for (int64_t i = random.between(2, 5); i > 0; --i) program.types.push_back(draw_type(&random));
  for (int64_t rounds = random.between(2, 5); rounds > 0; --rounds) {
    Round round;
    round.how = static_cast<How>(random.between(0, static_cast<int64_t>(How::kTestsome)));
    round.order = static_cast<int>(random.between(0, 3));
    round.ignore = random.chance(30);
    round.free_early = random.chance(50);
    if (random.chance(30)) {
      round.collective = draw_call(&random, collective_calls());
      if (more.chance(40)) {
        round.collective = draw_call(&more, neighbor_calls());
        round.topology =
            static_cast<Topology>(more.between(1, static_cast<int64_t>(Topology::kStar)));
      }
      round.nonblocking = random.chance(50);
      round.type =
          static_cast<size_t>(random.between(0, static_cast<int64_t>(program.types.size()) - 1));
      // More elements might be interleaved and overlap (kInterleaved).
      round.count =
          static_cast<int>(random.chance(30) ? random.between(4, 12) : random.between(1, 3));
    } else {
      for (int64_t i = random.between(1, 8); i > 0; --i)
        round.messages.push_back(
            draw_message(&random, &ways, &more, program.types, static_cast<int>(i)));
      // The only message between two ranks may be received with MPI_ANY_TAG.
      for (Message& m : round.messages) {
        int rivals = 0;
        for (const Message& other : round.messages) rivals += other.dest == m.dest ? 1 : 0;
        m.any_tag = rivals == 1 && random.chance(50);
      }
    }
    program.rounds.push_back(round);
  }
  return program;
}

std::string Drawn::text() const { return lacuna::print_type(*type).substr(0, 300); }

std::string Message::text(const std::vector<Drawn>& types) const {
  return std::to_string(count) + " (room for " + std::to_string(room) + ") of " +
         (pairs == Pairs::kNone ? types[type].text()
                                : "pairs " + std::to_string(static_cast<int>(pairs))) +
         (in_basics ? ", received in basics" : "") + " from " + std::to_string(source) + " to " +
         std::to_string(dest) + (any_source ? ", any source" : "") + (any_tag ? ", any tag" : "") +
         ", sending " + std::to_string(static_cast<int>(sending)) + ", receiving " +
         std::to_string(static_cast<int>(receiving));
}

bool is_posted_before(Receiving how) {
  return how == Receiving::kIrecv || how == Receiving::kPersistent;
}

void print(const Program& program) {
  if (g_rank != 0) return;
  std::fprintf(stderr, "seed %llu\n", static_cast<unsigned long long>(program.seed));
  for (const Round& round : program.rounds) {
    std::fprintf(stderr, " round: how %d, order %d, ignore %d, free early %d\n",
                 static_cast<int>(round.how), round.order, round.ignore, round.free_early);
    for (const Message& m : round.messages)
      std::fprintf(stderr, "  %d: %s\n", m.tag, m.text(program.types).c_str());
    if (round.collective == nullptr) continue;
    std::fprintf(stderr, "  %s%s %s, topology %d, %d of %s\n", round.nonblocking ? "I" : "",
                 round.collective->name, round.collective->how, static_cast<int>(round.topology),
                 round.count, program.types[round.type].text().c_str());
  }
}

}  // namespace test
