// SPDX-License-Identifier: BSD-3-Clause
//
// One collective on a communicator of any kind: blocking, nonblocking or persistent; with gaps in
// some ranks and without in others.
#include <algorithm>

#include "callbacks.hpp"
#include "tests/chaos/chaos.hpp"

namespace chaos {

namespace {

#if defined(LACUNA_MPI_FAMILY_OMPI) && OMPI_MAJOR_VERSION < 5
#define INIT(function, ...) MPI_ERR_OTHER
#else
#define INIT(function, ...) function(__VA_ARGS__, MPI_INFO_NULL, &request)
#endif
#define START(name, iname, ...)                    \
  switch (way) {                                   \
    case Way::kNonblocking:                        \
      return MPI_##iname(__VA_ARGS__, &request);   \
    case Way::kPersistent:                         \
      return INIT(MPI_##name##_init, __VA_ARGS__); \
    default:                                       \
      return MPI_##name(__VA_ARGS__);              \
  }

enum class Way { kBlocking, kNonblocking, kPersistent };
enum Kind {
  kBcast,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kAlltoallv,
  kAlltoallw,
  kBarrier,
  kReduce,
  kAllreduce,
  kScan,
  kKinds,
  kNeighborAllgather = kKinds,
  kNeighborAllgatherv,
  kNeighborAlltoall,
  kNeighborAlltoallv,
  kNeighborAlltoallw
};
const char* const kNames[] = {"bcast",
                              "gather",
                              "gatherv",
                              "scatter",
                              "scatterv",
                              "allgather",
                              "allgatherv",
                              "alltoall",
                              "alltoallv",
                              "alltoallw",
                              "barrier",
                              "reduce",
                              "allreduce",
                              "scan",
                              "neighbor_allgather",
                              "neighbor_allgatherv",
                              "neighbor_alltoall",
                              "neighbor_alltoallv",
                              "neighbor_alltoallw"};

bool is_rooted(int kind) {
  return kind == kBcast || kind == kGather || kind == kGatherv || kind == kScatter ||
         kind == kScatterv || kind == kReduce;
}

// What all ranks know about a call, and what this rank keeps until it is complete.
struct Call {
  int kind = 0;
  Way way = Way::kBlocking;
  Drawn drawn;
  int count = 0, gap = 0, root = 0;
  bool backwards = false, in_place = false, root_low = false, user_op = false;
  uint64_t numbers = 0, plain = 0;

  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  bool is_root = false;
  int root_here = 0;    // the argument `root` of this rank
  int out = 0, in = 0;  // how many ranks data go to and come from
  Handle type, same;
  Memory send, recv;
  struct Lists {
    std::vector<int> counts, places, bytes;
    std::vector<MPI_Aint> long_bytes;
    std::vector<MPI_Datatype> types;
  } sent, received;
  std::vector<int> numbers_in, numbers_out;

  int amount(int from, int to) const {
    return static_cast<int>(mix(numbers, static_cast<uint64_t>(from * 64 + to)) %
                            static_cast<uint64_t>(count + 1));
  }
  int start();
};

int Call::start() {
  void* const s = send.base();
  void* const r = recv.base();
  const MPI_Datatype t = type.get(), u = same.get();
  const auto& out_lists = sent;
  const auto& in_lists = received;
  const MPI_Op op = user_op ? a_user_op() : MPI_SUM;
  const void* const sent_from = in_place ? MPI_IN_PLACE : s;
  switch (kind) {
    case kBcast:
      START(Bcast, Ibcast, is_root ? s : r, count, t, root_here, comm)
    case kGather:
      START(Gather, Igather, in_place && is_root ? MPI_IN_PLACE : s, count, t,
            is_root ? r : nullptr, is_root ? count : 0, is_root ? u : MPI_DATATYPE_NULL, root_here,
            comm)
    case kGatherv:
      START(Gatherv, Igatherv, in_place && is_root ? MPI_IN_PLACE : s, out_lists.counts[0], t, r,
            in_lists.counts.data(), in_lists.places.data(), u, root_here, comm)
    case kScatter:
      START(Scatter, Iscatter, is_root ? s : nullptr, is_root ? count : 0,
            is_root ? t : MPI_DATATYPE_NULL, in_place && is_root ? MPI_IN_PLACE : r, count, u,
            root_here, comm)
    case kScatterv:
      START(Scatterv, Iscatterv, s, out_lists.counts.data(), out_lists.places.data(), t,
            in_place && is_root ? MPI_IN_PLACE : r, in_lists.counts[0], u, root_here, comm)
    case kAllgather:
      START(Allgather, Iallgather, sent_from, count, t, r, count, u, comm)
    case kAllgatherv:
      START(Allgatherv, Iallgatherv, sent_from, out_lists.counts[0], t, r, in_lists.counts.data(),
            in_lists.places.data(), u, comm)
    case kAlltoall:
      START(Alltoall, Ialltoall, sent_from, count, t, r, count, u, comm)
    case kAlltoallv:
      START(Alltoallv, Ialltoallv, s, out_lists.counts.data(), out_lists.places.data(), t, r,
            in_lists.counts.data(), in_lists.places.data(), u, comm)
    case kAlltoallw:
      START(Alltoallw, Ialltoallw, s, out_lists.counts.data(), out_lists.bytes.data(),
            out_lists.types.data(), r, in_lists.counts.data(), in_lists.bytes.data(),
            in_lists.types.data(), comm)
    case kReduce:
      START(Reduce, Ireduce, in_place && is_root ? MPI_IN_PLACE : numbers_out.data(),
            numbers_in.data(), static_cast<int>(numbers_in.size()), MPI_INT, op, root_here, comm)
    case kAllreduce:
      START(Allreduce, Iallreduce, in_place ? MPI_IN_PLACE : numbers_out.data(), numbers_in.data(),
            static_cast<int>(numbers_in.size()), MPI_INT, op, comm)
    case kScan:
      START(Scan, Iscan, numbers_out.data(), numbers_in.data(), static_cast<int>(numbers_in.size()),
            MPI_INT, op, comm)
    case kNeighborAllgather:
      START(Neighbor_allgather, Ineighbor_allgather, s, count, t, r, count, u, comm)
    case kNeighborAllgatherv:
      START(Neighbor_allgatherv, Ineighbor_allgatherv, s, count, t, r, in_lists.counts.data(),
            in_lists.places.data(), u, comm)
    case kNeighborAlltoall:
      START(Neighbor_alltoall, Ineighbor_alltoall, s, count, t, r, count, u, comm)
    case kNeighborAlltoallv:
      START(Neighbor_alltoallv, Ineighbor_alltoallv, s, out_lists.counts.data(),
            out_lists.places.data(), t, r, in_lists.counts.data(), in_lists.places.data(), u, comm)
    case kNeighborAlltoallw:
      START(Neighbor_alltoallw, Ineighbor_alltoallw, s, out_lists.counts.data(),
            out_lists.long_bytes.data(), out_lists.types.data(), r, in_lists.counts.data(),
            in_lists.long_bytes.data(), in_lists.types.data(), comm)
    default: {
      if (way == Way::kNonblocking) return MPI_Ibarrier(comm, &request);
#if !defined(LACUNA_MPI_FAMILY_OMPI) || OMPI_MAJOR_VERSION >= 5
      if (way == Way::kPersistent) return MPI_Barrier_init(comm, MPI_INFO_NULL, &request);
#endif
      return MPI_Barrier(comm);
    }
  }
}

// Counts and displacements for `n` ranks; amount_of(i) elements for the i-th.
template <typename Amount>
void fill(Call::Lists* lists, const Call& call, int n, const Handle& type, const Handle& same,
          const Amount& amount_of) {
  MPI_Aint lb = 0, extent = 0;
  MPI_Type_get_extent(type.get(), &lb, &extent);
  // Open MPI reads more types than there are neighbours, even if there are none.
  for (int i = 0; i < std::max(8, n); ++i) {
    const int place = i < n ? (call.backwards ? n - 1 - i : i) * (call.count + call.gap) : 0;
    lists->counts.push_back(i < n ? amount_of(i) : 0);
    lists->places.push_back(place);
    lists->bytes.push_back(static_cast<int>(place * extent));
    lists->long_bytes.push_back(place * extent);
    lists->types.push_back(i % 2 == 0 ? type.get() : same.get());
  }
}

void prepare(Program* p, const Comm& comm, Call* call) {
  call->comm = comm.handle;
  const bool low = comm.rank_of(p->rank) >= 0;
  int me = 0;
  MPI_Comm_rank(comm.handle, &me);
  call->out = call->in =
      comm.inter() ? static_cast<int>((low ? comm.other : comm.group).size()) : comm.size();
  const bool neighbors = call->kind >= kKinds;
  if (neighbors) {
    call->out = static_cast<int>(comm.targets[static_cast<size_t>(me)].size());
    call->in = static_cast<int>(comm.sources[static_cast<size_t>(me)].size());
  }
  call->is_root = me == call->root;
  call->root_here = call->root;
  if (comm.inter()) {
    const bool here = low == call->root_low;
    call->is_root = here && me == call->root;
    if (here) call->root_here = call->is_root ? MPI_ROOT : MPI_PROC_NULL;
  }
  const bool plain = (call->plain >> p->rank & 1) != 0;
  call->type = Handle(call->drawn, plain);
  call->same = Handle(call->drawn, plain);
  const int most = std::max(1, std::max(call->out, call->in)) * (call->count + call->gap);
  const uint64_t seed = p->label(static_cast<uint64_t>(p->rank));
  call->send = Memory(call->type.get(), most, seed);
  call->recv = Memory(call->type.get(), most, seed + 1);
  // Elements from rank i to rank j of a communicator, or between the groups of an
  // intercommunicator. Neighbours always get `count`, as both ends of an edge must know the number.
  const auto between = [&](int from, int to, bool from_low) {
    return call->amount(from + (from_low ? 0 : 20), to + (from_low ? 20 : 0));
  };
  const bool one_sided = call->kind == kGatherv || call->kind == kAllgatherv;
  fill(&call->sent, *call, call->out, call->type, call->same, [&](int i) {
    if (neighbors) return call->count;
    if (one_sided) return between(me, 0, low);  // the same for every receiver
    if (call->kind == kScatterv) return between(0, i, low);
    return between(me, i, low);
  });
  fill(&call->received, *call, call->in, call->type, call->same, [&](int i) {
    if (neighbors) return call->count;
    if (one_sided) return between(i, 0, comm.inter() ? !low : low);
    if (call->kind == kScatterv) return between(0, me, comm.inter() ? !low : low);
    return between(i, me, comm.inter() ? !low : low);
  });
  for (int i = 0; i < call->count % 40 + 1; ++i) {
    call->numbers_out.push_back(static_cast<int>(mix(seed, static_cast<uint64_t>(i)) % 100000));
    call->numbers_in.push_back(static_cast<int>(mix(seed, static_cast<uint64_t>(i)) % 1000));
  }
}

void digest(Program* p, const Call& call) {
  const uint64_t label = p->label(static_cast<uint64_t>(p->rank) + 50);
  call.send.digest(&p->digest, label);
  call.recv.digest(&p->digest, label + 1);
  p->digest.add(label + 2, call.numbers_in.data(), call.numbers_in.size() * sizeof(int));
}

Call draw_call(Program* p, Random* draw, const Comm& comm) {
  Call call;
  call.kind = static_cast<int>(draw->between(0, kKinds - 1));
  const int64_t neighbor = draw->between(0, 4);
  const bool near = draw->chance(75);
  if (comm.topology() && near) call.kind = kKinds + static_cast<int>(neighbor);
  if (comm.inter() && call.kind == kScan) call.kind = kBcast;
  // docs/internals/defects.md
  if (g_quirks.intel && comm.inter() && comm.group.size() + comm.other.size() == 2 &&
      (call.kind == kAllgather || call.kind == kAllgatherv))
    call.kind = kBcast;
  const int64_t way = draw->between(0, 99);
  call.way = way < 68 ? Way::kBlocking : way < 86 ? Way::kNonblocking : Way::kPersistent;
  if (call.way == Way::kPersistent && !g_quirks.persistent_collectives) call.way = Way::kBlocking;
  // MPICH's nonblocking collectives on intercommunicators write garbage into the gaps of a gather.
  if (comm.inter() && (call.way == Way::kPersistent || !g_quirks.ompi)) call.way = Way::kBlocking;
  call.drawn = draw_type(draw);
  // Intel MPI's MPI_Gather writes beyond its own memory where data do not begin at the address
  // given.
  for (int i = 0; i < 20 && g_quirks.intel && call.drawn.type->true_lb != 0; ++i)
    call.drawn = draw_type(draw);
  const int64_t size = draw->between(0, 99);
  const int most = call.drawn.most(size < 75 ? 3000 : size < 97 ? 30000 : 300000);
  const int peers = std::max(1, static_cast<int>(comm.group.size() + comm.other.size()));
  call.gap = draw->chance(50) ? 1 : 0;
  const int count = static_cast<int>(draw->magnitude(1, std::max(1, most / peers - 1)));
  call.count = draw->chance(5) ? 0 : count;
  call.root_low = draw->chance(50);
  const size_t roots = comm.inter() && !call.root_low ? comm.other.size() : comm.group.size();
  call.root = static_cast<int>(draw->between(0, static_cast<int64_t>(roots) - 1));
  call.backwards = draw->chance(40);
  call.in_place = draw->chance(20) && !comm.inter();
  if (call.kind == kAlltoall && call.way != Way::kBlocking) call.in_place = false;
  call.user_op = draw->chance(40) && call.way == Way::kBlocking;
  call.numbers = draw->next();
  call.plain = draw->chance(40) ? draw->next() : 0;
  // MPICH and Intel MPI cut MPI_Allgatherv at multiples of the receiving type's extent, which must
  // be the same in all ranks.
  if (call.kind == kAllgatherv && !g_quirks.ompi) call.plain = 0;
  if (call.kind == kNeighborAlltoallw && g_quirks.ompi)
    call.way = Way::kBlocking;  // MPI_ERR_INTERN
  // Open MPI's nonblocking collectives of two threads sometimes deliver wrong bytes.
  if (g_threads && g_quirks.ompi && call.way == Way::kNonblocking) call.way = Way::kBlocking;
  static_cast<void>(p);
  return call;
}

}  // namespace

void collective_on(Program* p, Random* draw, const CommPtr& comm) {
  const auto call = std::make_shared<Call>(draw_call(p, draw, *comm));
  // Not on intercommunicators, where libraries fail by themselves.
  const bool pending = draw->chance(50) && !comm->inter();
  const int64_t starts = draw->between(1, 3);
  static const char* const kWays[] = {"", "nonblocking ", "persistent "};
  p->say(std::string(kWays[static_cast<int>(call->way)]) + kNames[call->kind] +
         (call->in_place ? " in place" : "") + " on " + comm->text() + " of " +
         std::to_string(call->count) + " " + call->drawn.text() +
         (is_rooted(call->kind) ? ", root " + std::to_string(call->root) : "") +
         (call->plain != 0 ? ", plain in some" : ""));
  Bundle bundle;
  bundle.comm = comm->id;
  bundle.collective = true;
  if (comm->handle != MPI_COMM_NULL) {
    prepare(p, *comm, call.get());
    p->pause();
    p->ok(call->start());
    switch (call->way) {
      case Way::kBlocking:
        digest(p, *call);
        break;
      case Way::kNonblocking: {
        if (p->noise.chance(40) && !g_quirks.intel && !comm->inter()) {
          call->type.free();
          call->same.free();
        }
        Item item;
        item.request = call->request;
        item.done = [p, call](const MPI_Status*) { digest(p, *call); };
        bundle.items.push_back(std::move(item));
        break;
      }
      case Way::kPersistent:
        for (int64_t i = 0; i < starts; ++i) {
          p->ok(MPI_Start(&call->request));
          p->ok(MPI_Wait(&call->request, MPI_STATUS_IGNORE));
          digest(p, *call);
        }
        p->ok(MPI_Request_free(&call->request));
    }
  }
  if (call->way == Way::kNonblocking) p->leave(std::move(bundle), pending);
}

namespace {

void collective(Program* p, Random* draw) {
  const CommPtr comm = p->pick(draw, [](const Comm&) { return true; });
  const int64_t times = draw->chance(20) ? draw->between(2, 12) : 1;
  for (int64_t i = 0; i < times; ++i) collective_on(p, draw, comm);
}

// Several collectives on different communicators, so that ranks are in calls that others have not
// reached yet.
void several(Program* p, Random* draw) {
  const int64_t times = draw->between(2, 6);
  for (int64_t i = 0; i < times; ++i) {
    const CommPtr comm = p->pick(draw, [](const Comm&) { return true; });
    collective_on(p, draw, comm);
  }
}

}  // namespace

const std::vector<Step> kCollectiveSteps = {{"collective", 20, collective},
                                            {"several", 10, several}};

}  // namespace chaos
