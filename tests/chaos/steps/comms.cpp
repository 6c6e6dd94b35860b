// SPDX-License-Identifier: BSD-3-Clause
//
// Steps that make communicators, of all ranks and of some, and end them.
#include <algorithm>
#include <numeric>

#include "tests/chaos/chaos.hpp"

namespace chaos {

namespace {

constexpr size_t kMostComms = 14;  // of a program, besides MPI_COMM_WORLD and its like

bool is_group(const Comm& comm) { return !comm.inter(); }

int64_t live(const Program& p) {
  return std::count_if(p.comms.begin(), p.comms.end(), [](const CommPtr& c) { return !c->kept; });
}
// With threads, making communicators in Open MPI may deadlock.
bool is_full(const Program& p) {
  return live(p) >= static_cast<int64_t>(kMostComms) || (g_threads && g_quirks.ompi);
}

// Checks that a new communicator is what all ranks expect.
void check(Program* p, const Comm& comm) {
  if (comm.handle == MPI_COMM_NULL) return;
  int rank = 0, size = 0, other = 0;
  MPI_Comm_rank(comm.handle, &rank);
  MPI_Comm_size(comm.handle, &size);
  if (comm.inter()) MPI_Comm_remote_size(comm.handle, &other);
  const bool mine = comm.rank_of(p->rank) >= 0;
  const std::vector<int>& group = mine ? comm.group : comm.other;
  const int expected =
      static_cast<int>(std::find(group.begin(), group.end(), p->rank) - group.begin());
  if (rank != expected || size != static_cast<int>(group.size()))
    p->digest.add(p->label(998), rank + 100);
  p->digest.add(p->label(997), other);
}

std::vector<int> shuffled(Random* draw, std::vector<int> all) {
  for (size_t i = all.size(); i > 1; --i)
    std::swap(all[i - 1], all[static_cast<size_t>(draw->between(0, static_cast<int64_t>(i) - 1))]);
  return all;
}

void duplicate(Program* p, Random* draw) {
  const CommPtr from = p->pick(draw, [](const Comm&) { return true; });
  const int64_t kind = draw->between(0, 3);
  if (is_full(*p)) return;
  const CommPtr made = add_comm(p, from->group);
  made->other = from->other;
  made->sources = from->sources;
  made->targets = from->targets;
  p->say("dup, kind " + std::to_string(kind) + ", of " + from->text() + " to " +
         std::to_string(made->id));
  if (from->handle == MPI_COMM_NULL) return;
  if (kind == 0 && !from->inter()) {
    Item item;
    p->ok(MPI_Comm_idup(from->handle, &made->handle, &item.request));
    std::vector<Item> items;
    items.push_back(std::move(item));
    p->finish(std::move(items));
  } else if (kind == 1) {
    p->ok(MPI_Comm_dup_with_info(from->handle, MPI_INFO_NULL, &made->handle));
  } else {
    p->ok(MPI_Comm_dup(from->handle, &made->handle));
  }
  check(p, *made);
}

void split(Program* p, Random* draw) {
  const CommPtr from = p->pick(draw, is_group);
  const int64_t colors = draw->between(1, 3);
  std::vector<int> keys(static_cast<size_t>(p->size));
  std::iota(keys.begin(), keys.end(), 0);
  keys = shuffled(draw, keys);
  std::vector<int64_t> color(static_cast<size_t>(p->size));
  for (int64_t& one : color) one = draw->between(-1, colors - 1);  // -1: in none
  const bool by_type = draw->chance(15);
  if (is_full(*p)) return;
  if (by_type) {
    const CommPtr made = add_comm(p, from->group);
    p->say("split_type of " + from->text() + " to " + std::to_string(made->id));
    if (from->handle == MPI_COMM_NULL) return;
    p->ok(MPI_Comm_split_type(from->handle, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made->handle));
    return check(p, *made);
  }
  p->say("split of " + from->text() + " by " + std::to_string(colors) + " colors");
  MPI_Comm mine = MPI_COMM_NULL;
  const size_t me = static_cast<size_t>(p->rank);
  if (from->handle != MPI_COMM_NULL)
    p->ok(MPI_Comm_split(from->handle, color[me] < 0 ? MPI_UNDEFINED : static_cast<int>(color[me]),
                         keys[me], &mine));
  for (int64_t one = 0; one < colors; ++one) {
    std::vector<int> group;
    for (const int place : from->group)
      if (color[static_cast<size_t>(place)] == one) group.push_back(place);
    if (group.empty()) continue;
    std::sort(group.begin(), group.end(), [&](int a, int b) {
      return keys[static_cast<size_t>(a)] < keys[static_cast<size_t>(b)];
    });
    const CommPtr made = add_comm(p, group);
    if (made->rank_of(p->rank) >= 0) made->handle = mine;
    check(p, *made);
  }
}

// A communicator of some ranks in another order, by a call of all ranks or of these alone.
void of_group(Program* p, Random* draw) {
  const CommPtr from = p->pick(draw, is_group);
  const std::vector<int> some = shuffled(draw, draw_subset(draw, from->group, 1));
  const bool alone = draw->chance(70);
  const int tag = p->tag();
  if (is_full(*p)) return;
  const CommPtr made = add_comm(p, some);
  p->say(std::string(alone ? "create_group" : "create") + " from " + from->text() + ": " +
         made->text());
  const bool mine = made->rank_of(p->rank) >= 0;
  if (from->handle == MPI_COMM_NULL || (alone && !mine)) return;
  MPI_Group all, group;
  std::vector<int> ranks;
  for (const int place : some) ranks.push_back(from->rank_of(place));
  MPI_Comm_group(from->handle, &all);
  MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &group);
  if (alone) {
    p->ok(MPI_Comm_create_group(from->handle, group, tag, &made->handle));
  } else {
    p->ok(MPI_Comm_create(from->handle, group, &made->handle));
  }
  MPI_Group_free(&all);
  MPI_Group_free(&group);
  check(p, *made);
}

// Duplicates of MPI_COMM_SELF, in some ranks.
void of_self(Program* p, Random* draw) {
  const std::vector<int> some = draw_subset(draw, p->comms.front()->group, 1);
  if (is_full(*p)) return;
  p->say("dup of MPI_COMM_SELF");
  for (const int place : some) {
    const CommPtr made = add_comm(p, {place});
    if (place == p->rank) p->ok(MPI_Comm_dup(MPI_COMM_SELF, &made->handle));
  }
}

// Not from one with a topology: with Open MPI the new communicator would keep it.
void grid(Program* p, Random* draw) {
  const CommPtr from = p->pick(draw, [](const Comm& c) { return !c.inter() && !c.topology(); });
  const int periodic = draw->chance(50) ? 1 : 0;
  if (is_full(*p)) return;
  const CommPtr made = add_comm(p, from->group);
  const int n = made->size();
  for (int i = 0; i < n; ++i) {
    const bool all = periodic != 0;
    const int left = i > 0 ? i - 1 : all ? n - 1 : -1, right = i + 1 < n ? i + 1 : all ? 0 : -1;
    made->sources.push_back({left, right});
    made->targets.push_back({left, right});
  }
  p->say("grid of " + from->text());
  if (from->handle == MPI_COMM_NULL) return;
  p->ok(MPI_Cart_create(from->handle, 1, &n, &periodic, 0, &made->handle));
  check(p, *made);
}

void graph(Program* p, Random* draw) {
  const CommPtr from =
      p->pick(draw, [](const Comm& c) { return !c.inter() && !c.topology() && c.size() > 1; });
  const int64_t edges = draw->between(1, 8), numbers = static_cast<int64_t>(draw->next() >> 1);
  if (from == nullptr || is_full(*p)) return;
  const CommPtr made = add_comm(p, from->group);
  const size_t n = from->group.size();
  made->sources.resize(n);
  made->targets.resize(n);
  Random more(static_cast<uint64_t>(numbers));
  const auto one = [&] { return static_cast<int>(more.between(0, static_cast<int64_t>(n) - 1)); };
  for (int64_t i = 0; i < edges; ++i) {
    const int source = one(), target = one();
    const std::vector<int>& there = made->targets[static_cast<size_t>(source)];
    if (std::find(there.begin(), there.end(), target) != there.end()) continue;
    made->targets[static_cast<size_t>(source)].push_back(target);
    made->sources[static_cast<size_t>(target)].push_back(source);
  }
  p->say("graph of " + from->text());
  if (from->handle == MPI_COMM_NULL) return;
  const size_t me = static_cast<size_t>(from->rank_of(p->rank));
  std::vector<int>&in = made->sources[me], &out = made->targets[me];
  in.reserve(1);
  out.reserve(1);
  p->ok(MPI_Dist_graph_create_adjacent(from->handle, static_cast<int>(in.size()), in.data(),
                                       MPI_UNWEIGHTED, static_cast<int>(out.size()), out.data(),
                                       MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made->handle));
  check(p, *made);
}

void between_groups(Program* p, Random* draw) {
  const CommPtr from = p->pick(draw, [](const Comm& c) { return !c.inter() && c.size() > 1; });
  const int64_t numbers = static_cast<int64_t>(draw->next() >> 1);
  const int tag = p->tag();
  // Intel MPI hangs and crashes here.
  if (from == nullptr || is_full(*p) || g_quirks.intel) return;
  Random more(static_cast<uint64_t>(numbers));
  const int64_t most = from->size() - 1;
  const size_t first = static_cast<size_t>(more.between(1, most));
  const bool merge = more.chance(30), merged_high = more.chance(50);
  const std::vector<int> low(from->group.begin(), from->group.begin() + static_cast<int>(first));
  const std::vector<int> high(from->group.begin() + static_cast<int>(first), from->group.end());
  const CommPtr made = add_comm(p, low);
  made->other = high;
  p->say("intercommunicator from " + from->text() + ": " + made->text());
  if (from->handle != MPI_COMM_NULL) {
    const int me = from->rank_of(p->rank);
    const bool is_low = me < static_cast<int>(first);
    MPI_Comm half;
    p->ok(MPI_Comm_split(from->handle, is_low ? 0 : 1, me, &half));
    p->ok(MPI_Intercomm_create(half, 0, from->handle, is_low ? static_cast<int>(first) : 0, tag,
                               &made->handle));
    MPI_Comm_free(&half);
    check(p, *made);
  }
  if (!merge) return;
  std::vector<int> all = merged_high ? high : low;
  const std::vector<int>& rest = merged_high ? low : high;
  all.insert(all.end(), rest.begin(), rest.end());
  const CommPtr merged = add_comm(p, all);
  p->say("merge of " + made->text());
  if (made->handle == MPI_COMM_NULL) return;
  const bool is_low = made->rank_of(p->rank) >= 0;
  p->ok(MPI_Intercomm_merge(made->handle, is_low == merged_high ? 1 : 0, &merged->handle));
  check(p, *merged);
}

void free_one(Program* p, Random* draw) {
  const CommPtr comm = p->pick(draw, [](const Comm& c) { return !c.kept; });
  if (comm == nullptr) return;
  p->say("free of " + comm->text());
  drop_comm(p, comm, false);
}

void disconnect_one(Program* p, Random* draw) {
  const CommPtr comm = p->pick(draw, [](const Comm& c) { return !c.kept; });
  if (comm == nullptr) return;
  p->say("disconnect of " + comm->text());
  drop_comm(p, comm, true);
}

// Duplicates that are freed right after one collective; repeated, on communicators of fewer ranks.
void passing(Program* p, Random* draw) {
  const int64_t times = g_threads && g_quirks.ompi ? 0 : draw->between(1, 3);
  for (int64_t i = 0; i < times; ++i) {
    const CommPtr from = p->pick(draw, is_group);
    const std::vector<int> some = draw_subset(draw, from->group, 1);
    const int64_t calls = draw->between(1, 3), numbers = static_cast<int64_t>(draw->next() >> 1);
    const bool disconnect = draw->chance(15);
    const CommPtr made = add_comm(p, some);
    p->say("passing " + made->text());
    if (from->handle != MPI_COMM_NULL) {
      const bool mine = made->rank_of(p->rank) >= 0;
      p->ok(MPI_Comm_split(from->handle, mine ? 1 : MPI_UNDEFINED, made->rank_of(p->rank),
                           &made->handle));
    }
    Random more(static_cast<uint64_t>(numbers));
    for (int64_t k = 0; k < calls; ++k) collective_on(p, &more, made);
    drop_comm(p, made, disconnect);
  }
}

}  // namespace

CommPtr add_comm(Program* p, std::vector<int> group) {
  const auto comm = std::make_shared<Comm>();
  comm->id = p->next_id++;
  comm->group = std::move(group);
  p->comms.push_back(comm);
  return comm;
}

void drop_comm(Program* p, const CommPtr& comm, bool disconnect) {
  // MPICH's MPI_Comm_disconnect waits for ever for messages that were sent from the attached
  // buffer.
  if (!g_quirks.ompi && comm->buffered) disconnect = false;
  if (g_quirks.ompi && g_threads) disconnect = false;  // hangs
  // As for MPI_Finalize. Collectives that are pending when it is freed crash Open MPI and Intel
  // MPI.
  if (disconnect || !g_quirks.mpich) p->finish_of(comm->id, !disconnect);
  if (comm->handle != MPI_COMM_NULL) {
    p->ok(disconnect ? MPI_Comm_disconnect(&comm->handle) : MPI_Comm_free(&comm->handle));
    if (comm->handle != MPI_COMM_NULL) p->digest.add(p->label(996), 1);
  }
  p->comms.erase(std::find(p->comms.begin(), p->comms.end(), comm));
}

std::vector<int> draw_subset(Random* draw, const std::vector<int>& of, size_t least) {
  std::vector<int> some, rest;
  for (const int one : of) (draw->chance(55) ? some : rest).push_back(one);
  while (some.size() < least && !rest.empty()) {
    some.push_back(rest.back());
    rest.pop_back();
  }
  std::sort(some.begin(), some.end());
  return some;
}

const std::vector<Step> kCommSteps = {
    {"dup", 5, duplicate},        {"split", 5, split},   {"group", 5, of_group},
    {"self", 3, of_self},         {"grid", 2, grid},     {"graph", 2, graph},
    {"inter", 3, between_groups}, {"free", 8, free_one}, {"disconnect", 3, disconnect_one},
    {"passing", 8, passing},
};

}  // namespace chaos
