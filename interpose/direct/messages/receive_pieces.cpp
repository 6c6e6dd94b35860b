// SPDX-License-Identifier: BSD-3-Clause
//
// The receiving end of pipelined messages (direct/pipeline/): unpacks each piece while the next one
// comes.
#include <algorithm>
#include <cstring>

#include "base/address.hpp"
#include "exec/part.hpp"
#include "interpose/direct/messages/receive.hpp"
#include "interpose/direct/pipeline/pieces.hpp"
#include "interpose/types/packing.hpp"

namespace lacuna::direct {

int receive_pieces(const Token& token, const Incoming& incoming) noexcept {
  const int64_t bytes = std::min(token.bytes, incoming.bytes);
  const bool fits = bytes == token.bytes;
  std::byte* const dense = address(incoming.buf, incoming.lb);
  Staging whole;  // for the library, which unpacks at once
  std::byte* where = nullptr;
  if (incoming.by_library) {
    whole = need_staging(token.bytes, false);
    if (whole) where = whole.data();
  } else if (incoming.plan == nullptr && fits) {
    where = dense;
  }
  int64_t received = 0;
  ArrivingPieces pieces(token, where);
  for (int64_t begin = 0;;) {
    const std::byte* const data = pieces.next(&begin, &received);
    if (data == nullptr) break;
    const int64_t end = std::min(received, bytes);
    if (where != nullptr || incoming.by_library || begin >= end) continue;
    if (incoming.plan == nullptr) {
      std::memcpy(dense + begin, data, static_cast<size_t>(end - begin));
    } else {
      move_part<false>(*incoming.plan, address(incoming.buf, 0), incoming.count, begin, end,
                       const_cast<std::byte*>(data), bytes, end < bytes);
    }
  }
  if (received < token.bytes || (incoming.by_library && !whole)) return MPI_ERR_OTHER;
  if (whole && bytes > 0 && unpack_by_library(whole.data(), bytes, incoming) != MPI_SUCCESS)
    return MPI_ERR_OTHER;
  return fits ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
}

}  // namespace lacuna::direct
