// SPDX-License-Identifier: BSD-3-Clause
//
// The engine's families, each with a kernel that a good programmer would write for it.
#include <algorithm>
#include <utility>
#include <vector>

#include "bench/gpu/cases.hpp"
#include "bench/gpu/copies.hpp"
#include "bench/gpu/kernels/nests.hpp"
#include "bench/gpu/kernels/rivals.hpp"

namespace lacuna::bench {
namespace {

// The typemap of larger ones takes too long to make.
constexpr int64_t kMostOddMib = 16;

double sectors(int64_t runs, int64_t run, int64_t stride, double* partly) {
  // Runs begin at multiples of 8; how many sectors they touch, over a period.
  double all = 0;
  double part = 0;
  int64_t last = -1;
  const int64_t looked = std::min<int64_t>(runs, 4096);
  for (int64_t i = 0; i < looked; ++i) {
    for (int64_t s = i * stride / 32; s <= (i * stride + run - 1) / 32; ++s) {
      const int64_t low = std::max(s * 32, i * stride);
      const int64_t high = std::min(s * 32 + 32, i * stride + run);
      if (s != last) ++all;
      if (high - low < 32 && s != last) ++part;
      last = s;
    }
  }
  const double scale = static_cast<double>(runs) / static_cast<double>(looked);
  *partly = stride == run ? 0 : part * 32 * scale;
  return all * 32 * scale;
}

Case strided(int64_t run, int64_t stride, int64_t payload) {
  Case c;
  c.payload = payload;
  const int64_t n = payload / run;
  c.span = n * stride;
  c.touched = sectors(n, run, stride, &c.partly);
  const std::string text = "hvector(" + std::to_string(n) + ", " + std::to_string(run) + ", " +
                           std::to_string(stride) + ", byte)";
  need(lacuna_type_parse(text.c_str(), &c.type), "type");
  const Move element = [=](bool is_pack, std::byte* m, std::byte* p) {
    element_strided(is_pack, m, p, n, run, stride, device.stream);
    return true;
  };
  const Move hand = [=](bool is_pack, std::byte* m, std::byte* p) {
    hand_strided(is_pack, m, p, n, run, stride, device.stream);
    return true;
  };
  const bool is_power = (run & (run - 1)) == 0;
  c.reference = is_power ? hand : element;
  if (is_power) c.rivals.push_back({"hand", hand});
  c.rivals.push_back({"element", element});
  c.rivals.push_back({"2d", copy_2d(n, run, stride)});
  const int64_t some = std::min<int64_t>(n, kMostBlocks);
  std::vector<Block> blocks;
  for (int64_t i = 0; i < some; ++i) blocks.push_back({i * stride, i * run, run});
  c.rivals.push_back({"blocks", copy_blocks(std::move(blocks)),
                      static_cast<double>(n) / static_cast<double>(some), some * run});
  return c;
}

// Runs in ascending order, at a mean distance of `mean`, at multiples of 8.
Case listed(int64_t run, int64_t mean, int64_t payload) {
  Case c;
  c.payload = payload;
  const int64_t n = payload / run;
  std::vector<int64_t> offsets(static_cast<size_t>(n));
  uint64_t state = 12345;
  int64_t at = 0;
  int64_t last_sector = -1;
  const int64_t unit = run < 16 ? 8 : 16;
  for (int64_t& offset : offsets) {
    offset = at;
    state = state * 6364136223846793005u + 1442695040888963407u;
    // A gap of at least a unit, so that no two runs are one.
    at += run + unit +
          static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(2 * (mean - run) / unit - 1)) *
              unit;
    for (int64_t s = offset / 32; s <= (offset + run - 1) / 32; ++s) {
      const bool is_whole = s * 32 >= offset && s * 32 + 32 <= offset + run;
      if (s != last_sector) {
        c.touched += 32;
        if (!is_whole) c.partly += 32;
      }
      last_sector = s;
    }
  }
  c.span = at;
  const int64_t* const list = keep_table(offsets);
  lacuna_type* byte = nullptr;
  need(lacuna_type_parse("byte", &byte), "type");
  need(lacuna_type_hindexed_block(n, run, offsets.data(), byte, &c.type), "type");
  lacuna_type_destroy(byte);
  c.reference = [=](bool is_pack, std::byte* m, std::byte* p) {
    hand_listed(is_pack, m, p, n, run, list, device.stream);
    return true;
  };
  c.rivals.push_back({"hand", c.reference});
  c.rivals.push_back({"element", [=](bool is_pack, std::byte* m, std::byte* p) {
                        element_listed(is_pack, m, p, n, run, list, device.stream);
                        return true;
                      }});
  const int64_t some = std::min<int64_t>(n, kMostBlocks);
  std::vector<Block> blocks;
  for (int64_t i = 0; i < some; ++i)
    blocks.push_back({offsets[static_cast<size_t>(i)], i * run, run});
  c.rivals.push_back({"blocks", copy_blocks(std::move(blocks)),
                      static_cast<double>(n) / static_cast<double>(some), some * run});
  return c;
}

Case transposed(int64_t n) {
  Case c;
  c.payload = c.span = n * n * 8;
  c.touched = static_cast<double>(c.payload);
  const std::string s = std::to_string(n);
  need(lacuna_type_parse(("resized(0, 8, vector(" + s + ", 1, " + s + ", double))").c_str(),
                         &c.type),
       "type");
  c.count = n;
  c.reference = [=](bool is_pack, std::byte* m, std::byte* p) {
    hand_transpose(is_pack, m, p, n, n, n * 8, 8, device.stream);
    return true;
  };
  c.rivals.push_back({"hand", c.reference});
  c.rivals.push_back({"element", [=](bool is_pack, std::byte* m, std::byte* p) {
                        element_transpose(is_pack, m, p, n, device.stream);
                        return true;
                      }});
  return c;
}

// Records of a double and an int in 24 bytes.
Case records(int64_t payload) {
  Case c;
  const int64_t n = payload / 96 * 8;
  c.payload = n * 12;
  c.span = n * 24;
  c.touched = c.partly = static_cast<double>(c.span);
  need(lacuna_type_parse("resized(0, 24, struct([1, 1], [0, 16], [double, int]))", &c.type),
       "type");
  c.count = n;
  c.reference = [=](bool is_pack, std::byte* m, std::byte* p) {
    hand_record(is_pack, m, p, n, device.stream);
    return true;
  };
  c.rivals.push_back({"hand", c.reference});
  // A launch for each field.
  DeviceNest fields[2];
  for (int k = 0; k < 2; ++k) {
    DeviceNest& field = fields[k];
    field.loops = 1;
    field.counts[0] = n;
    field.mem_strides[0] = 24;
    field.packed_strides[0] = 12;
    field.mem = k == 0 ? 0 : 16;
    field.packed = k == 0 ? 0 : 8;
    field.bytes = k == 0 ? 8 : 4;
    field.total_bytes = n * field.bytes;
  }
  c.rivals.push_back({"element", [=](bool is_pack, std::byte* m, std::byte* p) {
                        for (const DeviceNest& field : fields)
                          element_nest(is_pack, m, p, field, 4, device.stream);
                        return true;
                      }});
  return c;
}

// A struct of the parts of two arrays.
Case parts(int64_t payload) {
  Case c;
  c.payload = payload;
  const int64_t n = payload / 4096 / 8;  // 4096 = 3 * 1024 + 1024
  const int64_t half = n * 8 * 3 * 2048;
  c.span = half + n * 8 * 2048;
  c.touched = static_cast<double>(payload);
  const std::string text = "struct([1, 1], [0, " + std::to_string(half) + "], [hvector(" +
                           std::to_string(24 * n) + ", 1024, 2048, byte), hvector(" +
                           std::to_string(16 * n) + ", 512, 1024, byte)])";
  need(lacuna_type_parse(text.c_str(), &c.type), "type");
  c.reference = [=](bool is_pack, std::byte* m, std::byte* p) {
    hand_strided(is_pack, m, p, 24 * n, 1024, 2048, device.stream);
    hand_strided(is_pack, m + half, p + 24 * n * 1024, 16 * n, 512, 1024, device.stream);
    return true;
  };
  c.rivals.push_back({"hand", c.reference});
  c.rivals.push_back({"element", [=](bool is_pack, std::byte* m, std::byte* p) {
                        element_strided(is_pack, m, p, 24 * n, 1024, 2048, device.stream);
                        element_strided(is_pack, m + half, p + 24 * n * 1024, 16 * n, 512, 1024,
                                        device.stream);
                        return true;
                      }});
  return c;
}

std::string name_of(const char* family, int64_t run, int64_t stride, int64_t mib) {
  return std::string(family) + "/" + std::to_string(run) + "-of-" + std::to_string(stride) + "-" +
         std::to_string(mib) + "M";
}

}  // namespace

std::vector<CaseMaker> family_rows(bool is_quick) {
  std::vector<CaseMaker> rows;
  const std::vector<int64_t> sizes =
      is_quick ? std::vector<int64_t>{1, 16, 256} : std::vector<int64_t>{1, 4, 16, 64, 256};
  for (const int64_t mib : sizes) {
    const auto payload = mib * static_cast<int64_t>(kMiB);
    const bool with_rivals = !is_quick || mib > 1;
    for (const int64_t run : {8, 16, 32, 64, 128, 256, 512, 1024, 4096}) {
      rows.push_back({name_of("strided", run, 2 * run, mib), with_rivals,
                      [=] { return strided(run, 2 * run, payload); }});
    }
    for (const auto& [run, stride] :
         {std::pair<int64_t, int64_t>{8, 24}, {8, 128}, {24, 40}, {40, 4096}}) {
      if (run == 40 && mib > 16) continue;
      rows.push_back({name_of("strided", run, stride, mib), with_rivals,
                      [=, r = run, s = stride] { return strided(r, s, payload / r * r); }});
    }
    for (const int64_t run : {8, 64, 512, 4096}) {
      rows.push_back({name_of("listed", run, 2 * run, mib), with_rivals,
                      [=] { return listed(run, 2 * run, payload); }});
    }
    if (mib <= kMostOddMib) {
      const auto runs = [&](int64_t run) {
        return "hvector(" + std::to_string(payload / run) + ", " + std::to_string(run) + ", " +
               std::to_string(2 * run) + ", byte)";
      };
      for (const int64_t run : {3, 25, 1001}) {
        const std::string name = name_of("odd", run, 2 * run, mib);
        rows.push_back(
            {name, with_rivals, [=, text = runs(run)] { return case_of(name, 1, text); }});
      }
      const std::string name = name_of("odd", 9, 16, mib);
      rows.push_back({name, with_rivals, [=] {
                        return case_of(name, payload / 9,
                                       "resized(0, 16, struct([1, 1], [0, 8], [char, double]))");
                      }});
    }
    rows.push_back({name_of("records", 12, 24, mib), true, [=] { return records(payload); }});
    rows.push_back({name_of("parts", 1024, 2048, mib), true, [=] { return parts(payload); }});
  }
  for (const int64_t n : {360, 720, 1440, 2048, 2880, 5760}) {
    if (is_quick && n == 720) continue;
    rows.push_back({"transposed/" + std::to_string(n), true, [=] { return transposed(n); }});
  }
  return rows;
}

}  // namespace lacuna::bench
