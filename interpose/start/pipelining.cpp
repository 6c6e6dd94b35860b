// SPDX-License-Identifier: BSD-3-Clause
//
// The agreement on pipelined messages in MPI_Init. It is a vote of all ranks. Those of different
// nodes also try how long a message may be that the library sends eagerly: one that leaves its
// sender before the receive is posted.
#include "interpose/start/pipelining.hpp"

#include <sys/random.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "base/options.hpp"
#include "interpose/direct/between_nodes/communicator.hpp"
#include "interpose/direct/node/peers.hpp"
#include "interpose/direct/node/waits.hpp"
#include "interpose/direct/pipeline/pipeline.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"
#include "interpose/observe/log.hpp"
#include "interpose/start/job_communicator.hpp"
#include "source_id.gen.hpp"

namespace lacuna {
namespace {

constexpr int kVoteTag = 0;
constexpr int kTrialTag = 1;
constexpr int kGoTag = 2;

// What rank 0 sends to all. As a vote, of one size in all versions of lacuna.
struct Terms {
  int32_t willing = 0;    // all ranks
  int64_t mebibytes = 0;  // that each keeps
  direct::Secret secret{};
  std::byte unused[64 - 16 - sizeof(direct::Secret)]{};
};
static_assert(sizeof(Terms) == 64);

bool is_within_nodes() noexcept { return option_text(OptionId::kPipeline) == "all"; }

struct Vote {
  uint64_t build = kSourceId;
  int32_t willing = 0;
  int32_t within_nodes = is_within_nodes() ? 1 : 0;
  int64_t mebibytes = option_integer(OptionId::kPipelineMb);
  std::byte unused[40]{};
};
static_assert(sizeof(Vote) == 64);

// Afterwards rank 0's vote is a yes only if all votes are, and has the least memory of all.
bool gather_votes(MPI_Comm comm, Vote* vote) noexcept {
  const Next& next = next_functions();
  const int rank = runtime().rank;
  for (int bit = 1; bit < runtime().size; bit <<= 1) {
    if ((rank & bit) != 0) {
      return next.MPI_Send(vote, sizeof(*vote), runtime().byte, rank - bit, kVoteTag, comm) ==
             MPI_SUCCESS;
    }
    if (rank + bit >= runtime().size) continue;
    Vote other;
    MPI_Status status;
    if (next.MPI_Recv(&other, sizeof(other), runtime().byte, rank + bit, kVoteTag, comm, &status) !=
        MPI_SUCCESS) {
      return false;
    }
    if (other.build != vote->build || other.within_nodes != vote->within_nodes ||
        other.willing == 0) {
      vote->willing = 0;
    }
    vote->mebibytes = std::min(vote->mebibytes, other.mebibytes);
  }
  return true;
}

// Whether all ranks are willing. False: a library call has failed, and with it the job.
bool vote(MPI_Comm comm, bool willing, Terms* terms) noexcept {
  Vote own;
  own.willing = willing ? 1 : 0;
  if (!gather_votes(comm, &own)) return false;
  terms->willing = own.willing;
  terms->mebibytes = own.mebibytes;
  if (runtime().rank == 0 &&
      getrandom(&terms->secret, sizeof(terms->secret), 0) != sizeof(terms->secret)) {
    terms->willing = 0;
  }
  return next_functions().MPI_Bcast(terms, sizeof(*terms), runtime().byte, 0, comm) == MPI_SUCCESS;
}

bool is_far(int rank) noexcept { return is_within_nodes() || !direct::is_peer(rank); }

// Ranks of other nodes are waited for so many times as long as those of this one.
constexpr int64_t kNodesWaitFactor = 4;

constexpr int kTried[] = {32 << 10, 16 << 10, 8 << 10, 4 << 10};

// Whether a send completes although no receive is posted.
bool leaves(MPI_Request* request) noexcept {
  using Clock = std::chrono::steady_clock;
  constexpr auto kPatience = std::chrono::milliseconds(20);
  const auto limit = Clock::now() + kPatience;
  int done = 0;
  while (done == 0 && Clock::now() < limit)
    next_functions().MPI_Test(request, &done, MPI_STATUS_IGNORE);
  return done != 0;
}

// A rank whose next rank is on another node sends it one message of each length, the longest first.
// No rank receives one until all have voted whether theirs have left. So each node takes part as
// sender and as receiver. Returns the first length for which all have left. 0: there is none.
int try_eager(MPI_Comm comm, std::byte* sent, std::byte* received) noexcept {
  const Next& next = next_functions();
  const int rank = runtime().rank;
  const int to = (rank + 1) % runtime().size;
  const int from = (rank + runtime().size - 1) % runtime().size;
  const bool sends = is_far(to);
  const bool receives = is_far(from);
  const auto send = [&](int length, int tag, MPI_Request* request) {
    if (sends) next.MPI_Isend(sent, length, runtime().byte, to, tag, comm, request);
  };
  const auto receive = [&](int length, int tag) {
    MPI_Status status;
    if (receives) next.MPI_Recv(received, length, runtime().byte, from, tag, comm, &status);
  };
  MPI_Request request = runtime().request_null;
  send(1, kGoTag, &request);  // makes the connection
  receive(1, kGoTag);
  next.MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (const int length : kTried) {
    send(length, kTrialTag, &request);
    Terms all;
    const bool ok = vote(comm, leaves(&request), &all);
    receive(length, kTrialTag);
    next.MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (!ok) return 0;
    if (all.willing != 0) return length;
  }
  return 0;
}

}  // namespace

direct::OtherNodes pipelining_wanted() noexcept {
  const std::string& text = option_text(OptionId::kPipeline);
  bool flag = text == "all";
  if (!flag && !detail::read_flag(text, &flag)) return direct::OtherNodes::kAsked;
  return flag ? direct::OtherNodes::kGiven : direct::OtherNodes::kNothing;
}

std::string_view why_nodes_disagree(direct::AllNodes found) noexcept {
  switch (found) {
    case direct::AllNodes::kNotAsked:
    case direct::AllNodes::kAgreed:
      return "";
    case direct::AllNodes::kNoNotes:
      if (runtime().flavour == Flavour::kIntelMpi && std::getenv("SLURM_STEP_ID") != nullptr)
        return "srun tells only by PMI2 whether all ranks run lacuna; remedy: srun --mpi=pmi2 and "
               "I_MPI_PMI_LIBRARY=libpmi2.so.0, or LACUNA_PIPELINE=1 if all ranks run lacuna";
      return "the launcher does not tell whether all ranks run lacuna (MPI_Publish_name); remedy: "
             "LACUNA_PIPELINE=1 if they do";
    case direct::AllNodes::kAbsent:
      return "a node did not answer in MPI_Init";
    case direct::AllNodes::kRefused:
      return "on some node a rank has another lacuna or several threads, or does not receive tokens";
    case direct::AllNodes::kScattered:
      return "the ranks of a node are numbered too irregularly; remedy: LACUNA_PIPELINE=1 if all "
             "ranks run lacuna";
    case direct::AllNodes::kOneMachine:
      return "ranks that share no memory are on one machine; remedy: LACUNA_PIPELINE=1 if they "
             "reach each other by a network alone";
  }
  return "";
}

std::string_view agree_on_pipelining(bool willing) noexcept {
  const Next& next = next_functions();
  if (runtime().size == 1) return "there is one rank";
  direct::Pipeline agreed{};
  Terms terms;
  constexpr const char* kWait = "MPI_Init: until all ranks have agreed on pipelined messages";
  // If the nodes have agreed, a rank that is late still comes, and would hang if others had gone
  // on.
  const int64_t limit = pipelining_wanted() == direct::OtherNodes::kAsked
                            ? kNoLimit
                            : kNodesWaitFactor * option_integer(OptionId::kDirectWait);
  if (!make_job_communicator(limit, kWait, &agreed.comm)) {
    if (!runtime().outlives_failures && direct::own_index() == 0) {
      log_line(
          "LACUNA_PIPELINE: a rank did not answer in MPI_Init; it has another value, or no lacuna. "
          "Communicators that are made later may hang; remedy: set it in all ranks, or in none");
    }
    return "not all ranks have answered in MPI_Init";
  }
  const direct::ListedWait note(kWait);
  constexpr auto kLongest = static_cast<size_t>(kTried[0]);
  const std::unique_ptr<std::byte[]> bytes(new (std::nothrow) std::byte[2 * kLongest]{});
  const bool has_world = next.MPI_Comm_group(runtime().comm_world, &agreed.world) == MPI_SUCCESS;
  const bool takes_part =
      willing && has_world && bytes != nullptr && !g_gate.threads && direct::make_comm_key();
  const bool ok = vote(agreed.comm, takes_part, &terms);
  direct::take_back_notes();
  const bool all_willing = ok && terms.willing != 0;
  const bool on_one_node = all_willing && !is_within_nodes() &&
                           static_cast<int>(direct::peers().size()) == runtime().size;
  if (all_willing && !on_one_node)
    agreed.piece_bytes = try_eager(agreed.comm, bytes.get(), bytes.get() + kLongest);
  if (agreed.piece_bytes == 0) {
    direct::free_comm_key();
    if (has_world) next.MPI_Group_free(&agreed.world);
    next.MPI_Comm_free(&agreed.comm);
    if (!all_willing)
      return "a rank has another lacuna or several threads, or does not receive tokens "
             "(LACUNA_VERIFY, or no shared-memory path on its node)";
    return on_one_node ? "all ranks are on one node"
                       : "the library sends no message of 4 KiB eagerly";
  }
  agreed.shares = direct::shares_of(runtime().size, terms.mebibytes << 20);
  agreed.within_nodes = is_within_nodes();
  direct::change_secret(terms.secret);
  direct::stop_counting_tokens();
  direct::start_pipeline(agreed);
  return "";
}

}  // namespace lacuna
