// SPDX-License-Identifier: BSD-3-Clause
//
// Whether the ranks of this node take part in the direct path, on which all of them agree.
#ifndef LACUNA_INTERPOSE_DIRECT_AGREEMENT_AGREEMENT_HPP_
#define LACUNA_INTERPOSE_DIRECT_AGREEMENT_AGREEMENT_HPP_

#include <cstdint>

#include "interpose/direct/agreement/nodes.hpp"

namespace lacuna::direct {

enum class Agreement : uint8_t {
  kReached,     // all ranks are willing, have the same build, and map each other's arenas
  kAlone,       // no other rank of the job is on this node, and nothing was set up
  kUnknownJob,  // the launcher does not tell which ranks belong to the job
  kNotMet,      // not all have come within LACUNA_DIRECT_WAIT
  kRefused,     // a rank is unwilling, has another build, or cannot open an arena
};

// What is agreed with other nodes, for pipelined messages (direct/pipeline/). Unless it is nothing,
// a rank that is alone on its node agrees with itself.
enum class OtherNodes : uint8_t {
  kNothing,
  kGiven,  // the user has said that all ranks run lacuna
  kAsked,  // all nodes are asked (nodes.hpp)
};

struct Agreed {
  Agreement node = Agreement::kAlone;
  AllNodes nodes = AllNodes::kNotAsked;
};
// Waits for the other ranks of this node, without calling the MPI library (meeting.hpp). So ranks
// of other nodes and ranks without lacuna need not take part. All ranks of the node get the same
// answer. kAsked needs the runtime().
Agreed agree(bool willing, OtherNodes others) noexcept;

// Takes back the notes of this process for the other nodes. Call once all ranks of the job have
// agreed to pipelined messages; else the notes stay until the job ends.
void take_back_notes() noexcept;

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_AGREEMENT_AGREEMENT_HPP_
