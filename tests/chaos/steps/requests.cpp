// SPDX-License-Identifier: BSD-3-Clause
//
// Steps about requests: completed late and mixed, persistent over several steps, cancelled, freed.
#include <sched.h>
#include <unistd.h>

#include <algorithm>

#include "tests/chaos/chaos.hpp"

namespace chaos {

namespace {

// Completes some of the pending requests by one call; each rank decides by itself.
void complete_some(Program* p, Random* draw) {
  const uint64_t which = draw->next();
  if (p->noise.chance(25)) return;
  std::vector<Item> items;
  std::vector<Bundle> left;
  for (size_t i = 0; i < p->bundles.size(); ++i) {
    Bundle& bundle = p->bundles[i];
    if ((which >> i % 64 & 1) != 0) {
      for (Item& item : bundle.items) items.push_back(std::move(item));
    } else {
      left.push_back(std::move(bundle));
    }
  }
  p->bundles = std::move(left);
  p->say("completing " + std::to_string(items.size()) + " requests");
  p->finish(std::move(items));
}

struct Pair {
  CommPtr comm;
  int source = 0, dest = 0;
  bool sends = false, receives = false;
};

// Two ranks of a communicator.
Pair draw_pair(Program* p, Random* draw, bool may_be_self) {
  Pair pair;
  pair.comm =
      p->pick(draw, [&](const Comm& c) { return !c.inter() && (may_be_self || c.size() > 1); });
  const int64_t source = draw->between(0, 1 << 20), dest = draw->between(1, 1 << 20);
  if (pair.comm == nullptr) return pair;
  const int n = pair.comm->size();
  pair.source = static_cast<int>(source % n);
  pair.dest = n == 1 ? 0 : (pair.source + 1 + static_cast<int>(dest % (n - 1))) % n;
  const int me = pair.comm->rank_of(p->rank);
  pair.sends = me == pair.source;
  pair.receives = me == pair.dest;
  return pair;
}

// Persistent requests of two ranks, started again and again.
void channel(Program* p, Random* draw) {
  const Pair pair = draw_pair(p, draw, true);
  const Drawn drawn = draw_type(draw);
  const int64_t mode = draw->between(0, 2), rounds = draw->between(1, 6),
                several = draw->between(1, 3);
  const int count =
      static_cast<int>(draw->magnitude(1, drawn.most(draw->chance(80) ? 3000 : 60000)));
  const bool plain = draw->chance(30);
  const int tag = p->tag();
  if (pair.comm == nullptr) return;
  p->say("persistent " + std::to_string(mode) + " on " + pair.comm->text() + ", " +
         std::to_string(pair.source) + " to " + std::to_string(pair.dest) + " of " +
         std::to_string(count) + " " + drawn.text());
  if (mode == 2) pair.comm->buffered = true;
  if (!pair.sends && !pair.receives) return;
  const MPI_Comm comm = pair.comm->handle;
  std::vector<MPI_Request> requests;
  std::vector<Memory> in;
  const Handle out_type(drawn, false), in_type(drawn, plain);
  std::vector<Memory> out;
  for (int64_t i = 0; i < several; ++i) {
    const uint64_t seed = mix(p->label(3), static_cast<uint64_t>(i));
    if (pair.receives) {
      in.emplace_back(in_type.get(), count, seed);
      requests.emplace_back();
      p->ok(MPI_Recv_init(in.back().base(), count, in_type.get(), pair.source, tag, comm,
                          &requests.back()));
    }
    if (pair.sends) {
      out.emplace_back(out_type.get(), count, seed + 1);
      requests.emplace_back();
      const auto init = mode == 0 ? MPI_Send_init : mode == 1 ? MPI_Ssend_init : MPI_Bsend_init;
      p->ok(init(out.back().base(), count, out_type.get(), pair.dest, tag, comm, &requests.back()));
    }
  }
  const int n = static_cast<int>(requests.size());
  for (int64_t round = 0; round < rounds; ++round) {
    if (p->noise.chance(60)) {
      p->ok(MPI_Startall(n, requests.data()));
    } else {
      for (MPI_Request& request : requests) p->ok(MPI_Start(&request));
    }
    test::complete(p->how(true), &requests, p->noise.chance(40), [](int, const MPI_Status*) {});
    for (size_t i = 0; i < in.size(); ++i)
      in[i].digest(&p->digest, mix(p->label(80), static_cast<uint64_t>(round * 8) + i));
  }
  for (MPI_Request& request : requests) p->ok(MPI_Request_free(&request));
}

// Receives without a matching send, which are cancelled.
void never(Program* p, Random* draw) {
  const Pair pair = draw_pair(p, draw, true);
  const Drawn drawn = draw_type(draw);
  const int count = static_cast<int>(draw->magnitude(1, drawn.most(3000)));
  const bool persistent = draw->chance(40);
  const int tag = p->tag();
  if (pair.comm == nullptr || !pair.receives) return;
  p->say("a receive in vain on " + pair.comm->text());
  const Handle type(drawn, false);
  Memory memory(type.get(), count, p->label(4));
  MPI_Request request;
  MPI_Status status;
  int flag = 0;
  if (persistent) {
    MPI_Recv_init(memory.base(), count, type.get(), pair.source, tag, pair.comm->handle, &request);
    p->ok(MPI_Start(&request));
  } else {
    p->ok(
        MPI_Irecv(memory.base(), count, type.get(), pair.source, tag, pair.comm->handle, &request));
  }
  p->ok(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
  p->digest.add(p->label(5), flag);
  p->ok(MPI_Cancel(&request));
  p->ok(MPI_Wait(&request, &status));
  MPI_Test_cancelled(&status, &flag);
  p->digest.add(p->label(6), flag);
  if (persistent) p->ok(MPI_Request_free(&request));
  memory.digest(&p->digest, p->label(7));
}

// Intel MPI crashes. With threads, Open MPI's MPI_Comm_disconnect does not wait for freed receives.
bool can_free_receives() { return !g_quirks.intel && !(g_quirks.ompi && g_threads); }

// Requests that are freed while they are active. They are complete after MPI_Comm_disconnect or
// MPI_Finalize; a send also when its message has been received.
void freed(Program* p, Random* draw) {
  const CommPtr from = p->pick(draw, [](const Comm& c) { return !c.inter(); });
  // Open MPI's MPI_Comm_disconnect does not wait for receives.
  const bool waits = !g_quirks.ompi;
  const int64_t end = draw->between(0, 9), number = draw->between(1, 4);
  const bool late = draw->chance(50), frees_sends = draw->chance(60),
             frees_receives = draw->chance(60) && can_free_receives();

  const int64_t numbers = static_cast<int64_t>(draw->next() >> 1);
  if (g_threads && g_quirks.ompi) return;
  const CommPtr comm = add_comm(p, from->group);
  p->say("freed requests, " +
         std::string(end < 6   ? "disconnected"
                     : end < 9 ? "behind a barrier"
                               : "until MPI_Finalize") +
         ", on " + comm->text());
  if (from->handle != MPI_COMM_NULL) p->ok(MPI_Comm_dup(from->handle, &comm->handle));
  struct Received {
    Handle type;
    Memory memory;
  };
  std::vector<std::shared_ptr<Received>> received;
  std::vector<MPI_Request> requests;
  std::vector<std::function<void()>> sends;
  Random more(static_cast<uint64_t>(numbers));
  const int me = comm->rank_of(p->rank), n = comm->size();
  for (int64_t i = 0; i < number; ++i) {
    const int source = static_cast<int>(more.between(0, n - 1));
    const int dest = static_cast<int>(more.between(0, n - 1));
    const Drawn drawn = draw_type(&more);
    const bool skipped = g_quirks.intel && source == dest;  // crashes
    const int count =
        static_cast<int>(more.magnitude(1, drawn.most(more.chance(80) ? 5000 : 500000)));
    const int tag = static_cast<int>(i);
    const int64_t mode = more.between(0, g_quirks.ompi ? 2 : 1) * (g_quirks.ompi ? 1 : 2);
    p->say("freed requests on " + comm->text() + ", " + std::to_string(source) + " to " +
           std::to_string(dest) + ", mode " + std::to_string(mode) + ", " + std::to_string(count) +
           " of " + drawn.text() + (frees_receives ? ", receives" : "") +
           (frees_sends ? ", sends" : "") + (late ? ", late" : "") +
           (end < 6   ? ", disconnected"
            : end < 9 ? ""
                      : ", at the end"));
    if (me == dest && !skipped) {
      auto one = std::make_shared<Received>();
      one->type = Handle(drawn, false);
      one->memory = Memory(one->type.get(), count, mix(p->label(8), static_cast<uint64_t>(i)));
      MPI_Request request;
      p->ok(MPI_Irecv(one->memory.base(), count, one->type.get(), source, tag, comm->handle,
                      &request));
      if (frees_receives) {
        p->ok(MPI_Request_free(&request));
      } else {
        requests.push_back(request);
      }
      received.push_back(one);
    }
    if (me == source && !skipped) {
      sends.push_back([&, p, drawn, count, dest, tag, i, mode] {
        const auto one = std::make_shared<Received>();
        one->type = Handle(drawn, false);
        one->memory = Memory(one->type.get(), count, mix(p->label(9), static_cast<uint64_t>(i)));
        MPI_Request request;
        const auto start = mode == 0 ? MPI_Issend : mode == 1 ? MPI_Ibsend : MPI_Isend;
        p->ok(start(one->memory.base(), count, one->type.get(), dest, tag, comm->handle, &request));
        one->type.free();
        p->kept.push_back(one);
        if (frees_sends) {
          p->ok(MPI_Request_free(&request));
        } else {
          requests.push_back(request);
        }
      });
    }
  }
  if (comm->handle != MPI_COMM_NULL) {
    if (late) p->ok(MPI_Barrier(comm->handle));
    for (const auto& send : sends) send();
    p->ok(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
    if (end >= 6) p->ok(MPI_Barrier(comm->handle));
  }
  if (end < 6) {
    drop_comm(p, comm, true);
  } else {
    // A barrier does not show that a freed receive is complete, so its memory is read at the end.
    const auto look = [received, label = p->label(10)](Digest* digest) {
      for (size_t i = 0; i < received.size(); ++i) received[i]->memory.digest(digest, label + i);
    };
    for (const auto& one : received) one->type.free();
    if (comm->handle != MPI_COMM_NULL && frees_receives) {
      g_at_end.push_back(look);
      for (const auto& one : p->kept) g_at_end.push_back([one](Digest*) {});
    }
    if (!frees_receives) look(&p->digest);
    drop_comm(p, comm, false);
    return;
  }
  for (size_t i = 0; i < received.size(); ++i) {
    if (frees_receives && !waits) {
      g_at_end.push_back([one = received[i], label = p->label(10) + i](Digest* digest) {
        one->memory.digest(digest, label);
      });
      received[i]->type.free();
    } else {
      received[i]->memory.digest(&p->digest, p->label(10) + i);
    }
  }
}

// One rank sends messages until the other tells it to stop. It waits for its send and for the
// receive of that message together, and both must be reported in time (fairness).
void until_told(Program* p, Random* draw) {
  const Pair pair = draw_pair(p, draw, false);
  const Drawn drawn = draw_type(draw);
  const int64_t way = draw->between(0, g_quirks.ompi ? 2 : 1), enough = draw->between(1, 15);
  const int count = static_cast<int>(draw->magnitude(1, drawn.most(3000)));
  const int tag = p->tag(), told = p->tag();
  if (pair.comm == nullptr) return;
  p->say("until told, by " + std::to_string(way) + ", on " + pair.comm->text());
  const MPI_Comm comm = pair.comm->handle;
  const Handle type(drawn, false);
  Memory memory(type.get(), count, p->label(11));
  int stop = 0, sent = 0;
  if (pair.sends) {
    MPI_Request requests[2];
    MPI_Send_init(memory.base(), count, type.get(), pair.dest, tag, comm, &requests[0]);
    MPI_Recv_init(&stop, 1, MPI_INT, pair.dest, told, comm, &requests[1]);
    p->ok(MPI_Startall(2, requests));
    for (sent = 1; stop == 0;) {
      int n = 0, indices[2] = {0, 0}, flag = 0;
      if (way == 0) MPI_Waitsome(2, requests, &n, indices, MPI_STATUSES_IGNORE);
      if (way == 2)
        MPI_Testsome(2, requests, &n, indices, MPI_STATUSES_IGNORE);  // MPICH starves the receive
      if (way == 1) {
        MPI_Test(&requests[1], &flag, MPI_STATUS_IGNORE);
        if (stop != 0) break;
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        n = 1;
        indices[0] = 0;
      }
      if (n == 0) sched_yield();
      for (int i = 0; i < n && stop == 0; ++i) {
        if (indices[i] != 0) continue;
        p->ok(MPI_Start(&requests[0]));
        ++sent;
        usleep(100);  // so that the other rank is not flooded
      }
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    p->ok(MPI_Send(&sent, 1, MPI_INT, pair.dest, told, comm));
    for (MPI_Request& request : requests) MPI_Request_free(&request);
  } else if (pair.receives) {
    MPI_Request request;
    MPI_Irecv(&sent, 1, MPI_INT, pair.source, told, comm, &request);
    int got = 0;
    for (int flag = 0; flag == 0 || got < sent;) {
      if (flag == 0) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      int there = 0;
      MPI_Iprobe(pair.source, tag, comm, &there, MPI_STATUS_IGNORE);
      if (there == 0) {
        sched_yield();
        continue;
      }
      p->ok(MPI_Recv(memory.base(), count, type.get(), pair.source, tag, comm, MPI_STATUS_IGNORE));
      if (++got == enough) {
        stop = 1;
        p->ok(MPI_Send(&stop, 1, MPI_INT, pair.source, told, comm));
      }
    }
    memory.digest(&p->digest, p->label(12));
  }
}

}  // namespace

const std::vector<Step> kRequestSteps = {{"complete", 12, complete_some},
                                         {"channel", 6, channel},
                                         {"never", 4, never},
                                         {"freed", 5, freed},
                                         {"until_told", 1, until_told}};

}  // namespace chaos
