// SPDX-License-Identifier: BSD-3-Clause
//
// Steps of messages between two ranks: all modes, all ways to receive.
//
// Which send matches which receive does not depend on time. Either each rank goes through the
// messages of the step in one order (then wildcards are allowed if there is one sender), or each
// message has a tag of its own.
#include <sched.h>

#include <algorithm>

#include "tests/chaos/chaos.hpp"

namespace chaos {

namespace {

enum class Sending {
  kIsend,
  kIssend,
  kIbsend,
  kPersistent,
  kFreed,
  kSend,
  kSsend,
  kBsend,
  kPack,
  kIrsend,
  kRsend
};
enum class Receiving {
  kIrecv,
  kPersistent,
  kRecv,
  kProbe,
  kIprobe,
  kMprobe,
  kImprobe,
  kSendrecv,
  kCancelled
};

bool is_nonblocking(Sending how) { return how <= Sending::kFreed || how == Sending::kIrsend; }
bool is_posted(Receiving how) { return how <= Receiving::kPersistent; }

struct Letter {
  int from, to;      // the program's ranks
  int source, dest;  // in the communicator
  int number = 0, tag = 0, count = 0, room = 0;
  Drawn drawn;
  bool plain_out = false, plain_in = false, any_source = false, any_tag = false;
  Sending sending;
  Receiving receiving;
};

// Draws two ranks of a communicator.
void draw_ends(Random* draw, const Comm& comm, Letter* letter) {
  const bool upward = draw->chance(50);
  const std::vector<int>& out = comm.inter() && !upward ? comm.other : comm.group;
  const std::vector<int>& in = comm.inter() && upward ? comm.other : comm.group;
  letter->source = static_cast<int>(draw->between(0, static_cast<int64_t>(out.size()) - 1));
  letter->dest = static_cast<int>(draw->between(0, static_cast<int64_t>(in.size()) - 1));
  // In a communicator of two, a receive from MPI_ANY_SOURCE must not match a message to oneself.
  if (!comm.inter() && comm.size() == 2) letter->dest = 1 - letter->source;
  letter->from = out[static_cast<size_t>(letter->source)];
  letter->to = in[static_cast<size_t>(letter->dest)];
}

struct Batch {
  CommPtr comm;
  bool in_order = true, posted_first = false, pending = false, free_early = false;
  std::vector<Letter> letters;
  std::vector<size_t> order;  // of receives after all has been sent
};

Batch draw_batch(Program* p, Random* draw) {
  Batch batch;
  // Intel MPI loses messages on intercommunicators.
  batch.comm = p->pick(draw, [](const Comm& c) { return !c.inter() || !g_quirks.intel; });
  batch.in_order = draw->chance(60);
  batch.posted_first = !batch.in_order && draw->chance(50);
  batch.pending = draw->chance(40);
  batch.free_early = draw->chance(40);
  const bool one_source = batch.comm->inter()
                              ? batch.comm->group.size() + batch.comm->other.size() == 2
                              : batch.comm->size() <= 2;
  for (int64_t i = draw->magnitude(1, 12); i > 0; --i) {
    Letter letter;
    draw_ends(draw, *batch.comm, &letter);
    letter.drawn = draw_type(draw);
    const int most = letter.drawn.most(draw_size(draw));
    letter.count = draw->chance(4) ? 0 : static_cast<int>(draw->magnitude(1, most));
    letter.room = letter.count + (draw->chance(25) && letter.count < most ? 1 : 0);
    letter.plain_out = draw->chance(25);
    letter.plain_in = draw->chance(25);
    const bool self = letter.from == letter.to;
    const int64_t sending = draw->between(0, batch.posted_first ? 10 : 8);
    letter.sending = static_cast<Sending>(sending);
    letter.receiving = static_cast<Receiving>(draw->between(0, 8));
    if (letter.receiving == Receiving::kCancelled && is_without("cancelled"))
      letter.receiving = Receiving::kRecv;
    if (batch.in_order ? self : !is_posted(letter.receiving) || self)
      if (!is_nonblocking(letter.sending)) letter.sending = Sending::kIsend;
    const bool ready = letter.sending == Sending::kIrsend || letter.sending == Sending::kRsend;
    if (ready && !is_posted(letter.receiving)) letter.receiving = Receiving::kIrecv;
    const bool own_tag = !batch.in_order || draw->chance(40);
    const int own = p->tag();
    letter.tag = own_tag ? own : static_cast<int>(draw->between(0, 3));
    letter.any_source = draw->chance(25) && (own_tag || (one_source && batch.in_order));
    letter.any_tag = draw->chance(25) && batch.in_order && (!letter.any_source || one_source);
    if (letter.sending == Sending::kIbsend || letter.sending == Sending::kBsend)
      batch.comm->buffered = true;
    letter.number = static_cast<int>(batch.letters.size());
    batch.letters.push_back(letter);
  }
  for (size_t i = 0; i < batch.letters.size(); ++i) batch.order.push_back(i);
  for (size_t i = batch.order.size(); i > 1; --i)
    std::swap(batch.order[i - 1],
              batch.order[static_cast<size_t>(draw->between(0, static_cast<int64_t>(i) - 1))]);
  return batch;
}

// One end of a message.
struct End {
  Handle handle;
  Memory memory;
};

class Running {
 public:
  Running(Program* p, const Batch& batch) : p_(p), batch_(batch), comm_(batch.comm->handle) {
    bundle_.comm = batch.comm->id;
    label_ = p->label(7);
  }

  void run() {
    if (comm_ != MPI_COMM_NULL) {
      if (batch_.in_order) {
        for (const Letter& letter : batch_.letters) {
          if (letter.from == p_->rank) send(letter);
          if (letter.to == p_->rank) receive(letter);
        }
      } else {
        in_phases();
      }
    }
    p_->leave(std::move(bundle_), batch_.pending);
  }

 private:
  void in_phases() {
    for (const Letter& letter : batch_.letters)
      if (letter.to == p_->rank && is_posted(letter.receiving)) receive(letter);
    if (batch_.posted_first) p_->ok(MPI_Barrier(comm_));
    for (const Letter& letter : batch_.letters)
      if (letter.from == p_->rank) send(letter);
    for (const size_t i : batch_.order) {
      const Letter& letter = batch_.letters[i];
      if (letter.to == p_->rank && !is_posted(letter.receiving)) receive(letter);
    }
  }

  void tell(const char* what, const Letter& letter, int how) {
    p_->say(std::string(what) + " " + std::to_string(how) + " on " + batch_.comm->text() + ", " +
            std::to_string(letter.from) + " to " + std::to_string(letter.to) + ", tag " +
            std::to_string(letter.tag) + (letter.any_source ? ", any source" : "") +
            (letter.any_tag ? ", any tag" : "") + ", " + std::to_string(letter.count) + " of " +
            letter.drawn.text());
  }

  void add(MPI_Request request, bool persistent, std::function<void(const MPI_Status*)> done) {
    Item item;
    item.request = request;
    item.persistent = persistent;
    item.done = std::move(done);
    bundle_.items.push_back(std::move(item));
  }

  void send(const Letter& l) {
    tell("sending", l, static_cast<int>(l.sending));
    p_->pause();
    const auto end = std::make_shared<End>();
    end->handle = Handle(l.drawn, l.plain_out);
    end->memory = Memory(end->handle.get(), l.count, mix(label_, static_cast<uint64_t>(l.number)));
    const void* const base = end->memory.base();
    const MPI_Datatype type = end->handle.get();
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_SUCCESS;
    switch (l.sending) {
      case Sending::kIsend:
      case Sending::kFreed:
        code = MPI_Isend(base, l.count, type, l.dest, l.tag, comm_, &request);
        break;
      case Sending::kIssend:
        code = MPI_Issend(base, l.count, type, l.dest, l.tag, comm_, &request);
        break;
      case Sending::kIbsend:
        code = MPI_Ibsend(base, l.count, type, l.dest, l.tag, comm_, &request);
        break;
      case Sending::kIrsend:
        code = MPI_Irsend(base, l.count, type, l.dest, l.tag, comm_, &request);
        break;
      case Sending::kPersistent:
        MPI_Send_init(base, l.count, type, l.dest, l.tag, comm_, &request);
        code = MPI_Start(&request);
        break;
      case Sending::kSend:
        return p_->ok(MPI_Send(base, l.count, type, l.dest, l.tag, comm_));
      case Sending::kSsend:
        return p_->ok(MPI_Ssend(base, l.count, type, l.dest, l.tag, comm_));
      case Sending::kBsend:
        return p_->ok(MPI_Bsend(base, l.count, type, l.dest, l.tag, comm_));
      case Sending::kRsend:
        return p_->ok(MPI_Rsend(base, l.count, type, l.dest, l.tag, comm_));
      case Sending::kPack: {
        int bytes = 0, position = 0;
        MPI_Pack_size(std::max(1, l.count), type, comm_, &bytes);
        std::vector<char> packed(static_cast<size_t>(bytes));
        if (l.count > 0) MPI_Pack(base, l.count, type, packed.data(), bytes, &position, comm_);
        return p_->ok(MPI_Send(packed.data(), position, MPI_PACKED, l.dest, l.tag, comm_));
      }
    }
    p_->ok(code);
    if (batch_.free_early || l.sending == Sending::kFreed) end->handle.free();
    if (l.sending == Sending::kFreed) {
      MPI_Request_free(&request);
      p_->kept.push_back(end);
    } else {
      add(request, l.sending == Sending::kPersistent, [end](const MPI_Status*) {});
    }
  }

  // Receives a message, and digests it when it is complete.
  void receive(const Letter& l) {
    tell("receiving", l, static_cast<int>(l.receiving));
    p_->pause();
    const auto end = std::make_shared<End>();
    end->handle = Handle(l.drawn, l.plain_in);
    const uint64_t label = mix(label_, static_cast<uint64_t>(l.number) + 1000000);
    end->memory = Memory(end->handle.get(), l.room, label);
    void* const base = end->memory.base();
    const MPI_Datatype type = end->handle.get();
    const int source = l.any_source ? MPI_ANY_SOURCE : l.source;
    const int tag = l.any_tag ? MPI_ANY_TAG : l.tag;
    const auto done = [p = p_, end, label](const MPI_Status* status) {
      // The type may have been freed, so bytes are counted.
      if (status != nullptr) p->note(label + 1, *status, MPI_BYTE);
      end->memory.digest(&p->digest, label);
    };
    const auto post = [&](MPI_Request request, bool persistent) {
      if (batch_.free_early) end->handle.free();
      add(request, persistent, done);
    };
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    int flag = 0;
    switch (l.receiving) {
      case Receiving::kIrecv:
        p_->ok(MPI_Irecv(base, l.room, type, source, tag, comm_, &request));
        return post(request, false);
      case Receiving::kPersistent:
        MPI_Recv_init(base, l.room, type, source, tag, comm_, &request);
        p_->ok(MPI_Start(&request));
        return post(request, true);
      case Receiving::kRecv:
        p_->ok(MPI_Recv(base, l.room, type, source, tag, comm_, &status));
        break;
      case Receiving::kProbe:
        p_->ok(MPI_Probe(source, tag, comm_, &status));
        p_->note(label + 2, status, type, true);
        p_->ok(MPI_Recv(base, l.room, type, status.MPI_SOURCE, status.MPI_TAG, comm_, &status));
        break;
      case Receiving::kIprobe:
        while (flag == 0) {
          p_->ok(MPI_Iprobe(source, tag, comm_, &flag, &status));
          if (flag == 0) sched_yield();
        }
        p_->note(label + 2, status, type, true);
        p_->ok(MPI_Recv(base, l.room, type, status.MPI_SOURCE, status.MPI_TAG, comm_, &status));
        break;
      case Receiving::kMprobe:
        p_->ok(MPI_Mprobe(source, tag, comm_, &message, &status));
        p_->note(label + 2, status, type, true);
        p_->ok(MPI_Mrecv(base, l.room, type, &message, &status));
        break;
      case Receiving::kImprobe:
        while (flag == 0) {
          p_->ok(MPI_Improbe(source, tag, comm_, &flag, &message, &status));
          if (flag == 0) sched_yield();
        }
        p_->ok(MPI_Imrecv(base, l.room, type, &message, &request));
        return post(request, false);
      case Receiving::kSendrecv:
        p_->ok(MPI_Sendrecv(nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, base, l.room, type, source, tag,
                            comm_, &status));
        break;
      case Receiving::kCancelled: {
        // Cancelled at once; if that is too late, it has the message. With threads, Open MPI may
        // cancel a receive that another thread has just matched, and lose the message
        // (docs/internals/defects.md).
        int cancelled = 0;
        if (g_quirks.ompi && g_threads) {
          p_->ok(MPI_Recv(base, l.room, type, source, tag, comm_, &status));
          break;
        }
        p_->ok(MPI_Irecv(base, l.room, type, source, tag, comm_, &request));
        p_->ok(MPI_Cancel(&request));
        p_->ok(MPI_Wait(&request, &status));
        MPI_Test_cancelled(&status, &cancelled);
        if (cancelled != 0) p_->ok(MPI_Recv(base, l.room, type, source, tag, comm_, &status));
        break;
      }
    }
    p_->note(label + 3, status, type);
    done(nullptr);
  }

  Program* p_;
  const Batch& batch_;
  MPI_Comm comm_;
  uint64_t label_;
  Bundle bundle_;
};

void messages(Program* p, Random* draw) {
  const Batch batch = draw_batch(p, draw);
  Running(p, batch).run();
}

}  // namespace

const std::vector<Step> kMessageSteps = {{"messages", 25, messages}};

}  // namespace chaos
