// SPDX-License-Identifier: BSD-3-Clause
//
// Asks the C library and the kernel for what the host knows about itself, lets the profile of this
// CPU override it, and keeps the defaults for what neither says. No hwloc here: this runs inside
// other people's processes (docs/decisions/0007).
#include "machine/machine.hpp"

#include <unistd.h>

#include "base/options.hpp"
#include "base/x86.hpp"
#include "machine/profile.hpp"

namespace lacuna {
namespace {

constexpr std::string_view kNone = "none";  // LACUNA_PROFILE=none

void take(int name, std::string_view number, Profile& profile) {
  const long answer = sysconf(name);
  if (answer > 0) profile.set(number, static_cast<double>(answer), Source::kTold);
}

// Reads the profile of this host over what the C library tells.
Profile load() {
  Profile told = told_profile();
  const std::string& wanted = option_text(OptionId::kProfile);
  if (wanted == kNone) return told;
  const std::string path = profile_place();
  if (path.empty()) return told;
  Result<Profile> read = read_profile(path, told);
  if (read) return std::move(read).value();
  // That nothing was measured yet is no complaint.
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
  if (is_default("ask_bytes")) m.ask_bytes = is_amd() ? 2 * m.l2_bytes : m.l1_bytes;
  if (is_default("ask_runs") && is_amd()) m.ask_runs = 32;
  if (is_default("ask_level") && is_amd()) m.ask_level = 2;
  if (is_default("store_bytes")) {
    const bool is_known = is_measured("l1_write_bytes_per_ns") && is_measured("cycle_ns");
    const double in_a_cycle = m.speed(Level::kL1).write_bytes_per_ns * m.cycle_ns;
    m.store_bytes = (is_known ? in_a_cycle < 48 : is_amd_before_zen5()) ? 32 : 64;
  }
  const bool writes_lines = m.store_bytes >= m.line_bytes;  // at once: Zen 5
  if (is_default("early_stores")) m.early_stores = !is_amd() ? 0 : writes_lines ? 8 : 3;
  if (is_default("pace_cycles") && is_amd()) m.pace_cycles = 8;
  if (is_default("library_run_bytes") && is_amd()) m.library_run_bytes = 3072;
  if (is_default("one_by_one_bytes") && is_amd()) m.one_by_one_bytes = 64;
  if (is_default("one_by_one_least_bytes") && is_amd()) m.one_by_one_least_bytes = 64;
  if (is_default("learned_stride_bytes") && is_amd()) m.learned_stride_bytes = 128;
  if (is_default("one_by_one_lines") && is_amd())
    m.one_by_one_lines = 2 * m.l2_bytes / m.line_bytes;
  if (is_default("ask_stride_bytes") && is_amd()) m.ask_stride_bytes = 96;
  if (is_default("vector_bytes") && is_amd()) m.vector_bytes = 32;
  if (is_default("tile_rows") && is_amd()) m.tile_rows = int64_t{1} << 20;
  if (is_default("four_lines_bytes") && is_amd()) m.four_lines_bytes = int64_t{16} << 20;
  if (is_default("four_lines_narrow_bytes")) {
    const bool takes_all = is_amd() && !writes_lines;
    m.four_lines_narrow_bytes = takes_all ? int64_t{1} << 40 : m.four_lines_bytes / 4;
  }
}

Profile told_profile() {
  Profile profile;
  profile.cpu = host_cpu();
  take(_SC_PAGESIZE, "page_bytes", profile);
#ifdef _SC_LEVEL1_DCACHE_LINESIZE  // glibc; answers 0 where it does not know (most AArch64 systems)
  take(_SC_LEVEL1_DCACHE_LINESIZE, "line_bytes", profile);
  take(_SC_LEVEL1_DCACHE_SIZE, "l1_bytes", profile);
  take(_SC_LEVEL2_CACHE_SIZE, "l2_bytes", profile);
  take(_SC_LEVEL3_CACHE_SIZE, "l3_bytes", profile);
#endif
  // glibc adds up all of an AMD package: 384 MiB where a core reaches 32.
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
