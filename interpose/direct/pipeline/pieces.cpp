// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/pipeline/pieces.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "base/address.hpp"
#include "exec/part.hpp"
#include "interpose/direct/node/peers.hpp"
#include "interpose/direct/node/waits.hpp"
#include "interpose/direct/pipeline/far_rank.hpp"
#include "interpose/direct/pipeline/pipeline.hpp"
#include "interpose/library/error_handlers.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"

namespace lacuna::direct {

// A message whose pieces are on their way.
struct SentPieces {
  int to = 0;
  uint64_t number = 0;
  int64_t bytes = 0;
  int64_t piece = 0;
  bool has_begun = false;  // to send pieces
  Staging packed;
  std::vector<MPI_Request> requests;  // of the pieces that the library may still be sending
  SentPieces* next = nullptr;
};

namespace {

constinit SentPieces* g_left = nullptr;  // whose senders have gone on
constinit int64_t g_messages = 0;

// Whether the library has sent all of it. Tests from the end, as pieces are sent in order.
bool is_sent(SentPieces* message) noexcept {
  for (; !message->requests.empty(); message->requests.pop_back()) {
    int done = 0;
    if (next_functions().MPI_Test(&message->requests.back(), &done, MPI_STATUS_IGNORE) ==
            MPI_SUCCESS &&
        done == 0)
      return false;
  }
  return true;
}

void wait_until_sent(SentPieces* message) noexcept {
  for (; !message->requests.empty(); message->requests.pop_back())
    next_functions().MPI_Wait(&message->requests.back(), MPI_STATUS_IGNORE);
}

void sweep_left() noexcept {
  static constinit bool is_sweeping = false;
  const ReentryGuard outermost(&is_sweeping);
  if (!outermost) return;
  for (SentPieces** link = &g_left; *link != nullptr;) {
    SentPieces* const message = *link;
    if (!is_sent(message)) {
      link = &message->next;
      continue;
    }
    *link = message->next;
    delete message;
  }
}

// Whole iterations of the type's loops, so that packing goes on without a search, if a piece has
// room for them.
int64_t whole_piece(const Plan& plan, int64_t count) noexcept {
  const int64_t most = pipeline().piece_bytes;
  const int64_t granule = slice_granule(plan, count, most);
  return granule <= most ? most / granule * granule : most;
}

}  // namespace

void Pieces::end() noexcept {
  if (!sent_->has_begun) return give_up();  // an error handler of the program's has thrown
  if (is_sent(sent_)) {
    delete sent_;
    return;
  }
  sent_->next = g_left;
  g_left = sent_;
}

bool Pieces::prepare(int to, int64_t bytes, const Plan& plan, int64_t count, Token* token) noexcept
    try {
  receive_notes();
  sweep_left();
  FarRank& far = far_rank(to);
  if (far.closed || !has_room(to, &far, bytes) ||
      far.numbers - far.heard.all_to >= kMessageTags - 1) {
    return false;
  }
  auto message = std::make_unique<SentPieces>();
  message->piece = whole_piece(plan, count);
  const int64_t pieces = (bytes + message->piece - 1) / message->piece;
  message->requests.reserve(static_cast<size_t>(pieces));
  message->packed = borrow_staging(bytes, false);
  if (!message->packed) return false;
  message->to = to;
  message->number = ++far.numbers;
  message->bytes = bytes;
  far.sent_bytes += bytes;
  *token = {secret(),
            static_cast<uint32_t>(runtime().rank),
            0,
            offset_for(to),
            bytes,
            message->number,
            message->piece,
            {}};
  sent_ = message.release();
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

void Pieces::send(const Plan& plan, const void* buf, int64_t count, bool waits) noexcept {
  const Next& next = next_functions();
  SentPieces& message = *sent_;
  message.has_begun = true;
  ++g_messages;
  std::byte* const mem = address(buf, 0);
  for (int64_t begin = 0; begin < message.bytes; begin += message.piece) {
    const int64_t end = std::min(message.bytes, begin + message.piece);
    std::byte* const packed = message.packed.data() + begin;
    move_part<true>(plan, mem, count, begin, end, packed, end - begin, true);
    MPI_Request request;
    if (next.MPI_Isend(packed, static_cast<int>(end - begin), runtime().byte, message.to,
                       tag_of(message.number), pipeline().comm, &request) != MPI_SUCCESS) {
      // The receiver waits for it. As if the message itself could not be sent.
      find_far_rank(message.to)->closed = true;
      raise_error(runtime().comm_world, MPI_ERR_OTHER);
      return;
    }
    message.requests.push_back(request);
  }
  if (!waits) return;
  const ListedWait note("MPI_Send: until its pieces have left for another node");
  wait_until_sent(&message);
}

void Pieces::give_up() noexcept {
  FarRank& far = *find_far_rank(sent_->to);
  if (sent_->has_begun || far.numbers != sent_->number) {
    far.closed = true;  // nobody will receive it, so its tag must not be used again
  } else {
    --far.numbers;
    far.sent_bytes -= sent_->bytes;
  }
  if (!sent_->has_begun) delete std::exchange(sent_, nullptr);
}

int64_t messages_in_pieces() noexcept { return g_messages; }

void end_sent_pieces() noexcept {
  for (SentPieces* message = g_left; message != nullptr; message = message->next)
    wait_until_sent(message);
  sweep_left();
}

bool is_expected(const Token& token) noexcept {
  if (!has_pipeline() || token.offset != offset_for(runtime().rank) || token.bytes <= kTokenBytes ||
      token.sender >= static_cast<uint32_t>(runtime().size) || token.id == 0 || token.piece <= 0 ||
      token.piece > pipeline().piece_bytes) {
    return false;
  }
  const FarRank* from = find_far_rank(static_cast<int>(token.sender));
  return from == nullptr || !from->received.has(token.id);
}

ArrivingPieces::ArrivingPieces(const Token& token, std::byte* where) noexcept
    : token_(token), where_(where), pieces_((token.bytes + token.piece - 1) / token.piece) {
  if (where == nullptr) {
    ring_ = need_staging(kAhead * token.piece, false);
    if (!ring_) ring_ = need_staging((ahead_ = kFewAhead) * token.piece, false);
    if (!ring_) ahead_ = 0;
  }
  while (posted_ < pieces_ && posted_ < ahead_ && post()) {
  }
}

int64_t ArrivingPieces::end_of(int64_t piece) const noexcept {
  return std::min(token_.bytes, (piece + 1) * token_.piece);
}

std::byte* ArrivingPieces::place_of(int64_t piece) const noexcept {
  return where_ != nullptr ? where_ + piece * token_.piece
                           : ring_.data() + piece % ahead_ * token_.piece;
}

bool ArrivingPieces::post() noexcept {
  const auto bytes = static_cast<int>(end_of(posted_) - posted_ * token_.piece);
  if (next_functions().MPI_Irecv(place_of(posted_), bytes, runtime().byte,
                                 static_cast<int>(token_.sender), tag_of(token_.id),
                                 pipeline().comm, &requests_[posted_ % kAhead]) != MPI_SUCCESS) {
    return false;
  }
  ++posted_;
  return true;
}

const std::byte* ArrivingPieces::next(bool waits, int64_t* begin, int64_t* end) noexcept {
  const Next& next = next_functions();
  // The place of the piece that was given out last is free again.
  if (posted_ < pieces_ && posted_ < received_ + ahead_) post();
  is_over_ = received_ == posted_;
  if (is_over_) return nullptr;
  MPI_Request* const request = &requests_[received_ % kAhead];
  int done = 1;
  if (waits) {
    const ListedWait note("until a piece of a message from another node has come");
    is_over_ = next.MPI_Wait(request, MPI_STATUS_IGNORE) != MPI_SUCCESS;
  } else {
    is_over_ = next.MPI_Test(request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS;
  }
  if (is_over_ || done == 0) return nullptr;
  *begin = received_ * token_.piece;
  *end = end_of(received_);
  return place_of(received_++);
}

ArrivingPieces::~ArrivingPieces() {
  const Next& next = next_functions();
  for (; received_ < posted_; ++received_)
    next.MPI_Wait(&requests_[received_ % kAhead], MPI_STATUS_IGNORE);
  for (; received_ < pieces_; ++received_) {  // without room: an error that nobody sees
    MPI_Status status;
    next.MPI_Recv(nullptr, 0, runtime().byte, static_cast<int>(token_.sender), tag_of(token_.id),
                  pipeline().comm, &status);
  }
  try {
    FarRank& from = far_rank(static_cast<int>(token_.sender));
    from.received.add(token_.id);
    note_received(static_cast<int>(token_.sender), &from, token_.bytes);
    receive_notes_now_and_then();
    sweep_left();
  } catch (const std::bad_alloc&) {
    // An old copy of this token might be taken for a new one, and its sender's share stays in use.
  }
}

}  // namespace lacuna::direct
