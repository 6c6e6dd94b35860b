// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/device/context.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/address.hpp"
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

bool Context::wait() noexcept { return driver()->wait_for_stream(stream_) == 0; }

bool Context::enqueue_copy(void* to, const void* from, int64_t bytes) noexcept {
  return driver()->copy(reinterpret_cast<uintptr_t>(to), reinterpret_cast<uintptr_t>(from),
                        static_cast<size_t>(bytes), stream_) == 0;
}

// No plan: contiguous.
bool Context::enqueue(bool packs, const lacuna_gpu_plan* plan, const Slice& slice) noexcept {
  const auto& [data, begin, end, packed] = slice;
  if (plan == nullptr) {
    std::byte* const there = address(data.mem, begin);
    return packs ? enqueue_copy(packed, there, end - begin)
                 : enqueue_copy(there, packed, end - begin);
  }
  return (packs ? mover()->pack(plan, data.mem, begin, end, packed, stream_)
                : mover()->unpack(plan, packed, begin, end, data.mem, stream_)) == LACUNA_OK;
}

// For memory that the device cannot reach.
bool Context::through_bounce(bool packs, const lacuna_gpu_plan* plan, Slice slice) noexcept {
  std::byte* const bounce = bounce_->buffer.data;
  const int64_t end = slice.end;
  for (std::byte* packed = slice.packed; slice.begin < end; slice.begin = slice.end) {
    slice.end = std::min(end, slice.begin + kBounce);
    slice.packed = bounce;
    const auto size = static_cast<size_t>(slice.end - slice.begin);
    if (!packs) std::memcpy(bounce, packed, size);
    const bool is_enqueued = enqueue(packs, plan, slice);
    if (!wait() || !is_enqueued) return false;
    if (packs) std::memcpy(packed, bounce, size);
    packed += size;
  }
  return true;
}

bool Context::reaches(const std::byte* in_arena, int64_t bytes) noexcept {
  const Scope scope(*this);
  return scope.is_in() && use_arena(in_arena, bytes, this);
}

// Whether the device can use the arena that a slice is in, until the move is over.
bool Context::use_arena_for(const Slice& slice) noexcept {
  const int64_t bytes = slice.end - slice.begin;
  for (size_t i = 0; i < use_count_; ++i)
    if (uses_[i].has(slice.packed)) return uses_[i].covers(slice.packed, bytes);
  ArenaUse& use = uses_[use_count_];
  use = use_arena(slice.packed, bytes, this);
  if (use) ++use_count_;
  return static_cast<bool>(use);
}

// Enqueues a slice, or keeps it for the fused launch.
bool Context::move_one(bool packs, const Slice& slice, Packed place, bool fuses) noexcept {
  // Larger ones keep the device busy by themselves, and a kernel of their own may be faster.
  constexpr int64_t kMostFused = int64_t{64} << 10;
  const OnDevice& data = slice.data;
  const lacuna_gpu_plan* const plan = data.plan != nullptr ? find(*data.plan, data.count) : nullptr;
  if (data.plan != nullptr && plan == nullptr) return false;
  const bool is_reached =
      place == Packed::kReached || (place == Packed::kInArena && use_arena_for(slice));
  if (!is_reached) return through_bounce(packs, plan, slice);
  const bool is_whole =
      plan != nullptr && slice.begin == 0 && slice.end == data.count * data.plan->size();
  if (!fuses || !is_whole || slice.end > kMostFused) return enqueue(packs, plan, slice);
  fused_[fused_count_++] = {plan, data.mem, slice.packed};
  return true;
}

bool Context::enqueue_fused(bool packs) noexcept {
  const auto count = static_cast<int64_t>(std::exchange(fused_count_, 0));
  if (count == 0) return true;
  return (packs ? mover()->pack_many(count, fused_, stream_)
                : mover()->unpack_many(count, fused_, stream_)) == LACUNA_OK;
}

// From the last one on, as the first use of an arena should pin all that is needed of it.
bool Context::move(bool packs, std::span<const Slice> slices,
                   std::span<const Packed> places) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Scope scope(*this);
  if (!scope.is_in() || !is_open()) return false;
  bool ok = true;
  for (size_t i = slices.size(); ok && i-- > 0;)
    ok = move_one(packs, slices[i], places[i], slices.size() > 1);
  ok = enqueue_fused(packs) && ok;
  ok = wait() && ok;
  while (use_count_ > 0) uses_[--use_count_] = ArenaUse();
  return ok;
}

bool Context::copy(void* to, const void* from, int64_t bytes) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Scope scope(*this);
  if (!scope.is_in()) return false;
  const bool is_enqueued = enqueue_copy(to, from, bytes);
  return wait() && is_enqueued;
}

// A copy must not go beyond a pinned range, and a part of this memory may be pinned.
bool Context::copy_to_host(std::byte* to, const std::byte* from, int64_t bytes) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Scope scope(*this);
  bool ok = scope.is_in() && is_open();
  for (int64_t begin = 0; ok && begin < bytes; begin += kBounce) {
    const int64_t size = std::min(kBounce, bytes - begin);
    ok = enqueue_copy(bounce_->buffer.data, from + begin, size);
    ok = wait() && ok;
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
