// SPDX-License-Identifier: BSD-3-Clause
//
// How much of a thread's stack a call takes: the part below the caller is painted, and looked at
// afterwards.
#ifndef LACUNA_TESTS_PAINTED_STACK_HPP_
#define LACUNA_TESTS_PAINTED_STACK_HPP_

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

namespace test {

class PaintedStack {
 public:
  explicit PaintedStack(size_t bytes) : bytes_(bytes), memory_(bytes + kPage) {}

  // Runs `body` in a thread on this stack. False: there is no such thread.
  bool run(std::function<void()> body) {
    body_ = std::move(body);
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    const bool ok = pthread_attr_setstack(&attributes, low(), bytes_) == 0 &&
                    pthread_create(&thread, &attributes, &start, this) == 0 &&
                    pthread_join(thread, nullptr) == 0;
    pthread_attr_destroy(&attributes);
    return ok;
  }

  // In that thread: bytes below this function's own that `call` has written to; INT64_MAX: too
  // many.
  template <typename Call>
  [[gnu::noinline]] int64_t depth_of(Call call) {
    auto* const here = static_cast<unsigned char*>(__builtin_frame_address(0));
    paint(low(), here - kOwn);
    call();
    const unsigned char* deepest = low();
    while (deepest < here - kOwn && *deepest == kPaint) ++deepest;
    return deepest == low() ? INT64_MAX : here - deepest;
  }

 private:
  static constexpr size_t kPage = 4096;
  static constexpr ptrdiff_t kOwn = 512;  // of depth_of and paint
  static constexpr unsigned char kPaint = 0x5a;

  static void* start(void* self) {
    static_cast<PaintedStack*>(self)->body_();
    return nullptr;
  }
  // Not by memset, which would have to be called from here.
  [[gnu::noinline]] static void paint(volatile unsigned char* begin, const unsigned char* end) {
    for (; begin < end; ++begin) *begin = kPaint;
  }
  unsigned char* low() {
    return memory_.data() + (-reinterpret_cast<uintptr_t>(memory_.data()) & (kPage - 1));
  }

  size_t bytes_;
  std::vector<unsigned char> memory_;
  std::function<void()> body_;
};

}  // namespace test

#endif  // LACUNA_TESTS_PAINTED_STACK_HPP_
