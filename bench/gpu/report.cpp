// SPDX-License-Identifier: BSD-3-Clause
#include "bench/gpu/report.hpp"

#include <cstdio>

#include "bench/gpu/timing.hpp"

namespace lacuna::bench {

std::string quoted(const std::string& text) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') made += '\\';
    made += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return made + "\"";
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string object(const Members& members) {
  std::string text = "{";
  for (const auto& [name, value] : members)
    text += (text.size() > 1 ? ", " : "") + quoted(name) + ": " + value;
  return text + "}";
}

Members facts(const cudaDeviceProp& properties) {
  int driver = 0;
  int runtime = 0;
  size_t fetch = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  if (cudaDeviceGetLimit(&fetch, cudaLimitMaxL2FetchGranularity) != cudaSuccess) fetch = 64;
  char bus[32] = "";
  cudaDeviceGetPCIBusId(bus, sizeof bus, 0);
  const auto size = [](size_t bytes) { return std::to_string(bytes); };
  return {{"device", quoted(properties.name)},
          {"compute",
           quoted(std::to_string(properties.major) + "." + std::to_string(properties.minor))},
          {"multiprocessors", std::to_string(properties.multiProcessorCount)},
          {"memory_bytes", size(properties.totalGlobalMem)},
          {"l2_bytes", std::to_string(properties.l2CacheSize)},
          {"fetch_bytes", size(fetch)},
          {"pci", quoted(bus)},
          {"cuda_driver", std::to_string(driver)},
          {"cuda_runtime", std::to_string(runtime)}};
}

Report::Report(const char* path) {
  if (path == nullptr) return;
  file_ = std::fopen(path, "w");
  if (file_ != nullptr) return;
  std::fprintf(stderr, "lacuna-gpu-bench: cannot write %s\n", path);
  std::exit(2);
}

Report::~Report() {
  if (file_ != nullptr) std::fclose(file_);
}

void Report::line(const Members& members) {
  if (file_ == nullptr) return;
  std::fprintf(file_, "%s\n", object(members).c_str());
  std::fflush(file_);
}

void Report::header(const cudaDeviceProp& properties, size_t rows) {
  Members members = {{"kind", "\"header\""}, {"rows", std::to_string(rows)}};
  for (auto& fact : facts(properties)) members.push_back(std::move(fact));
  line(members);
  std::printf("%s, %d multiprocessors\n", properties.name, properties.multiProcessorCount);
  std::printf(
      "columns: row, payload, time, payload rate, share of touched sectors at memcpy's rate, the "
      "same with partly written sectors read; rivals' times over ours\n");
}

void Report::copy(size_t bytes, double us) {
  line({{"kind", "\"copy\""}, {"bytes", std::to_string(bytes)}, {"us", number(us)}});
  std::printf("memcpy of %.0f MiB: %.1f us, %.0f GB/s read and written\n",
              static_cast<double>(bytes) / kMiB, us, 2e-3 * static_cast<double>(bytes) / us);
}

void Report::row(const Case& c, bool is_pack, double own,
                 const std::vector<std::pair<std::string, double>>& rivals) {
  // A partly written sector is read first.
  const double bytes = static_cast<double>(c.payload) + c.touched + (is_pack ? 0 : c.partly);
  const double ceiling = copy_time((static_cast<double>(c.payload) + c.touched) / 2);
  const double with_reads = is_pack ? ceiling : copy_time(bytes / 2);
  std::printf("%-36s %8.3fM %-6s %8.1f us %6.0f GB/s %4.0f%% %4.0f%%", c.name.c_str(),
              static_cast<double>(c.payload) / kMiB, is_pack ? "pack" : "unpack", own,
              static_cast<double>(c.payload) / own / 1000, 100 * ceiling / own,
              100 * with_reads / own);
  for (const auto& [rival, time] : rivals) std::printf(" %s %.2f", rival.c_str(), time / own);
  std::printf("\n");
  Members times = {{"memcpy", number(copy_time(static_cast<double>(c.payload)))}};
  for (const auto& [rival, time] : rivals) times.push_back({rival, number(time)});
  line({{"kind", "\"row\""},
        {"row", quoted(c.name)},
        {"op", is_pack ? "\"pack\"" : "\"unpack\""},
        {"bytes", std::to_string(c.payload)},
        {"us", number(own)},
        {"ceiling_us", number(ceiling)},
        {"ceiling_with_reads_us", number(with_reads)},
        {"rivals_us", object(times)}});
}

void Report::left_out(const std::string& name, const std::string& why) {
  line({{"kind", "\"left_out\""}, {"row", quoted(name)}, {"why", quoted(why)}});
  std::printf("%s: left out: %s\n", name.c_str(), why.c_str());
}

void Report::small(const std::string& what, double value, const char* unit) {
  line({{"kind", "\"small\""},
        {"what", quoted(what)},
        {"value", number(value)},
        {"unit", quoted(unit)}});
  std::printf("%-44s %9.3f %s\n", what.c_str(), value, unit);
}

void Report::end(int wrong) {
  line({{"kind", "\"end\""}, {"wrong", std::to_string(wrong)}});
  std::printf("%d results were wrong\n", wrong);
}

}  // namespace lacuna::bench
