// SPDX-License-Identifier: BSD-3-Clause
//
// Cpus: a row of habits for each micro-architecture. Only this file looks at the CPU's maker, once;
// LACUNA_CPU=NAME selects another row, on any machine. A plan follows from the type, the row, the
// profile and the instruction set, and from nothing else.
#ifndef LACUNA_ENGINE_MACHINE_CPUS_HPP_
#define LACUNA_ENGINE_MACHINE_CPUS_HPP_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "machine/habits.hpp"

namespace lacuna {

// What CPUID says.
struct CpuId {
  enum class Maker : uint8_t { kOther, kAmd, kArm, kIntel };
  Maker maker = Maker::kOther;
  int family = 0;  // x86-64
  int model = 0;
};
CpuId host_cpu_id();

struct Cpu {
  std::string_view name;    // for LACUNA_CPU
  std::string_view origin;  // where the habits were measured
  bool (*match)(const CpuId& id);
  CpuHabits habits;
  // The raw event of perf_event_open that counts misses of the L2; 0: not known.
  uint64_t l2_miss_event = 0;
};

// The first is the generic one, which matches no CPU.
std::span<const Cpu> cpu_rows();
// The row of that name; null: there is none.
const Cpu* find_cpu_row(std::string_view name);

// A row, and why it was chosen.
struct CpuChoice {
  const Cpu* row = cpu_rows().data();
  std::string why;        // "LACUNA_CPU", "family 25 model 17", "no row matches family 24 model 1"
  std::string complaint;  // if no row has the wanted name; or empty
};
// `wanted`: the value of LACUNA_CPU, or empty.
CpuChoice choose_cpu(std::string_view wanted, const CpuId& id);

// The row in force in this process. Never fails.
const CpuChoice& cpu_in_force();

}  // namespace lacuna

#endif  // LACUNA_ENGINE_MACHINE_CPUS_HPP_
