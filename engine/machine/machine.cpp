// SPDX-License-Identifier: BSD-3-Clause
//
// Puts the numbers together: what the C library and the kernel say, the habits of the CPU's row,
// and the profile of this CPU, which overrides both. The rest keeps its default. No hwloc here:
// this runs inside other people's processes (docs/decisions/0007).
#include "machine/machine.hpp"

#include <unistd.h>

#include "base/options.hpp"
#include "machine/profile.hpp"

namespace lacuna {
namespace {

constexpr std::string_view kNone = "none";  // LACUNA_PROFILE=none

void take(int name, std::string_view number, Profile& profile) {
  const long answer = sysconf(name);
  if (answer > 0) profile.set(number, static_cast<double>(answer), Source::kTold);
}

// The profile of this host, over what the C library says; without a usable file, the latter alone.
Profile load() {
  Profile told = told_profile();
  const std::string& wanted = option_text(OptionId::kProfile);
  if (wanted == kNone) return told;
  const std::string path = profile_place();
  if (path.empty()) return told;
  Result<Profile> read = read_profile(path, told);
  if (read) return std::move(read).value();
  // No complaint if there is no profile yet and none was asked for by LACUNA_PROFILE.
  if (read.error().status == LACUNA_UNSUPPORTED && wanted.empty()) return told;
  told.complaint = "the machine profile " + path + " is not used: " + read.error().message +
                   "; remedy: lacuna machine --measure";
  return told;
}

}  // namespace

void Profile::set(std::string_view name, double value, Source source) {
  const int index = find_number(name);
  if (index < 0) return;
  machine_numbers()[static_cast<size_t>(index)].set(machine, value);
  sources[static_cast<size_t>(index)] = source;
}

void derive_thresholds(Profile& profile) {
  const auto source = [&](std::string_view name) {
    return profile.sources[static_cast<size_t>(find_number(name))];
  };
  const auto is_default = [&](std::string_view name) { return source(name) == Source::kDefault; };
  const auto is_measured = [&](std::string_view name) { return source(name) == Source::kMeasured; };
  Machine& m = profile.machine;
  if (is_default("stream_run_bytes")) m.stream_run_bytes = m.l3_bytes / 2;
  if (is_default("prefetch_from_bytes"))
    m.prefetch_from_bytes = m.hides_l2_misses ? 2 * m.l2_bytes : m.l1_bytes;
  if (is_default("learned_lines") && m.unrolled_from_l2s > 0)
    m.learned_lines = m.unrolled_from_l2s * m.l2_bytes / m.line_bytes;
  if (is_default("store_bytes") && is_measured("l1_write_bytes_per_ns") &&
      is_measured("cycle_ns")) {
    const double in_a_cycle = m.speed(Level::kL1).write_bytes_per_ns * m.cycle_ns;
    m.store_bytes = in_a_cycle < 48 ? 32 : 64;
  }
}

Profile told_profile(const CpuChoice& cpu) {
  Profile profile;
  profile.row = cpu;
  static_cast<CpuHabits&>(profile.machine) = cpu.row->habits;
  profile.cpu = host_cpu();
  take(_SC_PAGESIZE, "page_bytes", profile);
#ifdef _SC_LEVEL1_DCACHE_LINESIZE  // glibc; answers 0 where it does not know (most AArch64 systems)
  take(_SC_LEVEL1_DCACHE_LINESIZE, "line_bytes", profile);
  take(_SC_LEVEL1_DCACHE_SIZE, "l1_bytes", profile);
  take(_SC_LEVEL2_CACHE_SIZE, "l2_bytes", profile);
  take(_SC_LEVEL3_CACHE_SIZE, "l3_bytes", profile);
#endif
  // glibc says the sum of an AMD package: 384 MiB where a core reaches 32.
  if (const int64_t l3_bytes = kernel_l3_bytes(); l3_bytes > profile.machine.l2_bytes)
    profile.set("l3_bytes", static_cast<double>(l3_bytes), Source::kTold);
  derive_thresholds(profile);
  return profile;
}

const Profile& host_profile() {
  static const Profile* const host = new Profile(load());
  return *host;
}

const Machine& machine() { return host_profile().machine; }

}  // namespace lacuna
