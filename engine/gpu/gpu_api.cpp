// SPDX-License-Identifier: BSD-3-Clause
//
// The C interface (lacuna_gpu.h): checks arguments and converts errors.
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "base/guarded.hpp"
#include "gpu/kernels.hpp"
#include "lacuna/lacuna_gpu.h"

struct lacuna_gpu_plan {
  lacuna::gpu::DevicePlan plan;
  void* memory = nullptr;  // of the device
};

namespace {

using lacuna::Type;
using lacuna::gpu::DevicePlan;
using lacuna::gpu::Launch;
using lacuna::gpu::Message;

std::string& last_error() noexcept {
  thread_local std::string message;
  return message;
}

lacuna_status fail(lacuna_status status, std::string message) noexcept {
  last_error() = std::move(message);
  return status;
}

lacuna_status invalid(const char* message) { return fail(LACUNA_INVALID_ARGUMENT, message); }

template <typename Body>
lacuna_status guarded(Body body) noexcept {
  return lacuna::guarded_by(fail, body);
}

lacuna_status failed(const char* what, cudaError_t error) {
  const lacuna_status status = error == cudaErrorMemoryAllocation ? LACUNA_OUT_OF_MEMORY
                               : error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver
                                   ? LACUNA_UNSUPPORTED
                                   : LACUNA_INTERNAL;
  return guarded(
      [&] { return fail(status, std::string(what) + ": " + cudaGetErrorString(error)); });
}

lacuna_status done(const char* what, cudaError_t error) {
  return error == cudaSuccess ? LACUNA_OK : failed(what, error);
}

lacuna_status give_text(const std::string& whole, size_t capacity, char* text, size_t* needed) {
  const size_t bytes = whole.size() + 1;
  if (needed != nullptr) *needed = bytes;
  if (capacity < bytes)
    return fail(LACUNA_TRUNCATED, "the text needs " + std::to_string(bytes) +
                                      " bytes; capacity is " + std::to_string(capacity));
  if (text == nullptr) return invalid("text is NULL; give a valid pointer");
  std::memcpy(text, whole.c_str(), bytes);
  return LACUNA_OK;
}

cudaError_t copy_run(const DevicePlan& plan, bool is_pack, const void* mem, const void* packed,
                     int64_t begin, int64_t end, cudaStream_t stream) {
  auto* const at = static_cast<std::byte*>(const_cast<void*>(mem)) + plan.rows[0].piece.mem + begin;
  void* const buffer = const_cast<void*>(packed);
  return cudaMemcpyAsync(is_pack ? buffer : at, is_pack ? at : buffer,
                         static_cast<size_t>(end - begin), cudaMemcpyDefault, stream);
}

lacuna_status move(const lacuna_gpu_plan* plan, bool is_pack, const void* mem, const void* packed,
                   int64_t begin, int64_t end, void* stream) noexcept {
  if (plan == nullptr) return invalid("plan is NULL; give one from lacuna_gpu_plan_create");
  if (begin < 0 || begin > end || end > plan->plan.size)
    return invalid("the slice [begin, end) is not inside the packed stream");
  if (begin == end) return LACUNA_OK;
  if (packed == nullptr) return invalid("packed is NULL; give a buffer for the packed stream");
  const Launch launch = choose(plan->plan, mem, packed, begin, end, is_pack);
  const auto on = static_cast<cudaStream_t>(stream);
  return done("launch", launch.way == Launch::Way::kRun
                            ? copy_run(plan->plan, is_pack, mem, packed, begin, end, on)
                            : enqueue(launch, is_pack, on));
}

lacuna_status move_many(int64_t count, const lacuna_gpu_message* messages, bool is_pack,
                        void* stream) noexcept {
  using lacuna::gpu::kMostMessages;
  if (count < 0) return invalid("count is negative");
  if (count > 0 && messages == nullptr) return invalid("messages is NULL; give `count` of them");
  for (int64_t i = 0; i < count; ++i) {
    if (messages[i].plan == nullptr) return invalid("a message's plan is NULL");
    if (messages[i].packed == nullptr && messages[i].plan->plan.size > 0)
      return invalid("a message's packed is NULL");
  }
  Message table[kMostMessages];
  const auto on = static_cast<cudaStream_t>(stream);
  uint32_t n = 0;
  uint64_t tiles = 0;
  const auto flush = [&] {
    const cudaError_t error = n == 0 ? cudaSuccess : enqueue_many(table, n, tiles, is_pack, on);
    n = 0;
    tiles = 0;
    return done("launch", error);
  };
  for (int64_t i = 0; i < count; ++i) {
    const DevicePlan& plan = messages[i].plan->plan;
    if (plan.size == 0) continue;
    table[n] = message_of(plan, messages[i].mem, messages[i].packed, 0, plan.size);
    const uint32_t own = tiles_of(plan, table[n]);
    if (tiles + own > lacuna::gpu::kMostBlocks) {
      const Message next = table[n];
      const lacuna_status status = flush();
      if (status != LACUNA_OK) return status;
      table[0] = next;
    }
    table[n].first_tile = static_cast<uint32_t>(tiles);
    tiles += own;
    if (++n == kMostMessages) {
      const lacuna_status status = flush();
      if (status != LACUNA_OK) return status;
    }
  }
  return flush();
}

}  // namespace

lacuna_status lacuna_gpu_plan_create(const lacuna_type* type, int64_t count,
                                     lacuna_gpu_plan** plan) {
  return guarded([&] {
    if (type == nullptr) return invalid("type is NULL; give one from lacuna.h");
    if (plan == nullptr) return invalid("plan is NULL; give the address of a lacuna_gpu_plan*");
    auto made = lacuna::gpu::make_device_plan(*reinterpret_cast<const Type*>(type), count);
    if (!made) return fail(made.error().status, made.error().message);
    auto device_plan = std::make_unique<lacuna_gpu_plan>();
    device_plan->plan = std::move(made).value();
    DevicePlan& own = device_plan->plan;
    cudaError_t error = cudaMalloc(&device_plan->memory, lacuna::gpu::image_bytes(own));
    if (error != cudaSuccess) return failed("the plan's tables", error);
    lacuna::gpu::place(own, static_cast<std::byte*>(device_plan->memory));
    error =
        cudaMemcpy(device_plan->memory, own.image.data(), own.image.size(), cudaMemcpyHostToDevice);
    if (error != cudaSuccess) {
      cudaFree(device_plan->memory);
      return failed("the plan's tables", error);
    }
    own.image = {};
    *plan = device_plan.release();
    return LACUNA_OK;
  });
}

void lacuna_gpu_plan_destroy(lacuna_gpu_plan* plan) {
  if (plan == nullptr) return;
  cudaFree(plan->memory);
  delete plan;
}

lacuna_status lacuna_gpu_packed_size(const lacuna_gpu_plan* plan, int64_t* bytes) {
  if (plan == nullptr) return invalid("plan is NULL; give one from lacuna_gpu_plan_create");
  if (bytes == nullptr) return invalid("bytes is NULL; give a valid pointer");
  *bytes = plan->plan.size;
  return LACUNA_OK;
}

lacuna_status lacuna_gpu_plan_text(const lacuna_gpu_plan* plan, size_t capacity, char* text,
                                   size_t* needed) {
  return guarded([&] {
    if (plan == nullptr) return invalid("plan is NULL; give one from lacuna_gpu_plan_create");
    return give_text(text_of(plan->plan), capacity, text, needed);
  });
}

lacuna_status lacuna_gpu_explain_json(const lacuna_type* type, int64_t count, size_t capacity,
                                      char* text, size_t* needed) {
  return guarded([&] {
    if (type == nullptr) return invalid("type is NULL; give one from lacuna.h");
    auto told = lacuna::gpu::explain_json(*reinterpret_cast<const Type*>(type), count);
    if (!told) return fail(told.error().status, told.error().message);
    return give_text(told.value(), capacity, text, needed);
  });
}

lacuna_status lacuna_gpu_pack(const lacuna_gpu_plan* plan, const void* mem, int64_t begin,
                              int64_t end, void* packed, void* stream) {
  return move(plan, true, mem, packed, begin, end, stream);
}

lacuna_status lacuna_gpu_unpack(const lacuna_gpu_plan* plan, const void* packed, int64_t begin,
                                int64_t end, void* mem, void* stream) {
  return move(plan, false, mem, packed, begin, end, stream);
}

lacuna_status lacuna_gpu_copy(const lacuna_gpu_plan* from, const void* from_mem,
                              const lacuna_gpu_plan* to, void* to_mem, void* stream) {
  if (from == nullptr || to == nullptr)
    return invalid("a plan is NULL; give one from lacuna_gpu_plan_create");
  if (from->plan.size != to->plan.size) return invalid("the plans have unequal numbers of bytes");
  if (from->plan.size == 0) return LACUNA_OK;
  const auto on = static_cast<cudaStream_t>(stream);
  if (to->plan.is_run())  // one side is a packed stream
    return move(from, true, from_mem, static_cast<std::byte*>(to_mem) + to->plan.rows[0].piece.mem,
                0, from->plan.size, stream);
  if (from->plan.is_run())
    return move(to, false, to_mem,
                static_cast<const std::byte*>(from_mem) + from->plan.rows[0].piece.mem, 0,
                from->plan.size, stream);
  if (from->plan.whole_piece() == nullptr || to->plan.whole_piece() == nullptr)
    return fail(LACUNA_UNSUPPORTED, "a type has too many runs; pack and unpack instead");
  int log = 0;
  const lacuna::gpu::CopyJob job = copy_job(from->plan, from_mem, to->plan, to_mem, &log);
  return done("launch", enqueue_copy(job, log, on));
}

lacuna_status lacuna_gpu_pack_many(int64_t count, const lacuna_gpu_message* messages,
                                   void* stream) {
  return move_many(count, messages, true, stream);
}

lacuna_status lacuna_gpu_unpack_many(int64_t count, const lacuna_gpu_message* messages,
                                     void* stream) {
  return move_many(count, messages, false, stream);
}

const char* lacuna_gpu_last_error(void) { return last_error().c_str(); }
