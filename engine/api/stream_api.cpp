// SPDX-License-Identifier: BSD-3-Clause
//
// The C interface of streams.
#include "api/handles.hpp"
#include "base/options.hpp"
#include "exec/stream/stream.hpp"

namespace {

using lacuna::PlanPtr;
using lacuna::Stream;

using lacuna::api::check_elements;
using lacuna::api::fail;
using lacuna::api::guarded;
using lacuna::api::invalid;
using lacuna::api::plan_of;

Stream<true>* of(lacuna_pack_stream* stream) { return reinterpret_cast<Stream<true>*>(stream); }
Stream<false>* of(lacuna_unpack_stream* stream) { return reinterpret_cast<Stream<false>*>(stream); }

constexpr const char* kNoStream =
    "stream is NULL; give one from lacuna_pack_stream_create or lacuna_unpack_stream_create";
constexpr const char* kIsLent =
    "a buffer of the stream is lent; call lacuna_unpack_stream_filled first";

template <bool kPack>
bool is_lent(const Stream<kPack>* stream) {
  return !kPack && stream->lent() != Stream<kPack>::kNone;
}

template <bool kPack, typename Handle>
lacuna_status create(const lacuna_plan* plan, const void* mem, int64_t count, Handle** stream) {
  return guarded([&] {
    const lacuna_status status = check_elements(plan, mem, count);
    if (status != LACUNA_OK) return status;
    if (stream == nullptr) return invalid("stream is NULL; give the address of a stream pointer");
    const int64_t cap_bytes = lacuna::option_integer(lacuna::OptionId::kPoolMb) << 20;
    const int64_t keep_bytes = lacuna::option_integer(lacuna::OptionId::kStreamMb) << 20;
    auto* const made =
        new Stream<kPack>(PlanPtr(&plan_of(plan)), static_cast<std::byte*>(const_cast<void*>(mem)),
                          count, cap_bytes, keep_bytes);
    *stream = reinterpret_cast<Handle*>(made);
    return LACUNA_OK;
  });
}

template <bool kPack>
[[gnu::cold, gnu::noinline]] lacuna_status wrong_piece(const Stream<kPack>* stream,
                                                       int64_t bytes) noexcept {
  return guarded([&] {
    if (stream == nullptr) return invalid(kNoStream);
    if (is_lent(stream)) return invalid(kIsLent);
    if (bytes < 0 || bytes > stream->left()) {
      return invalid("bytes is " + std::to_string(bytes) + "; the stream has " +
                     std::to_string(stream->left()) + " bytes left");
    }
    return invalid("packed is NULL; give a buffer for the packed stream");
  });
}

template <bool kPack>
lacuna_status next(Stream<kPack>* stream, int64_t bytes, const void* packed) {
  if (stream == nullptr || is_lent(stream) || bytes < 0 || bytes > stream->left() ||
      (packed == nullptr && bytes != 0)) [[unlikely]] {
    return wrong_piece(stream, bytes);
  }
  stream->next(static_cast<std::byte*>(const_cast<void*>(packed)), bytes);
  return LACUNA_OK;
}

template <bool kPack, typename Place>
lacuna_status lend(Stream<kPack>* stream, int64_t bytes, Place** packed) {
  if (stream == nullptr || is_lent(stream) || bytes < 0 || bytes > stream->left() ||
      packed == nullptr) [[unlikely]] {
    return wrong_piece(stream, bytes);
  }
  Place* const place = stream->lend(bytes);
  if (place == nullptr) [[unlikely]] {
    return guarded([&] {
      return fail(LACUNA_OUT_OF_MEMORY,
                  "no buffer for a piece of " + std::to_string(bytes) +
                      " bytes: out of memory, or all buffers together would exceed LACUNA_POOL_MB");
    });
  }
  *packed = place;
  return LACUNA_OK;
}

template <bool kPack>
lacuna_status seek(Stream<kPack>* stream, int64_t begin) {
  if (stream == nullptr || is_lent(stream) || begin < 0 || begin > stream->total()) [[unlikely]] {
    return guarded([&] {
      if (stream == nullptr) return invalid(kNoStream);
      if (is_lent(stream)) return invalid(kIsLent);
      return invalid("begin is " + std::to_string(begin) + "; the stream has " +
                     std::to_string(stream->total()) + " bytes");
    });
  }
  stream->seek(begin);
  return LACUNA_OK;
}

}  // namespace

lacuna_status lacuna_pack_stream_create(const lacuna_plan* plan, const void* mem, int64_t count,
                                        lacuna_pack_stream** stream) {
  return create<true>(plan, mem, count, stream);
}

lacuna_status lacuna_pack_stream_next(lacuna_pack_stream* stream, int64_t bytes, void* packed) {
  return next(of(stream), bytes, packed);
}

lacuna_status lacuna_pack_stream_lend(lacuna_pack_stream* stream, int64_t bytes,
                                      const void** packed) {
  return lend(of(stream), bytes, packed);
}

lacuna_status lacuna_pack_stream_seek(lacuna_pack_stream* stream, int64_t begin) {
  return seek(of(stream), begin);
}

void lacuna_pack_stream_destroy(lacuna_pack_stream* stream) { delete of(stream); }

lacuna_status lacuna_unpack_stream_create(const lacuna_plan* plan, void* mem, int64_t count,
                                          lacuna_unpack_stream** stream) {
  return create<false>(plan, mem, count, stream);
}

lacuna_status lacuna_unpack_stream_next(lacuna_unpack_stream* stream, int64_t bytes,
                                        const void* packed) {
  return next(of(stream), bytes, packed);
}

lacuna_status lacuna_unpack_stream_lend(lacuna_unpack_stream* stream, int64_t bytes,
                                        void** packed) {
  return lend(of(stream), bytes, packed);
}

lacuna_status lacuna_unpack_stream_filled(lacuna_unpack_stream* stream, int64_t bytes) {
  Stream<false>* const mine = of(stream);
  if (mine == nullptr || bytes < 0 || bytes > mine->lent()) [[unlikely]] {
    return guarded([&] {
      if (mine == nullptr) return invalid(kNoStream);
      if (!is_lent(mine))
        return invalid("no buffer of the stream is lent; call lacuna_unpack_stream_lend first");
      return invalid("bytes is " + std::to_string(bytes) + "; the lent buffer has " +
                     std::to_string(mine->lent()));
    });
  }
  mine->filled(bytes);
  return LACUNA_OK;
}

lacuna_status lacuna_unpack_stream_seek(lacuna_unpack_stream* stream, int64_t begin) {
  return seek(of(stream), begin);
}

lacuna_status lacuna_unpack_stream_flush(lacuna_unpack_stream* stream) {
  if (stream == nullptr || is_lent(of(stream))) {
    return guarded([&] { return invalid(stream == nullptr ? kNoStream : kIsLent); });
  }
  of(stream)->flush();
  return LACUNA_OK;
}

void lacuna_unpack_stream_destroy(lacuna_unpack_stream* stream) { delete of(stream); }
