// SPDX-License-Identifier: BSD-3-Clause
//
// Ref<T>: shared ownership of an object that counts its owners itself. Unlike std::shared_ptr, the
// object is one allocation that a plain pointer can own (the handles of the C API are such
// pointers), and objects that live as long as the process (predefined types) are not counted. Both
// matter to a type that is made for one message.
#ifndef LACUNA_ENGINE_BASE_REF_HPP_
#define LACUNA_ENGINE_BASE_REF_HPP_

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>  // glibc 2.32
#endif

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace lacuna {

// The base of objects that a Ref owns. A copy has owners of its own.
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) {}
  RefCounted& operator=(const RefCounted&) { return *this; }

  // The object is never destroyed. Call it before the object is shared.
  void make_immortal() { owners_.store(kImmortal, std::memory_order_relaxed); }

 private:
  template <typename T>
  friend class Ref;

  static constexpr int64_t kImmortal = INT64_MIN;

  // Locked instructions are a fifth of the time of making and destroying a stream
  // (docs/experiments/2026-11-26-slices-and-streams.md).
  static bool is_single_threaded() {
#if __has_include(<sys/single_threaded.h>)
    return __libc_single_threaded != 0;
#else
    return false;
#endif
  }

  void enter() const {
    const int64_t owners = owners_.load(std::memory_order_relaxed);
    if (owners < 0) return;
    if (is_single_threaded()) {
      owners_.store(owners + 1, std::memory_order_relaxed);
    } else {
      owners_.fetch_add(1, std::memory_order_relaxed);
    }
  }

  // Whether that was the last owner.
  bool leave() const {
    const int64_t owners = owners_.load(std::memory_order_acquire);
    // The caller is the only owner, so no other thread can become one meanwhile.
    if (owners <= 1) return owners == 1;
    if (is_single_threaded()) {
      owners_.store(owners - 1, std::memory_order_relaxed);
      return false;
    }
    return owners_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

  mutable std::atomic<int64_t> owners_{0};
};

template <typename T>
class Ref {
 public:
  using element_type = T;

  Ref() = default;
  Ref(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)
  // Becomes one more owner.
  explicit Ref(T* object) : object_(object) { enter(); }
  Ref(const Ref& other) : object_(other.object_) { enter(); }
  Ref(Ref&& other) noexcept : object_(other.release()) {}
  template <typename U, typename = std::enable_if_t<std::is_convertible_v<U*, T*>>>
  Ref(Ref<U> other) : object_(other.release()) {}  // NOLINT(google-explicit-constructor)
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr && object_->leave()) delete object_;
  }

  T* get() const { return object_; }
  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  void reset() { *this = Ref(); }

  // The ownership as a plain pointer, and back.
  [[nodiscard]] T* release() { return std::exchange(object_, nullptr); }
  static Ref adopt(T* owned) {
    Ref ref;
    ref.object_ = owned;
    return ref;
  }

  friend bool operator==(const Ref& a, const Ref& b) { return a.object_ == b.object_; }
  friend bool operator==(const Ref& a, std::nullptr_t) { return a.object_ == nullptr; }

 private:
  void enter() const {
    if (object_ != nullptr) object_->enter();
  }

  T* object_ = nullptr;
};

template <typename T, typename... Arguments>
Ref<T> make_ref(Arguments&&... arguments) {
  return Ref<T>(new T(std::forward<Arguments>(arguments)...));
}

}  // namespace lacuna

#endif  // LACUNA_ENGINE_BASE_REF_HPP_
