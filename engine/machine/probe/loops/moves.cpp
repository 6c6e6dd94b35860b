// SPDX-License-Identifier: BSD-3-Clause
//
// Highway compiles this once for each instruction set (header-only, as in kernels/simd.cpp); the
// widest that the CPU has is used. Unrolled by four: enough loads and stores in flight on all CPUs
// so far, and small enough for the loop buffers.
#ifndef HWY_IS_DEBUG_BUILD
#define HWY_IS_DEBUG_BUILD 0  // its asserts would need a library
#endif
#include "machine/probe/loops/moves.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "machine/probe/loops/moves.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace lacuna::probe::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<uint64_t>;
using V = hn::Vec<D>;

template <bool kStream>
void put(V v, uint64_t* to) {
  if constexpr (kStream) {
    hn::Stream(v, D(), to);
  } else {
    hn::Store(v, D(), to);
  }
}

uint64_t read(const char* from, size_t bytes) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  const auto* at = reinterpret_cast<const uint64_t*>(from);
  V a = hn::Zero(d), b = a, c = a, e = a;
  for (const uint64_t* const end = at + bytes / 8; at < end; at += 4 * lanes) {
    a = hn::Add(a, hn::Load(d, at));
    b = hn::Add(b, hn::Load(d, at + lanes));
    c = hn::Add(c, hn::Load(d, at + 2 * lanes));
    e = hn::Add(e, hn::Load(d, at + 3 * lanes));
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e))));
}

// Writes multiples of a word: some CPUs write zeros or one repeated word faster (speed.cpp).
template <bool kStream>
void write(char* to, size_t bytes) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  auto* at = reinterpret_cast<uint64_t*>(to);
  const uint64_t word = 0x9e3779b97f4a7c15u;
  V a = hn::Mul(hn::Iota(d, 1), hn::Set(d, word));
  const V next = hn::Set(d, lanes * word), turn = hn::Set(d, 4 * lanes * word);
  V b = hn::Add(a, next), c = hn::Add(b, next), e = hn::Add(c, next);
  for (const uint64_t* const end = at + bytes / 8; at < end; at += 4 * lanes) {
    put<kStream>(a, at);
    put<kStream>(b, at + lanes);
    put<kStream>(c, at + 2 * lanes);
    put<kStream>(e, at + 3 * lanes);
    a = hn::Add(a, turn);
    b = hn::Add(b, turn);
    c = hn::Add(c, turn);
    e = hn::Add(e, turn);
  }
  if constexpr (kStream) hwy::FlushStream();
}

template <bool kStream>
void copy(const char* from, char* to, size_t bytes) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  const auto* source = reinterpret_cast<const uint64_t*>(from);
  auto* at = reinterpret_cast<uint64_t*>(to);
  for (const uint64_t* const end = at + bytes / 8; at < end; at += 4 * lanes, source += 4 * lanes) {
    const V a = hn::Load(d, source), b = hn::Load(d, source + lanes);
    const V c = hn::Load(d, source + 2 * lanes), e = hn::Load(d, source + 3 * lanes);
    put<kStream>(a, at);
    put<kStream>(b, at + lanes);
    put<kStream>(c, at + 2 * lanes);
    put<kStream>(e, at + 3 * lanes);
  }
  if constexpr (kStream) hwy::FlushStream();
}

const Moves& moves() {
  static constexpr const char* kIsa = HWY_TARGET == HWY_AVX3   ? "avx512"
                                      : HWY_TARGET == HWY_AVX2 ? "avx2"
                                      : HWY_TARGET == HWY_SSE4 ? "sse4"
                                      : HWY_TARGET == HWY_NEON ? "neon"
                                                               : "baseline";
  static constexpr Moves kMoves = {kIsa,         &read,        &write<false>,
                                   &copy<false>, &write<true>, &copy<true>};
  return kMoves;
}

}  // namespace lacuna::probe::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "base/x86.hpp"

namespace lacuna::probe {

const Moves& best_moves() {
#if HWY_ARCH_X86
  [[maybe_unused]] const X86Targets can = x86_targets();
#if HWY_TARGETS & HWY_AVX3
  if (can.avx3) return N_AVX3::moves();
#endif
#if HWY_TARGETS & HWY_AVX2
  if (can.avx2) return N_AVX2::moves();
#endif
#if HWY_TARGETS & HWY_SSE4
  if (can.sse4) return N_SSE4::moves();
#endif
#endif
  return HWY_STATIC_DISPATCH(moves)();
}

}  // namespace lacuna::probe
#endif  // HWY_ONCE
