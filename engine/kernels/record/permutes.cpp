// SPDX-License-Identifier: BSD-3-Clause
//
// Vectors are no wider than a window's data: an access that crosses lines costs twice, even if the
// mask leaves out all of one line. Measured, and tried:
// docs/experiments/2026-11-26-kernel-choices.md.
#include "kernels/record/permutes.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/x86.hpp"
#include "kernels/record/record.hpp"

#if defined(__x86_64__)
#include <hwy/base.h>

// GCC warns about values that its own intrinsics leave undefined on purpose.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop

HWY_PUSH_ATTRIBUTES("avx,avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")
namespace lacuna::kernels {
namespace {

constexpr int64_t kVectors[] = {16, 32, 64};
constexpr size_t kVectorKinds = std::size(kVectors);

// The hardware prefetcher does not follow masked moves, so lines are prefetched, this many elements
// ahead.
constexpr int64_t kAhead = 16;
// Longer lists exceed the caches (8 MiB of lines) and need a longer distance; in the L2 that
// distance would be slower. Strided elements gain nothing by it.
constexpr int64_t kFarElements = 1 << 17;
constexpr int64_t kFarAhead = 64;

template <int64_t kBytes>
[[gnu::always_inline]] inline __m512i load(const std::byte* p, uint64_t mask) {
  if constexpr (kBytes == 16) {
    return _mm512_castsi128_si512(_mm_maskz_loadu_epi8(static_cast<__mmask16>(mask), p));
  } else if constexpr (kBytes == 32) {
    return _mm512_castsi256_si512(_mm256_maskz_loadu_epi8(static_cast<__mmask32>(mask), p));
  } else {
    return _mm512_maskz_loadu_epi8(mask, p);
  }
}

template <int64_t kBytes>
[[gnu::always_inline]] inline void store(std::byte* p, uint64_t mask, __m512i v) {
  if constexpr (kBytes == 16) {
    _mm_mask_storeu_epi8(p, static_cast<__mmask16>(mask), _mm512_castsi512_si128(v));
  } else if constexpr (kBytes == 32) {
    _mm256_mask_storeu_epi8(p, static_cast<__mmask32>(mask), _mm512_castsi512_si256(v));
  } else {
    _mm512_mask_storeu_epi8(p, mask, v);
  }
}

// What one element's move needs, in registers. kFirst, kSecond, kPacked: bytes of the vectors for
// the windows (kSecond 0: there is one) and for the packed bytes.
template <bool kPack, int64_t kFirst, int64_t kSecond, int64_t kPacked>
struct Moved {
  [[gnu::always_inline]] inline explicit Moved(const Element& element)
      : Moved(element.windows[0], element.windows[1]) {}
  [[gnu::always_inline]] inline Moved(const Element::Window& first, const Element::Window& second)
      : first_lanes(_mm512_load_si512(kPack ? first.gather : first.scatter)),
        second_lanes(_mm512_load_si512(kPack ? second.gather : second.scatter)),
        first_data(first.data),
        second_data(second.data),
        second_packed(second.packed),
        all_packed(first.packed | second.packed),
        begin(static_cast<uintptr_t>(first.mem_offset)),
        second_offset(static_cast<uintptr_t>(second.mem_offset - first.mem_offset)) {}

  // `mem`: where the first window begins. Unsigned, so that no extent overflows.
  [[gnu::always_inline]] inline void prefetch(uintptr_t mem) const {
    __builtin_prefetch(reinterpret_cast<const void*>(mem), kPack ? 0 : 1);
    if constexpr (kSecond != 0)
      __builtin_prefetch(reinterpret_cast<const void*>(mem + second_offset), kPack ? 0 : 1);
  }

  [[gnu::always_inline]] inline void move(uintptr_t mem, std::byte* packed) const {
    if constexpr (kPack) {
      __m512i v = _mm512_permutexvar_epi8(
          first_lanes, load<kFirst>(reinterpret_cast<const std::byte*>(mem), first_data));
      if constexpr (kSecond != 0) {
        v = _mm512_mask_permutexvar_epi8(
            v, second_packed, second_lanes,
            load<kSecond>(reinterpret_cast<const std::byte*>(mem + second_offset), second_data));
      }
      store<kPacked>(packed, all_packed, v);
    } else {
      const __m512i v = load<kPacked>(packed, all_packed);
      store<kFirst>(reinterpret_cast<std::byte*>(mem), first_data,
                    _mm512_permutexvar_epi8(first_lanes, v));
      if constexpr (kSecond != 0) {
        store<kSecond>(reinterpret_cast<std::byte*>(mem + second_offset), second_data,
                       _mm512_permutexvar_epi8(second_lanes, v));
      }
    }
  }

  const __m512i first_lanes;
  const __m512i second_lanes;
  const uint64_t first_data;
  const uint64_t second_data;
  const uint64_t second_packed;
  const uint64_t all_packed;
  const uintptr_t begin;
  const uintptr_t second_offset;
};

template <bool kPack, int64_t kFirst, int64_t kSecond, int64_t kPacked>
int move_elements(const Element& element, std::byte* origin, int64_t elements,
                  std::byte* packed) noexcept {
  const Moved<kPack, kFirst, kSecond, kPacked> one(element);
  const auto extent = static_cast<uintptr_t>(element.extent);
  const int64_t size = element.size;
  uintptr_t mem = reinterpret_cast<uintptr_t>(origin) + one.begin;
  const uintptr_t ahead = static_cast<uintptr_t>(kAhead) * extent;
  for (; elements > 0; --elements) {
    if (elements > kAhead) one.prefetch(mem + ahead);
    one.move(mem, packed);
    packed += size;
    mem += extent;
  }
  return 0;
}

template <bool kPack, int64_t kFirst, int64_t kSecond, int64_t kPacked>
void move_listed(const Element& element, std::byte* origin, const int64_t* offsets,
                 int64_t elements, std::byte* packed) noexcept {
  const Moved<kPack, kFirst, kSecond, kPacked> one(element);
  const int64_t size = element.size;
  const uintptr_t mem = reinterpret_cast<uintptr_t>(origin) + one.begin;
  const int64_t ahead = elements > kFarElements ? kFarAhead : kAhead;
  for (; elements > 0; --elements) {
    if (elements > ahead) one.prefetch(mem + static_cast<uintptr_t>(offsets[ahead]));
    one.move(mem + static_cast<uintptr_t>(*offsets++), packed);
    packed += size;
  }
}

// All functions of one direction, numbered by their three vector widths.
constexpr size_t kMovers = kVectorKinds * (kVectorKinds + 1) * kVectorKinds;
constexpr size_t mover_number(size_t first, size_t second, size_t packed) {
  return first + kVectorKinds * (second + (kVectorKinds + 1) * packed);
}
constexpr int64_t first_of(size_t number) { return kVectors[number % kVectorKinds]; }
constexpr int64_t second_of(size_t number) {
  const size_t kind = number / kVectorKinds % (kVectorKinds + 1);
  return kind == 0 ? 0 : kVectors[kind - 1];
}
constexpr int64_t packed_of(size_t number) {
  return kVectors[number / (kVectorKinds * (kVectorKinds + 1))];
}

template <bool kPack>
struct Movers {
  template <size_t... kNumber>
  constexpr explicit Movers(std::index_sequence<kNumber...> /*all*/)
      : fn{&move_elements<kPack, first_of(kNumber), second_of(kNumber), packed_of(kNumber)>...},
        listed{&move_listed<kPack, first_of(kNumber), second_of(kNumber), packed_of(kNumber)>...} {}
  PermuteFn fn[kMovers];
  ListedElementFn listed[kMovers];
};

}  // namespace
}  // namespace lacuna::kernels
HWY_POP_ATTRIBUTES
#endif

namespace lacuna {
namespace {

#if defined(__x86_64__)
// The index of the narrowest vector that holds `bytes`.
size_t vector_kind(int64_t bytes) {
  size_t kind = 0;
  while (kernels::kVectors[kind] < bytes) ++kind;
  return kind;
}

template <bool kPack>
void find_movers(const Element& element, PermuteFn* fn, ListedElementFn* listed) {
  static constexpr kernels::Movers<kPack> kAll{std::make_index_sequence<kernels::kMovers>()};
  const int64_t second = element.windows[1].bytes;
  const size_t number =
      kernels::mover_number(vector_kind(element.windows[0].bytes),
                            second == 0 ? 0 : 1 + vector_kind(second), vector_kind(element.size));
  *fn = kAll.fn[number];
  *listed = kAll.listed[number];
}
#else
template <bool kPack>
void find_movers(const Element&, PermuteFn*, ListedElementFn*) {}
#endif

}  // namespace

bool has_permutes() {
#if defined(__x86_64__)
  return x86_targets().avx3 && __builtin_cpu_supports("avx512vbmi");
#else
  return false;
#endif
}

Permutes make_permutes(std::span<const RecordRun> runs, int64_t extent) {
  if (!has_permutes()) return {};
  struct Byte {
    int64_t mem;
    int64_t packed;
  };
  std::vector<Byte> bytes;
  for (const RecordRun& run : runs) {
    if (run.bytes > Element::kBytes - static_cast<int64_t>(bytes.size())) return {};
    for (int64_t i = 0; i < run.bytes; ++i)
      bytes.push_back({run.mem_offset + i, static_cast<int64_t>(bytes.size())});
  }
  if (bytes.empty()) return {};
  // If runs overlap, the last packed one of the bytes at a place must stay in memory.
  std::stable_sort(bytes.begin(), bytes.end(),
                   [](const Byte& a, const Byte& b) { return a.mem < b.mem; });
  auto element = std::make_shared<Element>();
  element->extent = extent;
  element->size = static_cast<int64_t>(bytes.size());
  int64_t windows = 0;
  Element::Window* window = nullptr;
  for (const Byte& byte : bytes) {
    if (window == nullptr || byte.mem >= window->mem_offset + Element::kBytes) {
      if (windows == Element::kWindows) return {};
      window = &element->windows[windows++];
      window->mem_offset = byte.mem;
    }
    const int64_t at = byte.mem - window->mem_offset;
    window->bytes = at + 1;
    window->data |= uint64_t{1} << at;
    window->packed |= uint64_t{1} << byte.packed;
    window->gather[byte.packed] = static_cast<uint8_t>(at);
    window->scatter[at] = static_cast<uint8_t>(byte.packed);
  }
  Permutes moves;
  find_movers<true>(*element, &moves.pack, &moves.pack_listed);
  find_movers<false>(*element, &moves.unpack, &moves.unpack_listed);
  moves.element = std::move(element);
  moves.windows = windows;
  return moves;
}

}  // namespace lacuna
