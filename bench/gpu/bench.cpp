// SPDX-License-Identifier: BSD-3-Clause
//
// lacuna-gpu-bench: the speed of packing and unpacking in a device's memory. It is compared with
// the device's own copy of as many bytes as the payload and the touched sectors of 32 bytes, and
// with rivals: the copies of copies.hpp, the kernels of kernels/. Lacuna and each rival are checked
// before they are timed. `lacuna bench gpu` starts it.
//
//   lacuna-gpu-bench [--out FILE] [--rows FILE] [--only PATTERN]... [--quick] [--own] [--sectors]
//
// --rows: types from a file, before the engine's families. --only: rows of a family, or that match
// a pattern. --own: no rivals. --sectors: asks the device to fetch single sectors into its cache.
#include <fnmatch.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "bench/gpu/cases.hpp"
#include "bench/gpu/kernels/rivals.hpp"
#include "bench/gpu/report.hpp"
#include "bench/gpu/small.hpp"
#include "bench/gpu/timing.hpp"

namespace lacuna::bench {
namespace {

struct Options {
  const char* out = nullptr;
  const char* rows = nullptr;
  std::vector<std::string> only;
  bool is_quick = false;
  bool is_own = false;
};

bool is_equal(const std::byte* a, const std::byte* b, size_t bytes) {
  need(cudaMemsetAsync(device.differing, 0, 8, device.stream), "memset");
  compare(a, b, bytes, device.differing, device.stream);
  unsigned long long differing = 0;
  need(cudaMemcpyAsync(&differing, device.differing, 8, cudaMemcpyDeviceToHost, device.stream),
       "copy");
  need(cudaStreamSynchronize(device.stream), "a checked row");
  return differing == 0;
}

size_t rounded(int64_t bytes) { return (static_cast<size_t>(bytes) + 255) / 256 * 256; }

class Measured {
 public:
  explicit Measured(const Case& c)
      : c_(c), span_(rounded(c.span)), stream_bytes_(rounded(c.payload)) {}

  // Whether a way of moving the row gives the same as the reference; whole memories are compared.
  // Empty: it cannot do the row. A way that moves only a part is checked when it packs.
  std::optional<bool> is_right(const Move& move, bool is_pack, int64_t moved) const {
    std::byte* const m = device.mem - c_.low;
    if (is_pack) {
      fill(device.mem, span_, 1, device.stream);
      fill(device.packed, stream_bytes_, 2, device.stream);
      fill(device.other, stream_bytes_, 2, device.stream);
      c_.reference(true, m, device.packed);
      if (!move(true, m, device.other)) return std::nullopt;
      return is_equal(device.packed, device.other,
                      moved < 0 ? stream_bytes_ : static_cast<size_t>(moved));
    }
    fill(device.packed, stream_bytes_, 4, device.stream);
    if (moved >= 0) return true;
    fill(device.mem, span_, 3, device.stream);
    fill(device.mem + span_, span_, 3, device.stream);
    c_.reference(false, m, device.packed);
    if (!move(false, m + span_, device.packed)) return std::nullopt;
    return is_equal(device.mem, device.mem + span_, span_);
  }

  double time(const Move& move, bool is_pack) const {
    return time_of(
        [&](int i) {
          const auto n = static_cast<size_t>(i);
          move(is_pack, device.mem + span_ * (n % (kMemBytes / span_)) - c_.low,
               device.packed + stream_bytes_ * (n % (kPackedBytes / stream_bytes_)));
        },
        span_ + static_cast<size_t>(c_.payload));
  }

 private:
  const Case& c_;
  size_t span_;
  size_t stream_bytes_;
};

void measure(const CaseMaker& row, bool with_rivals, Report& report) {
  device.tables_used = 0;
  Case c = row.make();
  c.name = row.name;
  const auto end = [&] { lacuna_type_destroy(c.type); };
  if (!c.left_out.empty()) report.left_out(c.name, c.left_out);
  if (!c.reference) return end();
  if (rounded(c.span) * 2 > kMemBytes || rounded(c.payload) > kOtherBytes)
    return report.left_out(c.name, "it does not fit the bench's memory"), end();
  lacuna_gpu_plan* plan = nullptr;
  if (lacuna_gpu_plan_create(c.type, c.count, &plan) != LACUNA_OK)
    return report.left_out(c.name, lacuna_gpu_last_error()), end();
  const Move own = [&](bool is_pack, std::byte* mem, std::byte* packed) {
    need(is_pack ? lacuna_gpu_pack(plan, mem, 0, c.payload, packed, device.stream)
                 : lacuna_gpu_unpack(plan, packed, 0, c.payload, mem, device.stream),
         "lacuna");
    return true;
  };
  const Measured measured(c);
  const auto checked = [&](const std::string& who, const Move& move, bool is_pack, int64_t moved) {
    const auto right = measured.is_right(move, is_pack, moved);
    if (right && !*right) {
      ++device.failures;
      std::printf("WRONG: %s, %s by %s\n", c.name.c_str(), is_pack ? "pack" : "unpack",
                  who.c_str());
    }
    return right && *right;
  };
  for (const bool is_pack : {true, false}) {
    if (!checked("lacuna", own, is_pack, -1)) continue;
    const double time = measured.time(own, is_pack);
    std::vector<std::pair<std::string, double>> rivals;
    for (const Competitor& rival : c.rivals) {
      if (!with_rivals || !checked(rival.name, rival.move, is_pack, rival.moved)) continue;
      rivals.push_back({rival.name, rival.share * measured.time(rival.move, is_pack)});
    }
    report.row(c, is_pack, time, rivals);
  }
  lacuna_gpu_plan_destroy(plan);
  end();
}

bool is_asked(const std::string& name, const std::vector<std::string>& only) {
  return only.empty() || std::any_of(only.begin(), only.end(), [&](const std::string& pattern) {
           return fnmatch(pattern.c_str(), name.c_str(), 0) == 0 ||
                  name.compare(0, name.find('/'), pattern) == 0;
         });
}

int run(const Options& options) {
  const cudaDeviceProp properties = need_device("lacuna-gpu-bench");
  std::vector<CaseMaker> rows;
  if (options.rows != nullptr) rows = rows_of_file(options.rows);
  for (CaseMaker& row : family_rows(options.is_quick)) rows.push_back(std::move(row));
  std::erase_if(rows, [&](const CaseMaker& row) { return !is_asked(row.name, options.only); });
  Report report(options.out);
  take_memory();
  report.header(properties, rows.size());
  for (const size_t mib : {1, 4, 16, 64, 256})
    report.copy(mib * kMiB, copy_time(static_cast<double>(mib * kMiB)));
  for (const CaseMaker& row : rows) measure(row, row.with_rivals && !options.is_own, report);
  if (is_asked("small/messages", options.only)) small_messages(report);
  if (is_asked("small/mapped", options.only)) mapped_host(report);
  report.end(device.failures);
  return device.failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace lacuna::bench

int main(int argc, char** argv) {
  lacuna::bench::Options options;
  bool has_sectors = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool has_more = i + 1 < argc;
    if (word == "--quick") {
      options.is_quick = true;
    } else if (word == "--own") {
      options.is_own = true;
    } else if (word == "--sectors") {
      has_sectors = true;
    } else if (word == "--out" && has_more) {
      options.out = argv[++i];
    } else if (word == "--rows" && has_more) {
      options.rows = argv[++i];
    } else if (word == "--only" && has_more) {
      options.only.emplace_back(argv[++i]);
    } else {
      std::fprintf(
          stderr,
          "lacuna-gpu-bench: %s is no option; usage: lacuna-gpu-bench [--out FILE] [--rows "
          "FILE] [--only PATTERN]... [--quick] [--own] [--sectors]\n",
          argv[i]);
      return 2;
    }
  }
  if (has_sectors) {
    lacuna::bench::need_device("lacuna-gpu-bench");
    lacuna::bench::need(cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, 32), "limit");
  }
  return lacuna::bench::run(options);
}
