// SPDX-License-Identifier: BSD-3-Clause
//
// The C interface of the pool of buffers, which knows buffers by their address.
#include <mutex>
#include <unordered_map>

#include "api/handles.hpp"
#include "base/options.hpp"
#include "exec/buffers/buffers.hpp"

namespace {

using lacuna::api::fail;
using lacuna::api::guarded;
using lacuna::api::invalid;

struct Lent {
  std::mutex mutex;
  std::unordered_map<void*, lacuna::Buffer*> buffers;
};

// Never destroyed: buffers may be released by other libraries' destructors.
Lent& lent() {
  static Lent* const all = new Lent;
  return *all;
}

}  // namespace

lacuna_status lacuna_buffer_acquire(int64_t bytes, void** buffer) {
  return guarded([&] {
    if (bytes <= 0) return invalid("bytes is " + std::to_string(bytes) + "; it must be positive");
    if (buffer == nullptr) return invalid("buffer is NULL; give the address of a void*");
    const int64_t cap_mb = lacuna::option_integer(lacuna::OptionId::kPoolMb);
    lacuna::Buffer* const got = lacuna::acquire_buffer(bytes, cap_mb << 20);
    if (got == nullptr) {
      return fail(LACUNA_OUT_OF_MEMORY, "no buffer of " + std::to_string(bytes) +
                                            " bytes: out of memory, or all buffers "
                                            "together would exceed LACUNA_POOL_MB=" +
                                            std::to_string(cap_mb));
    }
    try {
      const std::lock_guard<std::mutex> lock(lent().mutex);
      lent().buffers.emplace(got->data, got);
    } catch (...) {
      lacuna::release_buffer(got);
      throw;
    }
    *buffer = got->data;
    return LACUNA_OK;
  });
}

void lacuna_buffer_release(void* buffer) {
  if (buffer == nullptr) return;
  lacuna::Buffer* found = nullptr;
  {
    const std::lock_guard<std::mutex> lock(lent().mutex);
    const auto at = lent().buffers.find(buffer);
    if (at == lent().buffers.end()) return;
    found = at->second;
    lent().buffers.erase(at);
  }
  lacuna::release_buffer(found);
}

void lacuna_buffers_trim(void) { lacuna::trim_buffers(); }
