// SPDX-License-Identifier: BSD-3-Clause
//
// Layout: the normalized loop nest between a type and a plan. Lowered from a Type (lower.cpp), kept
// in normal form by the constructors below (rules.cpp, sequence.cpp), read by plan/. Knows neither
// machines nor kernels.
//
// Words:
//   leaf run   bytes that are contiguous on both sides.
//   loop       {count, mem_stride, packed_stride}: it carries the strides of *both* sides, so
//              whoever traverses it may interchange and tile it, and every byte still goes where
//              the typemap says (docs/internals/design.md, Order).
//   origin     a node's own memory address 0: the first byte it has in packed order. Its parent
//              says where that is (Placed), so equal patterns at other offsets are equal nodes.
//
// Normal form (what the constructors keep):
//   - the packed side is dense and in typemap order: packed_stride is the child's size, offsets of
//     parts are prefix sums;
//   - no empty parts, no loop of one iteration, no loop or list that is a single run;
//   - no loop directly inside a loop whose iterations it continues;
//   - adjacent runs of a list or sequence are one run;
//   - a list or sequence is a loop where it is periodic, with the least period.
// Rules and their proofs: docs/internals/layout.md. After Gropp, Lusk & Swider 1999, section 3 (the
// taxonomy of access patterns).
#ifndef LACUNA_ENGINE_LAYOUT_LAYOUT_HPP_
#define LACUNA_ENGINE_LAYOUT_LAYOUT_HPP_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "type/type.hpp"

namespace lacuna {

struct Loop {
  int64_t count = 1;
  int64_t mem_stride = 0;     // bytes; any sign, may be 0 or less than the width
  int64_t packed_stride = 0;  // bytes
  bool operator==(const Loop&) const = default;
};

class LayoutNode;
using NodePtr = std::shared_ptr<const LayoutNode>;

// A node and where its origin is, seen from its parent's. No node: no bytes.
struct Placed {
  int64_t offset = 0;
  NodePtr node;

  bool empty() const { return node == nullptr; }
  int64_t size() const;
};

class LayoutNode {
 public:
  enum class Kind : uint8_t {
    kRun,     // `size` contiguous bytes
    kLoop,    // `loop` over `child`
    kBlocks,  // `child` at each of mem_offsets: equal pieces, irregular places
    kRuns,    // runs of unequal lengths: run i at mem_offsets[i], packed bytes [packed_offsets[i],
              // packed_offsets[i+1])
    kSeq,     // unlike pieces one after the other: child i at mem_offsets[i], packed_offsets[i]
  };

  Kind kind = Kind::kRun;
  int64_t size = 0;                  // data bytes
  int64_t leaf_runs = 1;             // maximal runs a simple traversal would copy one by one
  Loop loop;                         // kLoop
  std::vector<int64_t> mem_offsets;  // kBlocks, kRuns, kSeq; the first is 0
  std::vector<int64_t>
      packed_offsets;             // kRuns, kSeq: one more than mem_offsets; 0 first, size last
  std::vector<NodePtr> children;  // kLoop, kBlocks: one; kSeq: one an entry
  uint64_t hash = 0;              // of the structure

  const LayoutNode& child() const { return *children[0]; }
};

inline int64_t Placed::size() const { return node ? node->size : 0; }

// The whole of a type: the pattern of one element, and how elements follow each other.
struct Layout {
  Placed element;
  int64_t extent = 0;  // memory distance of element i + 1 from element i

  int64_t size() const { return element.size(); }
};

// Structural equality (hash first).
bool equal(const LayoutNode& a, const LayoutNode& b);
bool equal(const Placed& a, const Placed& b);

// ---- the constructors of normal forms (rules.cpp, sequence.cpp) ----

Placed make_run(int64_t offset, int64_t bytes);

// `count` copies of `child`, `mem_stride` apart. Rules: drop, unroll one, fold a dense run,
// collapse nested strides.
Placed make_loop(int64_t count, int64_t mem_stride, Placed child);

// Copies of `child` at the given offsets. Rules: merge adjacent runs, recognise the least period.
// O(entries).
Placed make_blocks(std::vector<int64_t> mem_offsets, Placed child);

// Runs of any lengths, those of length 0 dropped. Same rules. O(entries).
Placed make_runs(std::vector<int64_t> mem_offsets, std::vector<int64_t> lengths);

// Pieces one after the other in the packed stream. Rules: drop, flatten, merge adjacent runs, hoist
// the common structure of equal pieces into a loop or list, spell short mixtures out as runs.
// O(pieces).
Placed make_seq(std::vector<Placed> parts);

// ---- from a type (lower.cpp) ----

// O(nodes) for regular types, O(entries) for index lists, never by way of a typemap. Cannot fail:
// the type's constructors have checked that all sizes and bounds fit.
Layout lower(const Type& type);

// ---- to look at (dump.cpp) ----

// One node a line, indented: "loop 1024 mem +8192 packed +8".
std::string dump(const Layout& layout);

// Calls f(mem_offset, packed_offset, bytes) for each leaf run of one element in packed order; for
// tests and pictures.
void for_each_run(const Placed& placed, const std::function<void(int64_t, int64_t, int64_t)>& f);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_LAYOUT_LAYOUT_HPP_
