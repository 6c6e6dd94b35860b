// SPDX-License-Identifier: BSD-3-Clause
//
// Profile: a machine's numbers, where each comes from, and the file that they are kept in.
//
// The file is JSON, made by the probe (probe/main.cpp) for one CPU model:
//
//   {"lacuna_machine": 1, "cpu": "...",
//    "provenance": {"date": "...", "kernel": "...", "lacuna": "...", ...},
//    "numbers": {"line_bytes": {"value": 64, "source": "told", ...}, ...}, ...}
//
// "source" is default, told (by the system) or measured. Defaults are not read: the row in force
// has its own. Names are those of numbers.cpp; unknown names and all other members are ignored. A
// file that has another format, is of another CPU, or holds an impossible number, is ignored as a
// whole, with a sentence that says why: half a profile would be harder to understand than none.
#ifndef LACUNA_ENGINE_MACHINE_PROFILE_HPP_
#define LACUNA_ENGINE_MACHINE_PROFILE_HPP_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "machine/cpus.hpp"
#include "machine/machine.hpp"
#include "machine/numbers.hpp"

namespace lacuna {

struct Profile {
  Machine machine;
  std::vector<Source> sources = std::vector<Source>(machine_numbers().size(), Source::kDefault);
  CpuChoice row;          // whose habits are the defaults
  std::string cpu;        // the name of the model
  std::string path;       // the file that the numbers are from; empty: no file
  std::string complaint;  // why a file that is there was not used, and the remedy; or empty
  std::string date;       // of the measurement, as the file says
  std::string kernel;
  std::string lacuna;

  // Sets a number by its name in the table.
  void set(std::string_view name, double value, Source source);
};

// The version of the format, the value of "lacuna_machine".
inline constexpr int kProfileFormat = 1;

// The profile in force in this process, read once; machine() returns its numbers.
const Profile& host_profile();

// The profile without a file: what the C library and the kernel say, and the habits of a row.
Profile told_profile(const CpuChoice& cpu = cpu_in_force());

// Sets the thresholds that follow from other numbers, where they are not set themselves.
void derive_thresholds(Profile& profile);

// The name of a CPU model, from the text of /proc/cpuinfo, or from the machine name of uname.
std::string cpu_name(std::string_view cpuinfo, std::string_view machine_name);
const std::string& host_cpu();

// The size of the first CPU's L3, from /sys; 0: not known.
int64_t kernel_l3_bytes();
// Parses a size of /sys, "32768K"; 0: it is none.
int64_t cache_bytes(std::string_view text);

// The path of this host's profile: what LACUNA_PROFILE says, else a file named after the CPU in the
// user's cache folder. Empty if there is no such folder.
std::string profile_place();

// The path of "<kind>-<subject>.json" in the user's cache folder. Empty if there is no such folder.
std::string cache_place(std::string_view kind, std::string_view subject);
std::string default_cache_place(const char* xdg_cache_home, const char* home, std::string_view kind,
                                std::string_view subject);

// The profile in a text, over the `base` numbers. The error says what is wrong, without the path.
Result<Profile> parse_profile(std::string_view text, const Profile& base);

// The same from a file; LACUNA_UNSUPPORTED if there is none.
Result<Profile> read_profile(const std::string& path, const Profile& base);

// One JSON object: the numbers with units, meanings and sources, the file they are from, and what
// was wrong with it. `place`: the path of a new profile.
std::string report_json(const Profile& profile, std::string_view place);

}  // namespace lacuna

#endif  // LACUNA_ENGINE_MACHINE_PROFILE_HPP_
