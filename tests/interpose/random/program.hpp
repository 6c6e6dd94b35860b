// SPDX-License-Identifier: BSD-3-Clause
//
// Random programs, as data: types, and rounds of messages in all modes, receives in all ways and
// collectives, those of neighbourhoods, too. The same in all ranks, from a seed. random_test.cpp
// runs them.
#ifndef LACUNA_TESTS_INTERPOSE_RANDOM_PROGRAM_HPP_
#define LACUNA_TESTS_INTERPOSE_RANDOM_PROGRAM_HPP_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/interpose/harness/collective_calls.hpp"
#include "tests/interpose/harness/complete.hpp"
#include "type/type.hpp"

namespace test {

struct Drawn {
  lacuna::TypePtr type;
  std::string text() const;
};

enum class Sending { kIsend, kIssend, kIrsend, kIbsend, kPersistent, kFreed, kSend, kSsend, kPack };
enum class Receiving { kIrecv, kPersistent, kImrecv, kMrecv, kRecv, kProbed, kSendrecv };

enum class Pairs { kNone, kShortInt, kFloatInt, k2Int, kLongInt, kDoubleInt };

// The topology of a neighbourhood collective; kNone: a collective of all ranks. In kTwice and in
// rings of two, a rank is the neighbour of another one several times.
enum class Topology { kNone, kLine, kRing, kRingAndSelf, kTwice, kStar };

// Before the senders start; the others are begun once they have.
bool is_posted_before(Receiving how);

struct Message {
  int source, dest, tag;
  size_t type;
  int count, room;  // elements sent, and at most received
  Sending sending;
  Receiving receiving;
  bool any_source, any_tag;
  bool in_basics;  // received as elements of the one predefined type that the type is made of
  // Instead of `type`: pairs (MPI_DOUBLE_INT and its like) on one side, the receiving one if
  // `in_basics`, and structs of the same on the other.
  Pairs pairs;
  std::string text(const std::vector<Drawn>& types) const;
};

struct Round {
  std::vector<Message> messages;
  const CollectiveCall* collective = nullptr;  // or this
  Topology topology = Topology::kNone;
  bool nonblocking = false;
  size_t type = 0;
  int count = 0;
  bool free_early = false;
  How how = How::kWait;
  int order = 0;  // of the persistent ones
  bool ignore = false;
};

struct Program {
  uint64_t seed;
  std::vector<Drawn> types;
  std::vector<Round> rounds;
};

Program draw_program(uint64_t seed);
// On stderr, by rank 0.
void print(const Program& program);

}  // namespace test

#endif  // LACUNA_TESTS_INTERPOSE_RANDOM_PROGRAM_HPP_
