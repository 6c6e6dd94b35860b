// SPDX-License-Identifier: BSD-3-Clause
//
// The CPU's name, the size of its L3, and where its profile is kept.
#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>

#include "base/options.hpp"
#include "machine/profile.hpp"

namespace lacuna {
namespace {

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

// The value of the first line "key : value".
std::string_view value_of(std::string_view cpuinfo, std::string_view key) {
  while (!cpuinfo.empty()) {
    const size_t end = cpuinfo.find('\n');
    const std::string_view line = cpuinfo.substr(0, end);
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos && trimmed(line.substr(0, colon)) == key)
      return trimmed(line.substr(colon + 1));
    cpuinfo.remove_prefix(end == std::string_view::npos ? cpuinfo.size() : end + 1);
  }
  return {};
}

// The beginning of a file of /proc or /sys. The kernel generates these while they are read: all of
// /proc/cpuinfo of a machine with 512 CPUs would take milliseconds.
std::string first_page(const char* path) {
  std::string text(4096, '\0');
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t got = read(file, text.data(), text.size());
  close(file);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return text;
}

// Letters and digits in lower case, everything else as single dashes.
std::string file_name_part(std::string_view text) {
  std::string part;
  for (const char c : text) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      part += c;
    } else if (c >= 'A' && c <= 'Z') {
      part += static_cast<char>(c - 'A' + 'a');
    } else if (!part.empty() && part.back() != '-') {
      part += '-';
    }
  }
  while (!part.empty() && part.back() == '-') part.pop_back();
  return part.substr(0, 180);
}

}  // namespace

// In virtual machines all CPUs of a maker often have one name: hence family, model and the like.
std::string cpu_name(std::string_view cpuinfo, std::string_view machine_name) {
  std::string name(value_of(cpuinfo, "model name"));
  if (name.empty()) name = machine_name;
  static constexpr const char* kNumbers[][2] = {
      {"cpu family", "family"},           {"model", "model"},         {"stepping", "stepping"},
      {"CPU implementer", "implementer"}, {"CPU variant", "variant"}, {"CPU part", "part"},
      {"CPU revision", "revision"}};
  for (const auto& [key, word] : kNumbers) {
    const std::string_view value = value_of(cpuinfo, key);
    if (!value.empty()) name += std::string(", ") + word + " " + std::string(value);
  }
  return name;
}

const std::string& host_cpu() {
  static const auto* const name = [] {
    utsname system = {};
    const bool is_named = uname(&system) == 0;
    return new std::string(
        cpu_name(first_page("/proc/cpuinfo"), is_named ? system.machine : "unknown"));
  }();
  return *name;
}

int64_t cache_bytes(std::string_view text) {
  int64_t kib = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), kib);
  if (error != std::errc() || end == text.data() + text.size() || *end != 'K') return 0;
  return kib > 0 && kib < int64_t{1} << 40 ? kib * 1024 : 0;
}

int64_t kernel_l3_bytes() {
  const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index3/";
  if (trimmed(first_page((folder + "level").c_str())) != "3") return 0;
  return cache_bytes(first_page((folder + "size").c_str()));
}

std::string default_cache_place(const char* xdg_cache_home, const char* home, std::string_view kind,
                                std::string_view subject) {
  std::string folder;
  if (xdg_cache_home != nullptr && xdg_cache_home[0] == '/') {  // XDG: ignore relative paths
    folder = xdg_cache_home;
  } else if (home != nullptr && home[0] == '/') {
    folder = std::string(home) + "/.cache";
  } else {
    return {};
  }
  return folder + "/lacuna/" + std::string(kind) + "-" + file_name_part(subject) + ".json";
}

std::string cache_place(std::string_view kind, std::string_view subject) {
  return default_cache_place(std::getenv("XDG_CACHE_HOME"), std::getenv("HOME"), kind, subject);
}

std::string profile_place() {
  const std::string& wanted = option_text(OptionId::kProfile);
  if (!wanted.empty() && wanted != "none") return wanted;
  return cache_place("machine", host_cpu());
}

}  // namespace lacuna
