// SPDX-License-Identifier: BSD-3-Clause
//
// The SIMD kernels, compiled once per instruction set by Highway (foreach_target includes this file
// again for each), and the list of those that this host can run. Highway is used header-only: its
// run-time library would be a second shared object in every process that preloads lacuna, so the
// CPU is detected here (docs/decisions/0001-highway-for-simd.md).
// SVE2 and the SVE targets of fixed length have no further instructions that move bytes. SSE4
// compiles to nearly the same code as SSSE3 (docs/experiments/2026-11-26-kernel-choices.md).
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
#include "kernels/kernel.hpp"
#include "kernels/record/permutes.hpp"
#include "kernels/record/record.hpp"
#include "kernels/record/words.hpp"
#include "kernels/scratch.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// For lambdas, the innermost moves: with many of them the compiler stops inlining, and a call for
// each run takes longer than the run.
#ifndef LACUNA_INLINE
#define LACUNA_INLINE __attribute__((always_inline))
#endif

HWY_BEFORE_NAMESPACE();
namespace lacuna::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
// clang-format off: each uses the one before
#include "kernels/rows.inl.hpp"
#include "kernels/strided/small_copy.inl.hpp"
#include "kernels/strided/copy.inl.hpp"
#include "kernels/strided/strided.inl.hpp"
#include "kernels/strided/short_rows.inl.hpp"
#include "kernels/strided/strided_any.inl.hpp"
#include "kernels/record/passes.inl.hpp"
#include "kernels/list/listed.inl.hpp"
// clang-format on
#if !HWY_HAVE_SCALABLE  // tiles and tables are arrays of vectors; scalable vectors cannot be in one
// clang-format off: each uses the one before
#include "kernels/transpose/tile.inl.hpp"
#include "kernels/transpose/transpose_pieces.inl.hpp"
#include "kernels/transpose/transpose_any.inl.hpp"
#include "kernels/transpose/transpose.inl.hpp"
#include "kernels/record/shuffles.inl.hpp"
// clang-format on
#endif
#if HWY_TARGET == HWY_AVX3  // masked stores of AVX2 are slow on some CPUs
#include "kernels/record/tables.inl.hpp"
#endif

constexpr std::string_view kIsa = HWY_TARGET == HWY_SSSE3  ? "ssse3"
                                  : HWY_TARGET == HWY_AVX2 ? "avx2"
                                  : HWY_TARGET == HWY_AVX3 ? "avx512"
                                  : HWY_TARGET == HWY_NEON ? "neon"
                                  : HWY_TARGET == HWY_SVE  ? "sve"
                                                           : "simd";

// The narrowest lanes that can be permuted. Single bytes need VBMI, which all but the first AVX-512
// CPUs have.
inline int64_t table_lane() {
#if HWY_TARGET == HWY_AVX3
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512vbmi") ? 1 : 2;
#else
  return 4;
#endif
}

// The entries of one loop, by width: 1, 2, 4, 8, 16, any.
struct Entries {
  KernelFn of[kWidths];
};

void set(KernelTable& table, Strategy strategy, Entries entries) {
  std::copy_n(entries.of, kWidths, table.fn[static_cast<int>(strategy)]);
}
void set_any(KernelTable& table, Strategy strategy, KernelFn fn) {
  table.fn[static_cast<int>(strategy)][static_cast<int>(Width::kAny)] = fn;
}

KernelTable make_table() {
  KernelTable t{.isa = kIsa};
  set(t, Strategy::kStrided,
      {{&strided<1>, &strided<2>, &strided<4>, &strided<8>, &strided<16>, &strided_any}});
  set(t, Strategy::kOneLoad,
      {{&one_load<1>, &one_load<2>, &one_load<4>, &one_load<8>, &one_load<16>, &one_load_line}});
  set(t, Strategy::kShortRows,
      {{&short_rows<1>, &short_rows<2>, &short_rows<4>, &short_rows<8>, &short_rows<16>, nullptr}});
  set(t, Strategy::kRepeated,
      {{&repeated<1>, &repeated<2>, &repeated<4>, &repeated<8>, &repeated<16>, &repeated_any}});
  set(t, Strategy::kSpaced,
      {{&spaced<1>, &spaced<2>, &spaced<4>, &spaced<8>, &spaced<16>, &spaced_line}});
  set_any(t, Strategy::kNarrow, &narrow);
  set_any(t, Strategy::kVectors, &vectors);
  set_any(t, Strategy::kLines, &by_lines);
  set_any(t, Strategy::kLibrary, &library);
  set_any(t, Strategy::kNonTemporal, &non_temporal);
  set(t, Strategy::kGather,
      {{&listed<1, false>, &listed<2, false>, &listed<4, false>, &listed<8, false>,
        &listed<16, false>, &listed_any<false>}});
  set(t, Strategy::kGatherInOrder,
      {{&gather_in_order<1>, &gather_in_order<2>, &gather_in_order<4>, &gather_in_order<8>}});
  set(t, Strategy::kScatter,
      {{&listed<1, true>, &listed<2, true>, &listed<4, true>, &listed<8, true>, &listed<16, true>,
        &listed_any<true>}});
  set_any(t, Strategy::kGatherRuns, &listed_runs<false>);
  set_any(t, Strategy::kScatterRuns, &listed_runs<true>);
  set_any(t, Strategy::kGatherRecord, &record_passes<false>);
  set_any(t, Strategy::kScatterRecord, &record_passes<true>);
  set_any(t, Strategy::kGatherWords, &record_words<false>);
  set_any(t, Strategy::kScatterWords, &record_words<true>);
  set_any(t, Strategy::kGatherMoveList, &record_move_list<false>);
  set_any(t, Strategy::kScatterMoveList, &record_move_list<true>);
#if !HWY_HAVE_SCALABLE
  set(t, Strategy::kTranspose,
      {{&transpose<1>, &transpose<2>, &transpose<4>, &transpose<8>, &transpose<16>,
        table_lane() == 1 ? &transpose_any<true> : &transpose_any<false>}});
  set_any(t, Strategy::kGatherShuffled, &gather_shuffled);
  t.shuffles = true;
#endif
#if HWY_TARGET == HWY_AVX3
  set(t, Strategy::kGatherLanes,
      {{nullptr, nullptr, &listed<4, false, true>, &listed<8, false, true>}});
  set(t, Strategy::kGatherTable,
      {{&gather_table<TableLanes<uint8_t>>, &gather_table<TableLanes<uint16_t>>,
        &gather_table<TableLanes<uint32_t>>}});
  set(t, Strategy::kScatterTable,
      {{&scatter_table<TableLanes<uint8_t>>, &scatter_table<TableLanes<uint16_t>>,
        &scatter_table<TableLanes<uint32_t>>}});
  set_any(t, Strategy::kGatherPermuted, &record_permutes<false>);
  set_any(t, Strategy::kScatterPermuted, &record_permutes<true>);
  t.table_bytes = TableLanes<uint32_t>::kBytes;
  t.masks = true;
  t.elements = has_permutes();
  t.copy_near = &copy_near;
#endif
  t.table_lane = table_lane();
  t.half_line_moves = HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3;
  t.words = true;
  t.copy_past = &copy_past;
  t.fence_past = &fence_past;
  return t;
}

const KernelTable& table() {
  static const KernelTable kTable = make_table();
  return kTable;
}
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
        for (const Strategy strategy : {Strategy::kTranspose, Strategy::kGatherShuffled}) {
          const auto at = static_cast<size_t>(strategy);
          std::copy_n(N_NEON::table().fn[at], kWidths, sve.fn[at]);
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
