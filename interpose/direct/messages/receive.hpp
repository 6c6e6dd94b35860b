// SPDX-License-Identifier: BSD-3-Clause
//
// The receiving end of the direct path: what came as a token becomes what it stands for.
#ifndef LACUNA_INTERPOSE_DIRECT_MESSAGES_RECEIVE_HPP_
#define LACUNA_INTERPOSE_DIRECT_MESSAGES_RECEIVE_HPP_

#include "interpose/direct/messages/incoming.hpp"
#include "interpose/direct/node/region.hpp"
#include "interpose/library/next.hpp"
#include "interpose/library/runtime.hpp"

namespace lacuna::direct {

// Whether it was sent to this process and has not been landed.
bool is_outstanding(const Token& token) noexcept;

// Bytes in what a receive or a probe has met.
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

// Asks what was not asked of a type before a token came. False: the library does not say.
bool measure(Incoming* incoming) noexcept;

// Whether it is as many as a token has.
inline bool brings_token_bytes(const MPI_Status& status) noexcept {
#if defined(LACUNA_MPI_FAMILY_MPICH)
  // The lowest bit of the upper half says whether the request was cancelled.
  return status.count_lo == kTokenBytes &&
         static_cast<uint32_t>(status.count_hi_and_cancelled) <= 1;
#else
  return bytes_of(status) == kTokenBytes;
#endif
}

// Whether `packed` begins as a token does; what does not is none.
bool begins_as_token(const std::byte* packed) noexcept;

// Whether what has come, as many bytes as a token has, looks like one to this process.
bool read_token(Incoming& incoming, Token* token) noexcept;

// Whether a receive into a predefined type that has ended well, nobody knows with how many bytes,
// has brought a token that has not been landed.
bool finds_token(Incoming& incoming) noexcept;

// For a receive that the library ends when nobody can ask it any more (freed.hpp): whether what it
// brings can be found and moved without the library, and where it has brought a token, the moving.
bool can_land_alone(Incoming* incoming) noexcept;
bool land_alone(Incoming& incoming) noexcept;

// Moves the payload of a token to where the receive wants it and sets the count of the status, if
// any. The code is MPI_SUCCESS, MPI_ERR_TRUNCATE, or MPI_ERR_OTHER where the sender has died.
// False: the token is not outstanding, but was received as data, and nothing has happened.
bool land(const Token& token, Incoming& incoming, MPI_Status* status, int* code) noexcept;

// What has come as a whole is no token: as much of it as the receive has room for, which is less.
void cut_whole(Incoming& incoming, MPI_Status* status) noexcept;

// The first `bytes` of a receive's data, by the library itself, to where lacuna cannot write (a
// device, a type that it does not know). An error class.
int hand_over(const std::byte* data, int64_t bytes, const Incoming& incoming) noexcept;

// The first `count` elements of a receive's buffer, in the same way, to `packed`.
bool pack_by_library(const Incoming& incoming, int64_t count, std::byte* packed) noexcept;

// Sets what MPI_Get_count and kin tell of a status, in bytes.
void set_bytes(MPI_Status* status, int64_t bytes) noexcept;

}  // namespace lacuna::direct

#endif  // LACUNA_INTERPOSE_DIRECT_MESSAGES_RECEIVE_HPP_
