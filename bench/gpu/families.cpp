// SPDX-License-Identifier: BSD-3-Clause
#include "bench/gpu/cases.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "bench/gpu/rivals.hpp"

namespace lacuna::bench {
namespace {

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

}  // namespace

Case strided(int64_t run, int64_t stride, int64_t payload) {
  Case c;
  c.family = "strided";
  c.run = run;
  c.stride = stride;
  c.payload = payload;
  const int64_t n = payload / run;
  c.span = n * stride;
  c.touched = sectors(n, run, stride, &c.partly);
  const std::string text = "hvector(" + std::to_string(n) + ", " + std::to_string(run) + ", " +
                           std::to_string(stride) + ", byte)";
  need(lacuna_type_parse(text.c_str(), &c.type), "type");
  c.hand = [=](bool is_pack, std::byte* m, std::byte* p) {
    hand_strided(is_pack, m, p, n, run, stride, device.stream);
  };
  c.element = [=](bool is_pack, std::byte* m, std::byte* p) {
    element_strided(is_pack, m, p, n, run, stride, device.stream);
  };
  c.copy2d = [=](bool is_pack, std::byte* m, std::byte* p) {
    const auto r = static_cast<size_t>(run);
    const auto s = static_cast<size_t>(stride);
    return cudaMemcpy2DAsync(is_pack ? p : m, is_pack ? r : s, is_pack ? m : p, is_pack ? s : r, r,
                             static_cast<size_t>(n), cudaMemcpyDeviceToDevice,
                             device.stream) == cudaSuccess;
  };
  const int64_t some = std::min<int64_t>(n, 64);
  c.block_share = static_cast<double>(n) / static_cast<double>(some);
  c.blocks = [=](bool is_pack, std::byte* m, std::byte* p) {
    for (int64_t i = 0; i < some; ++i)
      need(cudaMemcpyAsync(is_pack ? p + i * run : m + i * stride,
                           is_pack ? m + i * stride : p + i * run, static_cast<size_t>(run),
                           cudaMemcpyDeviceToDevice, device.stream),
           "block");
  };
  return c;
}

// Runs in ascending order, `mean` apart in the mean, at multiples of 8.
Case listed(int64_t run, int64_t mean, int64_t payload) {
  Case c;
  c.family = "listed";
  c.run = run;
  c.stride = mean;
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
  need(cudaMemcpy(device.list, offsets.data(), offsets.size() * 8, cudaMemcpyHostToDevice), "list");
  lacuna_type* byte = nullptr;
  need(lacuna_type_parse("byte", &byte), "type");
  need(lacuna_type_hindexed_block(n, run, offsets.data(), byte, &c.type), "type");
  lacuna_type_destroy(byte);
  c.hand = [=](bool is_pack, std::byte* m, std::byte* p) {
    hand_listed(is_pack, m, p, n, run, device.list, device.stream);
  };
  c.element = [=](bool is_pack, std::byte* m, std::byte* p) {
    element_listed(is_pack, m, p, n, run, device.list, device.stream);
  };
  return c;
}

Case transposed(int64_t n) {
  Case c;
  c.family = "transposed";
  c.run = 8;
  c.stride = n * 8;
  c.payload = c.span = n * n * 8;
  c.touched = static_cast<double>(c.payload);
  const std::string s = std::to_string(n);
  need(lacuna_type_parse(("resized(0, 8, vector(" + s + ", 1, " + s + ", double))").c_str(),
                         &c.type),
       "type");
  c.count = n;
  c.hand = [=](bool is_pack, std::byte* m, std::byte* p) {
    hand_transpose(is_pack, m, p, n, device.stream);
  };
  c.element = [=](bool is_pack, std::byte* m, std::byte* p) {
    element_transpose(is_pack, m, p, n, device.stream);
  };
  return c;
}

// Records of a double and an int in 24 bytes.
Case records(int64_t payload) {
  Case c;
  c.family = "records";
  c.run = 12;
  c.stride = 24;
  const int64_t n = payload / 96 * 8;
  c.payload = n * 12;
  c.span = n * 24;
  c.touched = c.partly = static_cast<double>(c.span);
  need(lacuna_type_parse("resized(0, 24, struct([1, 1], [0, 16], [double, int]))", &c.type),
       "type");
  c.count = n;
  c.hand = [=](bool is_pack, std::byte* m, std::byte* p) {
    hand_record(is_pack, m, p, n, device.stream);
  };
  return c;
}

// A struct of two arrays' parts, in two pieces.
Case parts(int64_t payload) {
  Case c;
  c.family = "parts";
  c.run = 1024;
  c.stride = 2048;
  c.payload = payload;
  const int64_t n = payload / 4096 / 8;  // 4096 = 3 * 1024 + 1024
  const int64_t half = n * 8 * 3 * 2048;
  c.span = half + n * 8 * 2048;
  c.touched = static_cast<double>(payload);
  const std::string text = "struct([1, 1], [0, " + std::to_string(half) + "], [hvector(" +
                           std::to_string(24 * n) + ", 1024, 2048, byte), hvector(" +
                           std::to_string(16 * n) + ", 512, 1024, byte)])";
  need(lacuna_type_parse(text.c_str(), &c.type), "type");
  c.hand = [=](bool is_pack, std::byte* m, std::byte* p) {
    hand_strided(is_pack, m, p, 24 * n, 1024, 2048, device.stream);
    hand_strided(is_pack, m + half, p + 24 * n * 1024, 16 * n, 512, 1024, device.stream);
  };
  return c;
}

}  // namespace lacuna::bench
