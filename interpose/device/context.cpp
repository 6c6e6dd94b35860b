// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/device/context.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/address.hpp"
#include "interpose/device/arenas.hpp"
#include "interpose/device/packed_memory.hpp"
#include "type/type.hpp"

namespace lacuna::device {
namespace {

constexpr size_t kMostPlans = 256;
constexpr int64_t kBounce = int64_t{2} << 20;
void* const kLegacyStream = reinterpret_cast<void*>(1);

// Of a type that was too large to be kept, a plan has an outline alone.
bool is_outline(const Type& type) noexcept {
  return type.basic != nullptr && type.size_bytes != type.basic->size_bytes;
}

}  // namespace

Scope::Scope(const Context& context) noexcept
    : is_in_(context.is_alive() && driver()->push_context(context.handle()) == 0) {
  if (is_in_) driver()->exchange_capture_mode(&mode_);
}

Scope::~Scope() {
  if (!is_in_) return;
  driver()->exchange_capture_mode(&mode_);
  void* popped = nullptr;
  driver()->pop_context(&popped);
}

bool Context::open() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Scope scope(*this);
  if (!scope.is_in() || (stream_ == nullptr && driver()->create_stream(&stream_, 0) != 0))
    return false;
  if (shared_memory() != nullptr) identify_device();
  bounce_ = lend_packed_memory(kBounce, Lies::kOnHost, this);
  return bounce_ != nullptr;
}

void Context::identify_device() noexcept {
  constexpr int kSharedByMps = 133;  // CU_DEVICE_ATTRIBUTE_MPS_ENABLED; older drivers lack it
  uint64_t uuid[2] = {};
  int is_shared = 0;
  if (shared_memory()->identify_device(uuid, ordinal_) == 0) device_ = uuid[0] ^ uuid[1];
  runs_several_ =
      shared_memory()->device_attribute(&is_shared, kSharedByMps, ordinal_) == 0 && is_shared != 0;
}

bool Context::is_alive() const noexcept {
  unsigned long long number = 0;
  return driver()->context_number(handle_, &number) == 0 && number == number_;
}

void Context::retire() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (bounce_ != nullptr) bounce_->is_lent.store(false, std::memory_order_release);
  bounce_ = nullptr;
}

PackedMemory* Context::lend(int64_t bytes, Lies where) noexcept {
  const Scope scope(*this);
  return scope.is_in() ? lend_packed_memory(bytes, where, this) : nullptr;
}

bool Context::is_free() noexcept {
  const Scope scope(*this);
  int status = 0;
  return scope.is_in() && driver()->is_capturing(kLegacyStream, &status) == 0 && status == 0;
}

lacuna_gpu_plan* Context::find(const Plan& plan, int64_t count) noexcept try {
  ++clock_;
  for (Entry& entry : plans_) {
    if (entry.kept.get() != &plan || entry.count != count) continue;
    entry.used = clock_;
    return entry.plan;
  }
  if (is_outline(plan.type())) return nullptr;
  plans_.reserve(kMostPlans);
  lacuna_gpu_plan* made = nullptr;
  int64_t bytes = 0;
  if (mover()->create(reinterpret_cast<const lacuna_type*>(&plan.type()), count, &made) !=
      LACUNA_OK)
    return nullptr;
  if (mover()->packed_size(made, &bytes) != LACUNA_OK || bytes != count * plan.size()) {
    mover()->destroy(made);
    return nullptr;
  }
  if (plans_.size() == kMostPlans) {  // nothing is under way with it: each move is waited for
    const auto oldest = std::min_element(
        plans_.begin(), plans_.end(), [](const auto& a, const auto& b) { return a.used < b.used; });
    mover()->destroy(oldest->plan);
    plans_.erase(oldest);
  }
  plans_.push_back({PlanPtr(&plan), count, made, clock_});
  return made;
} catch (...) {
  return nullptr;
}

bool Context::make_plan(const PlanPtr& plan, int64_t count) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Scope scope(*this);
  return scope.is_in() && find(*plan, count) != nullptr;
}

// Enqueued and waited for. No plan: contiguous.
bool Context::slice(bool packs, const lacuna_gpu_plan* plan, const void* mem, int64_t begin,
                    int64_t end, std::byte* packed) noexcept {
  if (plan == nullptr) {
    std::byte* const there = address(mem, begin);
    return packs ? copy_and_wait(packed, there, end - begin)
                 : copy_and_wait(there, packed, end - begin);
  }
  const lacuna_status status =
      packs ? mover()->pack(plan, mem, begin, end, packed, stream_)
            : mover()->unpack(plan, packed, begin, end, const_cast<void*>(mem), stream_);
  return driver()->wait_for_stream(stream_) == 0 && status == LACUNA_OK;
}

// For memory that the device cannot reach.
bool Context::through_bounce(bool packs, const lacuna_gpu_plan* plan, const void* mem,
                             int64_t begin, int64_t end, std::byte* packed) noexcept {
  std::byte* const bounce = bounce_->buffer.data;
  while (begin < end) {
    const int64_t now = std::min(end - begin, kBounce);
    const auto size = static_cast<size_t>(now);
    if (!packs) std::memcpy(bounce, packed, size);
    if (!slice(packs, plan, mem, begin, begin + now, bounce)) return false;
    if (packs) std::memcpy(packed, bounce, size);
    begin += now;
    packed += now;
  }
  return true;
}

bool Context::reaches(const std::byte* in_arena, int64_t bytes) noexcept {
  const Scope scope(*this);
  return scope.is_in() && use_arena(in_arena, bytes, this);
}

bool Context::move(bool packs, const Plan* plan, int64_t count, const void* mem, int64_t begin,
                   int64_t end, std::byte* packed, Packed where) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Scope scope(*this);
  if (!scope.is_in() || !is_open()) return false;
  const lacuna_gpu_plan* const there = plan != nullptr ? find(*plan, count) : nullptr;
  if (plan != nullptr && there == nullptr) return false;
  ArenaUse used;
  if (where == Packed::kInArena) used = use_arena(packed, end - begin, this);
  return where == Packed::kReached || used ? slice(packs, there, mem, begin, end, packed)
                                           : through_bounce(packs, there, mem, begin, end, packed);
}

bool Context::copy_and_wait(void* to, const void* from, int64_t bytes) noexcept {
  const int status =
      driver()->copy(reinterpret_cast<uintptr_t>(to), reinterpret_cast<uintptr_t>(from),
                     static_cast<size_t>(bytes), stream_);
  return driver()->wait_for_stream(stream_) == 0 && status == 0;
}

bool Context::copy(void* to, const void* from, int64_t bytes) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Scope scope(*this);
  return scope.is_in() && copy_and_wait(to, from, bytes);
}

// A copy must not go beyond a pinned range, and a part of this memory may be pinned.
bool Context::copy_to_host(std::byte* to, const std::byte* from, int64_t bytes) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Scope scope(*this);
  bool ok = scope.is_in() && is_open();
  for (int64_t begin = 0; ok && begin < bytes; begin += kBounce) {
    const int64_t size = std::min(kBounce, bytes - begin);
    ok = copy_and_wait(bounce_->buffer.data, from + begin, size);
    if (ok) std::memcpy(to + begin, bounce_->buffer.data, static_cast<size_t>(size));
  }
  return ok;
}

namespace {

constinit std::mutex g_contexts_mutex;

std::vector<Context*>& contexts() noexcept {
  static ForEver<std::vector<Context*>> all;
  return all.value;
}

// Memory of a pool is of no context alone. The program's current one is taken if it is of the same
// device; else one of that device that was used before: a thread that completes a request may have
// another current context than the one that has begun it, or none.
void* handle_of(const DevicePlace& place) noexcept {
  if (place.context != nullptr) return place.context;
  void* current = nullptr;
  int ordinal = -1;
  const bool fits = driver()->current_context(&current) == 0 && current != nullptr &&
                    driver()->current_device(&ordinal) == 0 && ordinal == place.ordinal;
  if (fits) return current;
  const std::lock_guard<std::mutex> lock(g_contexts_mutex);
  for (const Context* context : contexts()) {
    if (context->is_of(place.ordinal)) return context->handle();
  }
  return nullptr;
}

}  // namespace

Context* context_of(const DevicePlace& place) noexcept try {
  if (driver() == nullptr || mover() == nullptr) return nullptr;
  void* const handle = handle_of(place);
  if (handle == nullptr) return nullptr;
  unsigned long long number = 0;
  if (driver()->context_number(handle, &number) != 0) return nullptr;
  const std::lock_guard<std::mutex> lock(g_contexts_mutex);
  for (Context* context : contexts()) {
    if (context->is(handle, number))
      return context->is_open() || context->open() ? context : nullptr;
  }
  auto* const made = new Context(handle, number, place.ordinal);
  contexts().push_back(made);
  for (Context* context : contexts())
    if (made->replaces(*context)) context->retire();
  return made->open() ? made : nullptr;
} catch (...) {
  return nullptr;
}

SomeContext::SomeContext(int ordinal) noexcept {
  {
    const std::lock_guard<std::mutex> lock(g_contexts_mutex);
    for (Context* context : contexts())
      if (context->is_of(ordinal) && context->is_open() && context->is_alive()) found_ = context;
  }
  void* handle = nullptr;
  if (found_ != nullptr || shared_memory()->retain_context(&handle, ordinal) != 0) return;
  retained_ = ordinal;
  found_ = context_of({.context = handle, .ordinal = ordinal});
}

SomeContext::~SomeContext() {
  if (retained_ >= 0) shared_memory()->release_context(retained_);
}

}  // namespace lacuna::device
