// SPDX-License-Identifier: BSD-3-Clause
//
// The agreement on pipelined messages in MPI_Init. It is a vote of all ranks. Two of them, on
// different nodes, also try how long a message may be that the library sends eagerly: one that
// leaves its sender before the receive is posted.
#include "interpose/start/pipelining.hpp"

#include <sys/random.h>

#include <algorithm>
#include <chrono>
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
constexpr int kNobody = -1;

// What rank 0 sends to all.
struct Terms {
  int32_t willing = 0;        // all ranks
  int32_t partner = kNobody;  // tries eager messages with rank 0
  int32_t piece_bytes = 0;
  direct::Secret secret{};
};

bool is_within_nodes() noexcept { return option_text(OptionId::kPipeline) == "all"; }

struct Vote {
  uint64_t build = kSourceId;
  int32_t willing = 0;
  int32_t within_nodes = is_within_nodes() ? 1 : 0;
};

// Rank 0 has the sum of all votes afterwards.
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
  }
  return true;
}

bool broadcast(MPI_Comm comm, Terms* terms) noexcept {
  return next_functions().MPI_Bcast(terms, sizeof(*terms), runtime().byte, 0, comm) == MPI_SUCCESS;
}

// The first rank that is not on this node. kNobody: all are.
int first_far_rank() noexcept {
  if (is_within_nodes()) return 1;
  for (int rank = 1; rank < runtime().size; ++rank) {
    const auto is_rank = [&](const direct::Peer& peer) { return peer.rank == rank; };
    if (std::ranges::none_of(direct::peers(), is_rank)) return rank;
  }
  return kNobody;
}

constexpr int64_t kLeastWindow = int64_t{256} << 10;
// Ranks of other nodes may come as much later as the ranks of a node wait for each other.
constexpr int64_t kNodesWait = 4;

constexpr int kTried[] = {32 << 10, 16 << 10, 8 << 10, 4 << 10};

// Sends a message of each length, the longest first, of which the partner receives none until it is
// told to. Returns the first length that leaves before. 0: none.
int try_eager(MPI_Comm comm, int partner, std::byte* bytes) noexcept {
  using Clock = std::chrono::steady_clock;
  constexpr auto kPatience = std::chrono::milliseconds(20);
  const Next& next = next_functions();
  MPI_Status status;
  int found = 0;
  // The connection is made first.
  next.MPI_Send(&found, sizeof(found), runtime().byte, partner, kGoTag, comm);
  next.MPI_Recv(&found, sizeof(found), runtime().byte, partner, kGoTag, comm, &status);
  for (const int length : kTried) {
    MPI_Request request;
    if (next.MPI_Isend(bytes, length, runtime().byte, partner, kTrialTag, comm, &request) !=
        MPI_SUCCESS) {
      return 0;
    }
    const auto limit = Clock::now() + kPatience;
    int done = 0;
    while (done == 0 && Clock::now() < limit) next.MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0 && found == 0) found = length;
    next.MPI_Send(&found, sizeof(found), runtime().byte, partner, kGoTag, comm);
    if (done == 0) next.MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (found != 0) break;
  }
  return found;
}

void answer_trials(MPI_Comm comm, std::byte* bytes) noexcept {
  const Next& next = next_functions();
  MPI_Status status;
  int found = 0;
  next.MPI_Recv(&found, sizeof(found), runtime().byte, 0, kGoTag, comm, &status);
  next.MPI_Send(&found, sizeof(found), runtime().byte, 0, kGoTag, comm);
  for (const int length : kTried) {
    next.MPI_Recv(&found, sizeof(found), runtime().byte, 0, kGoTag, comm, &status);
    next.MPI_Recv(bytes, length, runtime().byte, 0, kTrialTag, comm, &status);
    if (found != 0) return;
  }
}

// False: a library call has failed, and with it the job.
bool agree(MPI_Comm comm, bool willing, Terms* terms) noexcept {
  const std::unique_ptr<std::byte[]> bytes(new (std::nothrow)
                                               std::byte[static_cast<size_t>(kTried[0])]{});
  Vote vote;
  vote.willing = willing && bytes != nullptr ? 1 : 0;
  if (!gather_votes(comm, &vote)) return false;
  if (runtime().rank == 0 && vote.willing != 0 &&
      getrandom(&terms->secret, sizeof(terms->secret), 0) == sizeof(terms->secret)) {
    terms->willing = 1;
    terms->partner = first_far_rank();
  }
  if (!broadcast(comm, terms)) return false;
  if (terms->partner == kNobody) return true;
  if (runtime().rank == 0) terms->piece_bytes = try_eager(comm, terms->partner, bytes.get());
  if (runtime().rank == terms->partner) answer_trials(comm, bytes.get());
  return broadcast(comm, terms);
}

}  // namespace

bool pipelining_wanted() noexcept {
  const std::string& text = option_text(OptionId::kPipeline);
  bool flag = false;
  return text == "all" || (detail::read_flag(text, &flag) && flag);
}

std::string_view agree_on_pipelining(bool willing) noexcept {
  const Next& next = next_functions();
  if (runtime().size == 1) return "there is one rank";
  if (direct::window_of(runtime().size) < kLeastWindow) return "there are too many ranks";
  direct::Pipeline agreed{};
  Terms terms;
  constexpr const char* kWait = "MPI_Init: until all ranks have agreed on pipelined messages";
  if (!make_job_communicator(kNodesWait * option_integer(OptionId::kDirectWait), kWait,
                             &agreed.comm)) {
    if (!runtime().outlives_failures) {
      log_line(
          "LACUNA_PIPELINE: a rank did not answer in MPI_Init; it has another value, or no lacuna. "
          "Communicators that are made later may hang; remedy: set it in all ranks, or in none");
    }
    return "not all ranks have answered in MPI_Init";
  }
  const direct::ListedWait note(kWait);
  const bool has_world = next.MPI_Comm_group(runtime().comm_world, &agreed.world) == MPI_SUCCESS;
  const bool ok = agree(agreed.comm,
                        willing && has_world && !g_gate.threads && direct::make_comm_key(), &terms);
  if (!ok || terms.piece_bytes == 0) {
    direct::free_comm_key();
    if (has_world) next.MPI_Group_free(&agreed.world);
    next.MPI_Comm_free(&agreed.comm);
    if (ok && terms.partner != kNobody) return "the library sends no message of 4 KiB eagerly";
    return ok && terms.willing != 0
               ? "all ranks are on one node"
               : "a rank has another lacuna or several threads, or does not receive tokens "
                 "(LACUNA_VERIFY, or no shared-memory path on its node)";
  }
  agreed.piece_bytes = terms.piece_bytes;
  agreed.window = direct::window_of(runtime().size);
  agreed.within_nodes = is_within_nodes();
  direct::change_secret(terms.secret);
  direct::stop_counting_tokens();
  direct::start_pipeline(agreed);
  return "";
}

}  // namespace lacuna
