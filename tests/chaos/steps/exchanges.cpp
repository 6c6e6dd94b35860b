// SPDX-License-Identifier: BSD-3-Clause
//
// Steps of messages among all ranks of a communicator.
#include "tests/chaos/chaos.hpp"

namespace chaos {

namespace {

// Each rank sends to the next one.
void shift(Program* p, Random* draw) {
  const CommPtr comm = p->pick(draw, [](const Comm& c) { return !c.inter(); });
  const Drawn drawn = draw_type(draw);
  const int64_t size = draw_size(draw), kind = draw->between(0, 2);
  const uint64_t plain = draw->chance(50) ? draw->next() : 0;
  // Of two threads, one that sends to itself may wait for ever (docs/internals/defects.md).
  const int least = g_threads && comm->size() > 1 ? 1 : 0;
  const int by = static_cast<int>(draw->between(least, comm->size() - 1)), tag = p->tag();
  const int count = static_cast<int>(draw->magnitude(1, drawn.most(size)));
  p->say("shift " + std::to_string(kind) + " by " + std::to_string(by) + " on " + comm->text() +
         " of " + std::to_string(count) + " " + drawn.text());
  if (comm->handle == MPI_COMM_NULL) return;
  const int n = comm->size(), me = comm->rank_of(p->rank);
  const int dest = (me + by) % n, source = (me + n - by) % n;
  const Handle out(drawn, (plain >> p->rank & 1) != 0),
      in(drawn, (plain >> (p->rank + 8) & 1) != 0);
  Memory from(out.get(), count, p->label(static_cast<uint64_t>(p->rank)));
  Memory to(in.get(), count, p->label(static_cast<uint64_t>(p->rank) + 30));
  MPI_Status status;
  if (kind == 0) {
    p->ok(MPI_Sendrecv_replace(to.base(), count, in.get(), dest, tag, source, tag, comm->handle,
                               &status));
  } else {
    p->ok(MPI_Sendrecv(from.base(), count, out.get(), dest, tag, to.base(), count, in.get(), source,
                       tag, comm->handle, &status));
  }
  p->note(p->label(60), status, in.get());
  to.digest(&p->digest, p->label(61));
}

// Many ranks send to one, which receives in the order of arrival, between barriers.
void many_to_one(Program* p, Random* draw) {
  const CommPtr comm = p->pick(draw, [](const Comm& c) { return !c.inter() && c.size() > 1; });
  const Drawn drawn = draw_type(draw);
  const int count = static_cast<int>(draw->magnitude(1, drawn.most(draw_size(draw) / 4 + 100)));
  const int64_t each = draw->between(1, 4), way = draw->between(0, 3), sync = draw->between(0, 2);
  if (comm == nullptr) return;
  const int root = static_cast<int>(draw->between(0, comm->size() - 1)), tag = p->tag();
  p->say("many to one on " + comm->text() + " of " + std::to_string(count) + " " + drawn.text());
  if (comm->handle == MPI_COMM_NULL) return;
  const int me = comm->rank_of(p->rank);
  const Handle handle(drawn, false);
  p->ok(MPI_Barrier(comm->handle));
  if (me != root) {
    std::vector<Item> items;
    for (int64_t i = 0; i < each; ++i) {
      const auto memory = std::make_shared<Memory>(
          handle.get(), count, mix(p->label(1), static_cast<uint64_t>(me * 100 + i)));
      Item item;
      if (sync == 0) {
        p->ok(MPI_Issend(memory->base(), count, handle.get(), root, tag, comm->handle,
                         &item.request));
      } else {
        p->ok(
            MPI_Isend(memory->base(), count, handle.get(), root, tag, comm->handle, &item.request));
      }
      item.done = [memory](const MPI_Status*) {};
      items.push_back(std::move(item));
    }
    p->finish(std::move(items));
  } else {
    // The i-th message of a sender has a label of its own.
    std::vector<int> come(static_cast<size_t>(comm->size()), 0);
    const auto digest = [&](const MPI_Status& status, const Memory& memory) {
      const int number = come[static_cast<size_t>(status.MPI_SOURCE)]++;
      const uint64_t label =
          mix(p->label(70), static_cast<uint64_t>(status.MPI_SOURCE * 100 + number));
      p->note(label, status, handle.get());
      memory.digest(&p->digest, label + 1);
    };
    const int64_t all_of_them = each * (comm->size() - 1);
    std::vector<Memory> memories;
    for (int64_t i = 0; i < all_of_them; ++i) memories.emplace_back(handle.get(), count, 99);
    if (way == 0) {
      for (Memory& memory : memories) {
        MPI_Status status;
        p->ok(MPI_Recv(memory.base(), count, handle.get(), MPI_ANY_SOURCE, MPI_ANY_TAG,
                       comm->handle, &status));
        digest(status, memory);
      }
    } else if (way == 1) {
      for (Memory& memory : memories) {
        MPI_Status status;
        p->ok(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm->handle, &status));
        p->ok(MPI_Recv(memory.base(), count, handle.get(), status.MPI_SOURCE, tag, comm->handle,
                       &status));
        digest(status, memory);
      }
    } else if (way == 2) {
      for (Memory& memory : memories) {
        MPI_Status status;
        MPI_Message message;
        p->ok(MPI_Mprobe(MPI_ANY_SOURCE, tag, comm->handle, &message, &status));
        p->ok(MPI_Mrecv(memory.base(), count, handle.get(), &message, &status));
        digest(status, memory);
      }
    } else {
      // Receives that were posted together match a sender's messages in the order of posting, so
      // they are digested in that order.
      std::vector<MPI_Request> requests(memories.size());
      std::vector<MPI_Status> statuses(memories.size());
      for (size_t i = 0; i < memories.size(); ++i)
        p->ok(MPI_Irecv(memories[i].base(), count, handle.get(), MPI_ANY_SOURCE, MPI_ANY_TAG,
                        comm->handle, &requests[i]));
      test::complete(p->how(false), &requests, false, [&](int i, const MPI_Status* status) {
        statuses[static_cast<size_t>(i)] = *status;
      });
      for (size_t i = 0; i < memories.size(); ++i) digest(statuses[i], memories[i]);
    }
  }
  p->ok(MPI_Barrier(comm->handle));
}

}  // namespace

const std::vector<Step> kExchangeSteps = {{"shift", 5, shift}, {"many", 5, many_to_one}};

}  // namespace chaos
