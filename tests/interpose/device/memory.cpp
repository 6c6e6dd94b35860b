// SPDX-License-Identifier: BSD-3-Clause
#include "tests/interpose/device/memory.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "tests/interpose/harness/harness.hpp"

namespace test {
namespace {

void* g_driver = nullptr;
constexpr size_t kMargin = 64;

template <typename... Arguments>
bool call(const char* name, Arguments... arguments) {
  const auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(g_driver, name));
  return function != nullptr && function(arguments...) == 0;
}

}  // namespace

namespace {

bool take_context() {
  int device = 0;
  void* context = nullptr;
  return call("cuDeviceGet", &device, 0) && call("cuDevicePrimaryCtxRetain", &context, device) &&
         call("cuCtxSetCurrent", context);
}

}  // namespace

bool start_device() {
  static const bool is_there = [] {
    const char* path = std::getenv("LACUNA_TEST_CUDA");
    // Global, so that fake_mover.cpp finds it.
    g_driver = dlopen(path != nullptr ? path : "libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    return g_driver != nullptr && call("cuInit", 0U) && take_context();
  }();
  return is_there;
}

void end_context() {
  CHECK(is_fake_device() ? call("fake_reset") : call("cuDevicePrimaryCtxReset_v2", 0));
}

void reset_device() {
  end_context();
  CHECK(take_context());
}

void* begin_other_context() {
  void* context = nullptr;
  CHECK(call("cuCtxCreate_v2", &context, 0U, 0));
  return context;
}

void end_other_context(void* context) { CHECK(call("cuCtxDestroy_v2", context)); }

namespace {

// With LACUNA_TEST_EARLY, before MPI_Init.
[[maybe_unused]] const bool g_is_early =
    std::getenv("LACUNA_TEST_EARLY") != nullptr && start_device();

}  // namespace

bool is_fake_device() { return dlsym(g_driver, "fake_reach") != nullptr; }

// What fake_mover.cpp has is found when lacuna has loaded it.
void* fake_symbol(const char* name) {
  if (void* found = dlsym(g_driver, name)) return found;
  const char* path = std::getenv("LACUNA_TEST_MOVER");
  void* const mover = path != nullptr ? dlopen(path, RTLD_NOW) : nullptr;
  return mover != nullptr ? dlsym(mover, name) : nullptr;
}

int& fake_switch(const char* name) {
  static int nothing = 0;
  auto* const found = static_cast<int*>(fake_symbol(name));
  CHECK(found != nullptr);
  return found != nullptr ? *found : nothing;
}

long fake_count(const char* name) {
  const auto* const found = static_cast<const long*>(fake_symbol(name));
  CHECK(found != nullptr);
  return found != nullptr ? *found : 0;
}

namespace {

bool is_on_one_node() {
  static const bool found = [] {
    MPI_Comm node = MPI_COMM_NULL;
    int size = 0;
    lacuna(false);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &size);
    MPI_Comm_free(&node);
    lacuna(true);
    return size == g_size;
  }();
  return found;
}

bool has(const char* variable, const char* value) {
  const char* const found = std::getenv(variable);
  return found != nullptr && std::string(found) == value;
}

}  // namespace

DirectMoves::DirectMoves()
    : are_counted_(g_direct && g_size > 1 && is_fake_device() && has("LACUNA_ALWAYS", "1") &&
                   std::getenv("LACUNA_ARENA_MB") == nullptr && is_on_one_node()) {
  if (!are_counted_) return;
  packs_ = packs();
  unpacks_ = unpacks();
  window_packs_ = window_packs();
  window_unpacks_ = window_unpacks();
}

long DirectMoves::packs() const {
  return fake_count("fake_arena_packs") + fake_count("fake_window_packs") - packs_;
}
long DirectMoves::unpacks() const {
  return fake_count("fake_arena_unpacks") + fake_count("fake_window_unpacks") - unpacks_;
}
long DirectMoves::window_packs() const { return fake_count("fake_window_packs") - window_packs_; }
long DirectMoves::window_unpacks() const {
  return fake_count("fake_window_unpacks") - window_unpacks_;
}

GoesDirectly::~GoesDirectly() {
  if (!moves_.are_counted()) return;
  if (g_rank == 0) CHECK(moves_.packs() > 0);
  if (g_rank == 1) CHECK(moves_.unpacks() > 0);
}

Memory::Memory(On where, size_t bytes)
    : bytes_(bytes), at_(0), is_on_device_(where == On::kDevice) {
  if (is_on_device_) {
    CHECK(call("cuMemAlloc_v2", &at_, bytes));
  } else {
    host_.resize(bytes);
    at_ = reinterpret_cast<uintptr_t>(host_.data());
  }
}

Memory::~Memory() {
  if (is_on_device_) CHECK(call("cuMemFree_v2", at_));
}

void Memory::write(const std::vector<unsigned char>& bytes) {
  CHECK(bytes.size() == bytes_);
  if (is_on_device_)
    CHECK(call("cuMemcpy", at_, reinterpret_cast<uintptr_t>(bytes.data()), bytes_));
  else
    std::copy(bytes.begin(), bytes.end(), host_.begin());
}

std::vector<unsigned char> Memory::read() const {
  if (!is_on_device_) return host_;
  std::vector<unsigned char> bytes(bytes_);
  CHECK(call("cuMemcpy", reinterpret_cast<uintptr_t>(bytes.data()), at_, bytes_));
  return bytes;
}

Elements::Bounds::Bounds(MPI_Datatype type, int count) {
  MPI_Aint lb = 0, extent = 0, true_lb = 0, true_extent = 0;
  MPI_Type_get_extent(type, &lb, &extent);
  MPI_Type_get_true_extent(type, &true_lb, &true_extent);
  const MPI_Aint last = extent * std::max(count - 1, 0);
  const MPI_Aint low = true_lb + std::min<MPI_Aint>(last, 0);
  const MPI_Aint high = true_lb + true_extent + std::max<MPI_Aint>(last, 0);
  bytes = static_cast<size_t>(high - low) + 2 * kMargin;
  offset = static_cast<size_t>(-low) + kMargin;
}

Elements::Elements(On where, MPI_Datatype type, int count, unsigned seed)
    : Elements(Bounds(type, count), where, type, count, seed) {}

Elements::Elements(const Bounds& bounds, On where, MPI_Datatype type, int count, unsigned seed)
    : type_(type), count_(count), offset_(bounds.offset), memory_(where, bounds.bytes) {
  fill(seed);
}

void Elements::fill(unsigned seed) {
  std::vector<unsigned char> bytes = memory_.read();
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<unsigned char>(i * 7 + i / 251 + seed * 31 + 1);
  memory_.write(bytes);
}

std::vector<unsigned char> Elements::with(const Elements& from) const {
  std::vector<unsigned char> source = from.read();
  std::vector<unsigned char> target = read();
  std::vector<unsigned char> packed(static_cast<size_t>(data_bytes(from.type_, from.count_)) + 1);
  const int size = static_cast<int>(packed.size());
  lacuna(false);
  int position = 0;
  MPI_Pack(source.data() + from.offset_, from.count_, from.type_, packed.data(), size, &position,
           MPI_COMM_SELF);
  position = 0;
  MPI_Unpack(packed.data(), size, &position, target.data() + offset_, count_, type_, MPI_COMM_SELF);
  lacuna(true);
  return target;
}

Column::Column(int length) : type(column(length, 3)) {}

}  // namespace test
