// SPDX-License-Identifier: BSD-3-Clause
//
// The receiving end of the direct path: recognises tokens, and moves their payloads.
#ifndef LACUNA_INTERPOSE_DIRECT_MESSAGES_RECEIVE_HPP_
#define LACUNA_INTERPOSE_DIRECT_MESSAGES_RECEIVE_HPP_

#include "base/address.hpp"
#include "interpose/direct/arena/region.hpp"
#include "interpose/direct/messages/incoming.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"

namespace lacuna::direct {

// The first byte of a contiguous receive buffer.
inline std::byte* dense(const Incoming& incoming) noexcept {
  return address(incoming.buf, incoming.lb);
}

// Whether it was sent to this process and its payload has not been moved yet.
bool is_outstanding(const Token& token) noexcept;

// Bytes that a receive or a probe has reported.
inline int64_t bytes_of(const MPI_Status& status) noexcept {
#if defined(LACUNA_MPI_FAMILY_MPICH)
  return static_cast<int64_t>(static_cast<uint32_t>(status.count_lo)) |
         static_cast<int64_t>(static_cast<uint32_t>(status.count_hi_and_cancelled) >> 1) << 32;
#elif defined(LACUNA_MPI_FAMILY_OMPI)
  return static_cast<int64_t>(status._ucount);
#else
  MPI_Count received = 0;
  const int code = next_functions().MPI_Get_elements_x(&status, runtime().byte, &received);
  return code == MPI_SUCCESS ? received : 0;
#endif
}

// Sets the size of a receive into a predefined type, which is asked for only if a token may have
// come. False: the library refuses.
bool measure(Incoming* incoming) noexcept;
// Whether the receive has room for the shortest pipelined message. A longer message than its room
// is an error.
bool has_room_for_pieces(Incoming* incoming) noexcept;

// Whether a status reports as many bytes as a token has.
inline bool has_token_size(const MPI_Status& status) noexcept {
#if defined(LACUNA_MPI_FAMILY_MPICH)
  // The lowest bit of the upper half says whether the request was cancelled.
  return status.count_lo == kTokenBytes &&
         static_cast<uint32_t>(status.count_hi_and_cancelled) <= 1;
#else
  return bytes_of(status) == kTokenBytes;
#endif
}

// Whether `packed` begins with the secret, as all tokens do.
bool begins_with_secret(const std::byte* packed) noexcept;

// Copies out what has come, which has the size of a token. Returns whether it is a valid token for
// this process.
bool read_token(Incoming& incoming, Token* token) noexcept;

// For a successful receive of unknown length into a predefined type: whether it has brought an
// outstanding token.
bool finds_token(Incoming& incoming) noexcept;

// For freed receives that complete in MPI_Finalize (freed.hpp). can_move_alone(): whether the data
// can be read and written without the library. move_payload_alone(): if the receive has brought a
// token, moves its payload.
bool can_move_alone(Incoming* incoming) noexcept;
bool move_payload_alone(Incoming& incoming) noexcept;

// Moves the payload of a token into the receive's buffer, and sets the count of `status`, if not
// null. `code`: MPI_SUCCESS, MPI_ERR_TRUNCATE, or MPI_ERR_OTHER if the sender has died. False: the
// token is not outstanding but data, and nothing has been done.
bool move_payload(const Token& token, Incoming& incoming, MPI_Status* status, int* code) noexcept;

// Sets the status for a payload of `bytes`.
void set_landed(int64_t bytes, Incoming& incoming, MPI_Status* status) noexcept;

// For a held message that is no token, and longer than the receive: delivers as much as fits.
void deliver_truncated(Incoming& incoming, MPI_Status* status) noexcept;

// Lets the device that has a receive's buffer unpack the first `bytes` of its data; or the library,
// where lacuna cannot write. Returns an error class.
int unpack_by_library(const std::byte* data, int64_t bytes, const Incoming& incoming) noexcept;

// Lets the device or the library pack the first `count` elements of a receive's buffer.
bool pack_by_library(const Incoming& incoming, int64_t count, std::byte* packed) noexcept;

// Sets what MPI_Get_count and similar functions report, in bytes.
void set_bytes(MPI_Status* status, int64_t bytes) noexcept;

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_MESSAGES_RECEIVE_HPP_
