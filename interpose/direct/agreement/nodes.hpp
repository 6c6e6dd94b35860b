// SPDX-License-Identifier: BSD-3-Clause
//
// Whether lacuna runs in all ranks of a job on several nodes. A rank without lacuna takes part in
// no message and in no collective of lacuna's. So the nodes leave notes with the launcher, which
// anyone may look for, and a note that is missing tells as much as one that is there.
#ifndef LACUNA_INTERPOSE_DIRECT_AGREEMENT_NODES_HPP_
#define LACUNA_INTERPOSE_DIRECT_AGREEMENT_NODES_HPP_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace lacuna::direct {

// What the launcher keeps for all ranks of a job. What one process has written, all find that begin
// to read afterwards.
class Notes {
 public:
  static constexpr size_t kMostText = 200;  // with the '\0'; MPICH 5 keeps 255 characters

  virtual ~Notes() = default;
  // False: it is there already (left by an earlier job: some launchers keep notes for longer), or
  // not there afterwards.
  virtual bool write(const char* name, const char* text) noexcept = 0;
  // `text`: room for kMostText characters. False: there is no such note.
  virtual bool read(const char* name, char* text) noexcept = 0;
  // Takes back what this process has written: after a yes, once all nodes have their answer.
  virtual void take_back() noexcept = 0;
};

// What a node tells the others.
struct NodeNote {
  bool willing;                // all of its ranks take part
  uint64_t build;              // of lacuna; must be the same on all nodes
  uint64_t machine;            // must differ, unless it is 0: this_machine() in launched.hpp
  std::span<const int> ranks;  // of the job, on this node; ascending
};

enum class AllNodes : int32_t {
  kNotAsked,
  kAgreed,
  kNoNotes,     // the launcher keeps none
  kAbsent,      // a node has not answered in time, or gave up before the first node came
  kRefused,     // a node takes no part
  kScattered,   // a node's ranks cannot be named in a note
  kOneMachine,  // two nodes are containers of one machine, and may reach each other by memory
};

struct NodesRules {
  int ranks;  // of the job
  std::chrono::steady_clock::duration limit;
};

// Called by one process of each node. All that live get kAgreed, or none does (model:
// tests/model/nodes.pml). The process that speaks for rank 0's node decides. `absent`: after
// kAbsent, the first rank whose node has not answered; else -1. Costs a few notes for each node,
// and rank 0's node reads one of each; each takes the launcher some 0.1 ms.
AllNodes agree_across_nodes(const NodeNote& own, const NodesRules& rules, Notes* notes,
                            int* absent) noexcept;

namespace detail {

// As text, "WILLING-BUILD-MACHINE-FIRST.STEP.COUNT-...", willing 0 or 1. False: it is too long.
bool write_note(const NodeNote& note, std::span<char> text) noexcept;

struct ReadNote {
  bool willing = false;
  uint64_t build = 0;
  uint64_t machine = 0;
};
// Marks the node's ranks in `present`. False: it is no such note, or names a rank that is marked.
bool read_note(const char* text, std::span<bool> present, ReadNote* note) noexcept;

}  // namespace detail
}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_AGREEMENT_NODES_HPP_
