// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/messages/arriving_message.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/address.hpp"
#include "exec/part.hpp"
#include "interpose/direct/messages/receive.hpp"
#include "interpose/direct/pipeline/pipeline.hpp"
#include "interpose/library/gate.hpp"
#include "interpose/library/next.hpp"
#include "interpose/types/packing.hpp"

namespace lacuna::direct {
namespace {

// Whether a receive with this status may have brought a token. If nothing is known of its length,
// it may have brought nothing into a buffer that cannot be read.
bool may_have_token(Incoming& incoming, const MPI_Status* status) noexcept {
  if (incoming.by_content || incoming.whole) return true;
  if (status == nullptr) return incoming.staging || finds_token(incoming);
  int cancelled = 0;
  return has_token_size(*status) &&
         next_functions().MPI_Test_cancelled(status, &cancelled) == MPI_SUCCESS && cancelled == 0;
}

}  // namespace

ArrivingMessage::ArrivingMessage(const Token& token, const Incoming& incoming) noexcept
    : bytes_(token.bytes),
      is_in_place_(!incoming.by_library && incoming.plan == nullptr &&
                   token.bytes <= incoming.bytes),
      whole_(incoming.by_library ? need_staging(token.bytes, false) : Staging()),
      pieces_(token, is_in_place_ ? dense(incoming)
                     : whole_     ? whole_.data()
                                  : nullptr) {}

int64_t ArrivingMessage::room(const Incoming& incoming) const noexcept {
  return std::min(bytes_, incoming.bytes);
}

bool ArrivingMessage::advance(const Incoming& incoming, bool waits) noexcept {
  const int64_t bytes = room(incoming);
  for (int64_t begin = 0;;) {
    const std::byte* const data = pieces_.next(waits, &begin, &received_);
    if (data == nullptr) return pieces_.is_over();
    const int64_t end = std::min(received_, bytes);
    if (is_in_place_ || incoming.by_library || begin >= end) continue;
    if (incoming.plan == nullptr) {
      std::memcpy(dense(incoming) + begin, data, static_cast<size_t>(end - begin));
    } else {
      move_part<false>(*incoming.plan, address(incoming.buf, 0), incoming.count, begin, end,
                       const_cast<std::byte*>(data), bytes, end < bytes);
    }
  }
}

int ArrivingMessage::finish(const Incoming& incoming) const noexcept {
  const int64_t bytes = room(incoming);
  if (received_ < bytes_ || (incoming.by_library && !whole_)) return MPI_ERR_OTHER;
  if (whole_ && bytes > 0 && unpack_by_library(whole_.data(), bytes, incoming) != MPI_SUCCESS)
    return MPI_ERR_OTHER;
  return bytes == bytes_ ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
}

int receive_pieces(const Token& token, const Incoming& incoming) noexcept {
  ArrivingMessage message(token, incoming);
  message.advance(incoming, true);
  return message.finish(incoming);
}

void EndArriving::operator()(ArrivingMessage* message) const noexcept { delete message; }

bool begin_arriving(Incoming* incoming, const MPI_Status* status) noexcept {
  Token token;
  if (!is_open(kDirectSwitch) || !may_have_token(*incoming, status) ||
      !read_token(*incoming, &token) || !is_pipelined(token)) {
    return false;
  }
  incoming->in_pieces = true;
  incoming->arriving.reset(new (std::nothrow) ArrivingMessage(token, *incoming));
  return incoming->arriving != nullptr;
}

bool advance_arriving(Incoming* incoming, bool waits) noexcept {
  const Stopwatch watch(incoming->account, Way::kUnpack);
  if (!incoming->arriving->advance(*incoming, waits)) return false;
  incoming->failed = incoming->arriving->finish(*incoming);
  set_landed(incoming->arriving->bytes(), *incoming, nullptr);
  incoming->arriving.reset();
  return true;
}

}  // namespace lacuna::direct
