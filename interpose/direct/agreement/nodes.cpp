// SPDX-License-Identifier: BSD-3-Clause
//
// Four kinds of notes, each written once:
//
//   node-R  what the node whose first rank is R says (NodeNote)
//   begun   rank 0's node has come, and will decide
//   gone    a node has not found `end` in time; it agrees to nothing, unless it then finds `begun`
//   end     the decision
//
// A node that gives up writes `gone` before it looks for `begun`. Rank 0's node writes `begun`
// before it looks for `gone`. So one of the two sees the other: a node that has gone is known to
// the decision, or it waits for it. (Dekker's algorithm: E. W. Dijkstra, "Cooperating sequential
// processes", 1965, section 2.1.)
#include "interpose/direct/agreement/nodes.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <thread>
#include <vector>

namespace lacuna::direct {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kBegun = "begun";
constexpr const char* kGone = "gone";
constexpr const char* kEnd = "end";
constexpr const char* kYes = "yes";
constexpr const char* kNo = "no";
constexpr const char* kScattered = "scattered";  // in place of a note that is too long

struct NodeName {
  explicit NodeName(int first) noexcept { std::snprintf(text, sizeof(text), "node-%d", first); }
  char text[24];
};

// The launcher serves one process after the other, so the pauses grow with the number of nodes.
class Pause {
 public:
  explicit Pause(int nodes) noexcept
      : next_(std::chrono::microseconds(std::min(200 * std::max(nodes, 1), 50'000))) {}
  void wait() noexcept {
    std::this_thread::sleep_for(next_);
    next_ = std::min<Clock::duration>(2 * next_, std::chrono::milliseconds(100));
  }

 private:
  Clock::duration next_;
};

// Waits for the note. `goes_on` is asked before each pause.
template <typename GoesOn>
bool await_note(const char* name, int nodes, Notes* notes, char* text,
                const GoesOn& goes_on) noexcept {
  for (Pause pause(nodes);; pause.wait()) {
    if (notes->read(name, text)) return true;
    if (!goes_on()) return false;
  }
}

AllNodes answer(const char* decision) noexcept {
  return std::strcmp(decision, kYes) == 0 ? AllNodes::kAgreed : AllNodes::kRefused;
}

// Rank 0's node takes `begun` back only if it cannot write `end`, so this ends unless its process
// dies. Then the launcher ends the job.
AllNodes await_decision(int nodes, const NodesRules& rules, Notes* notes) noexcept {
  char text[Notes::kMostText];
  const auto limit = Clock::now() + rules.limit;
  if (await_note(kEnd, nodes, notes, text, [&] { return Clock::now() < limit; }))
    return answer(text);
  if (!notes->read(kGone, text)) notes->write(kGone, kYes);
  char begun[Notes::kMostText];
  const auto will_decide = [&] { return notes->read(kBegun, begun); };
  if (!will_decide()) return AllNodes::kAbsent;
  return await_note(kEnd, nodes, notes, text, will_decide) ? answer(text) : AllNodes::kAbsent;
}

// Reads the note of each node. The first rank that no note has named is the first of its node,
// which names the note. Only this process waits for it, so it need not wait longer with more nodes.
AllNodes find_all(const NodeNote& own, const NodesRules& rules, Notes* notes, int* absent) noexcept
    try {
  const auto ranks = static_cast<size_t>(rules.ranks);
  const std::unique_ptr<bool[]> storage(new bool[ranks]());
  const std::span<bool> present(storage.get(), ranks);
  for (const int rank : own.ranks) present[static_cast<size_t>(rank)] = true;
  std::vector<uint64_t> machines;
  if (own.machine != 0) machines.push_back(own.machine);
  const auto limit = Clock::now() + rules.limit;
  for (;;) {
    const auto first = static_cast<int>(std::ranges::find(present, false) - present.begin());
    if (first == rules.ranks) break;
    char text[Notes::kMostText];
    if (!await_note(NodeName(first).text, 1, notes, text, [&] { return Clock::now() < limit; })) {
      *absent = first;
      return AllNodes::kAbsent;
    }
    detail::ReadNote note;
    if (std::strcmp(text, kScattered) == 0) return AllNodes::kScattered;
    if (!detail::read_note(text, present, &note) || !present[static_cast<size_t>(first)] ||
        !note.willing || note.build != own.build) {
      return AllNodes::kRefused;
    }
    if (note.machine != 0) machines.push_back(note.machine);
  }
  std::ranges::sort(machines);
  return std::ranges::adjacent_find(machines) == machines.end() ? AllNodes::kAgreed
                                                                : AllNodes::kOneMachine;
} catch (const std::bad_alloc&) {
  return AllNodes::kRefused;
}

AllNodes decide(const NodeNote& own, const NodesRules& rules, Notes* notes, int* absent) noexcept {
  if (!notes->write(kBegun, kYes)) return AllNodes::kNoNotes;
  AllNodes found = own.willing ? find_all(own, rules, notes, absent) : AllNodes::kRefused;
  char text[Notes::kMostText];
  if (found == AllNodes::kAgreed && notes->read(kGone, text)) found = AllNodes::kAbsent;
  if (notes->write(kEnd, found == AllNodes::kAgreed ? kYes : kNo)) return found;
  notes->take_back();
  return found == AllNodes::kAgreed ? AllNodes::kNoNotes : found;
}

}  // namespace

AllNodes agree_across_nodes(const NodeNote& own, const NodesRules& rules, Notes* notes,
                            int* absent) noexcept {
  *absent = -1;
  const int first = own.ranks.front();
  if (first == 0) return decide(own, rules, notes, absent);
  char text[Notes::kMostText];
  const bool fits = detail::write_note(own, text);
  // Nobody decides yes before this node has written its note.
  if (char early[Notes::kMostText]; notes->read(kEnd, early))
    return std::strcmp(early, kYes) == 0 ? AllNodes::kNoNotes : AllNodes::kRefused;
  if (!fits) std::snprintf(text, sizeof(text), "%s", kScattered);
  if (!notes->write(NodeName(first).text, text)) return AllNodes::kNoNotes;
  if (!fits || !own.willing) return fits ? AllNodes::kRefused : AllNodes::kScattered;
  const int about_as_many = rules.ranks / static_cast<int>(own.ranks.size());
  const AllNodes found = await_decision(about_as_many, rules, notes);
  if (found == AllNodes::kAbsent) *absent = 0;
  return found;
}

namespace detail {

bool write_note(const NodeNote& note, std::span<char> text) noexcept {
  size_t length = 0;
  const auto add = [&](const char* format, auto... values) {
    if (length >= text.size()) return;
    length += static_cast<size_t>(
        std::snprintf(text.data() + length, text.size() - length, format, values...));
  };
  add("%d-%llx-%llx", note.willing ? 1 : 0, static_cast<unsigned long long>(note.build),
      static_cast<unsigned long long>(note.machine));
  const std::span<const int> ranks = note.ranks;
  for (size_t at = 0; at < ranks.size();) {
    const int step = at + 1 < ranks.size() ? ranks[at + 1] - ranks[at] : 1;
    size_t end = at + 1;
    while (end < ranks.size() && ranks[end] - ranks[end - 1] == step) ++end;
    add("-%d.%d.%d", ranks[at], step, static_cast<int>(end - at));
    at = end;
  }
  return length < text.size();
}

bool read_note(const char* text, std::span<bool> present, ReadNote* note) noexcept {
  int willing = 0;
  unsigned long long build = 0;
  unsigned long long machine = 0;
  int used = 0;
  if (std::sscanf(text, "%d-%llx-%llx%n", &willing, &build, &machine, &used) != 3) return false;
  *note = {willing == 1, build, machine};
  const auto size = static_cast<int64_t>(present.size());
  for (const char* at = text + used; *at != '\0'; at += used) {
    int64_t first = 0;
    int64_t step = 0;
    int64_t count = 0;
    static_assert(sizeof(long) == sizeof(int64_t));
    if (std::sscanf(at, "-%ld.%ld.%ld%n", &first, &step, &count, &used) != 3) return false;
    if (first < 0 || step < 1 || count < 1 || step > size || count > size) return false;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t rank = first + i * step;
      if (rank >= size || present[static_cast<size_t>(rank)]) return false;
      present[static_cast<size_t>(rank)] = true;
    }
  }
  return true;
}

}  // namespace detail
}  // namespace lacuna::direct
