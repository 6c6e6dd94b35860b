// SPDX-License-Identifier: BSD-3-Clause
//
// Which instruction sets this CPU and its operating system can run, by the conditions of Highway
// for its targets (detect_targets.h) but the compiler's detection, since Highway is used
// header-only. (F16C is left out: every CPU with AVX2 has it, and not every compiler knows the
// name.)
#ifndef LACUNA_ENGINE_BASE_X86_HPP_
#define LACUNA_ENGINE_BASE_X86_HPP_

#if defined(__x86_64__) || defined(__i386__)
namespace lacuna {

struct X86Targets {
  bool ssse3 = false;
  bool sse4 = false;
  bool avx2 = false;
  bool avx3 = false;
};

inline X86Targets x86_targets() {
  __builtin_cpu_init();
  X86Targets can;
  can.ssse3 = __builtin_cpu_supports("ssse3");
  can.sse4 = can.ssse3 && __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul") &&
             __builtin_cpu_supports("aes");
  can.avx2 = can.sse4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
             __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
  can.avx3 = can.avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl");
  return can;
}

}  // namespace lacuna
#endif

#endif  // LACUNA_ENGINE_BASE_X86_HPP_
