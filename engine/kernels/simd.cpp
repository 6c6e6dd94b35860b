// SPDX-License-Identifier: BSD-3-Clause
//
// The SIMD kernels, compiled once per instruction set by Highway (foreach_target includes this file
// again for each), and the list of those that this host can run. Highway is used header-only: its
// run-time library would be a second shared object in every process that preloads lacuna, so the
// CPU is detected here (docs/decisions/0001-highway-for-simd.md).
// SVE2 and the SVE targets of fixed length have no further instructions that move bytes. SSE4
// compiles to the same code as SSSE3, but for a few dozen instructions.
#if !defined(HWY_DISABLED_TARGETS)
#if defined(__aarch64__)
#define HWY_DISABLED_TARGETS (HWY_SVE2 | HWY_SVE2_128 | HWY_SVE_256)
#elif defined(__x86_64__)
#define HWY_DISABLED_TARGETS (HWY_SSE4)
#endif
#endif
#ifndef HWY_IS_DEBUG_BUILD
#define HWY_IS_DEBUG_BUILD 0  // its asserts would need its run-time library
#endif
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <type_traits>
#include <utility>

#include "base/x86.hpp"
#include "kernels/element.hpp"
#include "kernels/fields.hpp"
#include "kernels/kernel.hpp"
#include "kernels/scratch.hpp"
#include "kernels/words.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// For lambdas, the innermost moves: with many of them the compiler stops inlining, and a call for
// each run takes three times as long as the run.
#ifndef LACUNA_INLINE
#define LACUNA_INLINE __attribute__((always_inline))
#endif

HWY_BEFORE_NAMESPACE();
namespace lacuna::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
// clang-format off: each uses the one before
#include "kernels/rows.inl.hpp"
#include "kernels/small_copy.inl.hpp"
#include "kernels/copy.inl.hpp"
#include "kernels/strided.inl.hpp"
#include "kernels/short_rows.inl.hpp"
#include "kernels/strided_any.inl.hpp"
#include "kernels/listed.inl.hpp"
// clang-format on
#if !HWY_HAVE_SCALABLE  // tiles and tables are arrays of vectors; scalable vectors cannot be in one
// clang-format off: each uses the one before
#include "kernels/tile.inl.hpp"
#include "kernels/transpose_pieces.inl.hpp"
#include "kernels/transpose_any.inl.hpp"
#include "kernels/transpose.inl.hpp"
// clang-format on
#define LACUNA_TRANSPOSE(width) &transpose<width>
#define LACUNA_TRANSPOSE_ANY(permutes_bytes) &transpose_any<permutes_bytes>
#else
#define LACUNA_TRANSPOSE(width) nullptr
#define LACUNA_TRANSPOSE_ANY(permutes_bytes) nullptr
#endif

#if !HWY_HAVE_SCALABLE
#include "kernels/shuffles.inl.hpp"
#endif
#if HWY_TARGET == HWY_AVX3
#include "kernels/fields.inl.hpp"
constexpr int64_t kFieldBytes = FieldLanes<uint32_t>::kBytes;
#define LACUNA_GATHER_FIELDS &gather_fields
#define LACUNA_SCATTER_FIELDS &scatter_fields
#else  // masked stores of AVX2 are slow on some CPUs
constexpr int64_t kFieldBytes = 0;
#if HWY_HAVE_SCALABLE
#define LACUNA_GATHER_FIELDS &by_field<false>
#else
#define LACUNA_GATHER_FIELDS &gather_shuffled
#endif
#define LACUNA_SCATTER_FIELDS &by_field<true>
#endif

constexpr std::string_view kIsa = HWY_TARGET == HWY_SSSE3  ? "ssse3"
                                  : HWY_TARGET == HWY_AVX2 ? "avx2"
                                  : HWY_TARGET == HWY_AVX3 ? "avx3"
                                  : HWY_TARGET == HWY_NEON ? "neon"
                                  : HWY_TARGET == HWY_SVE  ? "sve"
                                                           : "simd";

// The narrowest lanes that can be permuted. Single bytes need VBMI, which all but the first AVX-512
// CPUs have.
inline int64_t field_lane() {
#if HWY_TARGET == HWY_AVX3
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512vbmi") ? 1 : 2;
#else
  return 4;
#endif
}

const KernelTable& table() {
  static const KernelTable kTable = {
      kIsa,
      {{&strided<1>, &strided<2>, &strided<4>, &strided<8>, &strided<16>, &strided_any},
       {LACUNA_TRANSPOSE(1), LACUNA_TRANSPOSE(2), LACUNA_TRANSPOSE(4), LACUNA_TRANSPOSE(8),
        LACUNA_TRANSPOSE(16),
        field_lane() == 1 ? LACUNA_TRANSPOSE_ANY(true) : LACUNA_TRANSPOSE_ANY(false)},
       {&listed<1, false>, &listed<2, false>, &listed<4, false>, &listed<8, false>,
        &listed<16, false>, &listed_any<false>},
       {&listed<1, true>, &listed<2, true>, &listed<4, true>, &listed<8, true>, &listed<16, true>,
        &listed_any<true>},
       {nullptr, nullptr, nullptr, nullptr, nullptr, &listed_runs<false>},
       {nullptr, nullptr, nullptr, nullptr, nullptr, &listed_runs<true>},
       {nullptr, nullptr, nullptr, nullptr, nullptr, LACUNA_GATHER_FIELDS},
       {nullptr, nullptr, nullptr, nullptr, nullptr, LACUNA_SCATTER_FIELDS}},
      kFieldBytes,
      field_lane(),
      !HWY_HAVE_SCALABLE,
      HWY_TARGET == HWY_AVX3,
      HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3,
      HWY_TARGET == HWY_AVX3 && has_element_moves(),
      true,
#if HWY_TARGET == HWY_AVX3
      {nullptr, nullptr, &listed<4, false, true>, &listed<8, false, true>, nullptr, nullptr},
      &copy_near,
#else
      {},
      nullptr,
#endif
      &copy_past,
      &fence_past};
  return kTable;
}
#undef LACUNA_GATHER_FIELDS
#undef LACUNA_SCATTER_FIELDS
#undef LACUNA_TRANSPOSE
#undef LACUNA_TRANSPOSE_ANY
#endif

}  // namespace lacuna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/tables.hpp"
#if HWY_ARCH_ARM_A64 && HWY_OS_LINUX
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace lacuna::kernels {

std::span<const KernelTable* const> simd_tables() {
  static const struct Supported {
    Supported() {
#if HWY_ARCH_X86
      [[maybe_unused]] const X86Targets can = x86_targets();
#if HWY_TARGETS & HWY_AVX3
      if (can.avx3) tables[count++] = &N_AVX3::table();
#endif
#if HWY_TARGETS & HWY_AVX2
      if (can.avx2) tables[count++] = &N_AVX2::table();
#endif
#if HWY_TARGETS & HWY_SSSE3
      if (can.ssse3) tables[count++] = &N_SSSE3::table();
#endif
#elif HWY_TARGETS & HWY_NEON
#if HWY_TARGETS & HWY_SVE
      if ((getauxval(AT_HWCAP) & HWCAP_SVE) != 0) {
        // SVE has no transposes and shuffles; those of NEON serve.
        sve = N_SVE::table();
        for (const Shape shape : {Shape::kTranspose, Shape::kGatherFields}) {
          const auto of_shape = static_cast<size_t>(shape);
          std::copy_n(N_NEON::table().fn[of_shape], kWidths, sve.fn[of_shape]);
        }
        sve.shuffles = true;
        tables[count++] = &sve;
      }
#endif
      tables[count++] = &N_NEON::table();  // part of the AArch64 baseline
#endif
    }
    const KernelTable* tables[8] = {};
    size_t count = 0;
    KernelTable sve = {};
  } supported;
  return {supported.tables, supported.count};
}

}  // namespace lacuna::kernels
#endif  // HWY_ONCE
