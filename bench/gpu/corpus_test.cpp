// SPDX-License-Identifier: BSD-3-Clause
//
// The rows of the corpus as in `lacuna bench gpu`, on the host: the rivals' loops, widths and
// tables are compared with runs from the typemap. The kernels' functions for offsets are used; the
// copies are made here word by word.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "bench/gpu/cases.hpp"
#include "bench/gpu/kernels/nest_places.hpp"
#include "bench/gpu/kernels/rivals.hpp"

namespace lacuna::bench {
namespace {

std::vector<std::unique_ptr<std::vector<int64_t>>> kept_tables;
std::set<std::string> seen;

void move(bool is_pack, std::byte* mem, std::byte* packed, int64_t bytes) {
  std::memcpy(is_pack ? packed : mem, is_pack ? mem : packed, static_cast<size_t>(bytes));
}

template <int kWidth, typename Number>
void move_nest(bool is_pack, std::byte* mem, std::byte* packed, const DeviceNest& nest) {
  struct Word {
    std::byte bytes[static_cast<size_t>(kWidth)];
  };
  for (int64_t i = 0; i < nest.total_bytes / kWidth; ++i) {
    int64_t m = 0;
    int64_t p = 0;
    locate<Word, Number>(nest, nest.loops, static_cast<Number>(i), &m, &p);
    ASSERT_EQ(m % kWidth, 0);
    ASSERT_EQ(p % kWidth, 0);
    move(is_pack, mem + m, packed + p, kWidth);
  }
}

template <typename Number>
void move_nest_of(bool is_pack, std::byte* mem, std::byte* packed, const DeviceNest& nest,
                  int width) {
  switch (width) {
    case 1:
      return move_nest<1, Number>(is_pack, mem, packed, nest);
    case 2:
      return move_nest<2, Number>(is_pack, mem, packed, nest);
    case 4:
      return move_nest<4, Number>(is_pack, mem, packed, nest);
    case 8:
      return move_nest<8, Number>(is_pack, mem, packed, nest);
    default:
      return move_nest<16, Number>(is_pack, mem, packed, nest);
  }
}

}  // namespace

// Replacements on the host for functions of the device that corpus.cpp calls.
const int64_t* keep_table(const std::vector<int64_t>& values) {
  kept_tables.push_back(std::make_unique<std::vector<int64_t>>(values));
  return kept_tables.back()->data();
}

void hand_nest(bool is_pack, std::byte* mem, std::byte* packed, const DeviceNest& nest, int width,
               cudaStream_t) {
  seen.insert(nest.starts != nullptr ? "ragged list" : nest.at != nullptr ? "list" : "loops");
  move_nest_of<uint32_t>(is_pack, mem, packed, nest, width);
}

void element_nest(bool is_pack, std::byte* mem, std::byte* packed, const DeviceNest& nest,
                  int width, cudaStream_t) {
  move_nest_of<uint64_t>(is_pack, mem, packed, nest, width);
}

void hand_structs(bool is_pack, std::byte* mem, std::byte* packed, int64_t structs, int64_t words,
                  int width, int64_t extent, const int64_t* places, const int64_t* at,
                  cudaStream_t) {
  seen.insert(at != nullptr ? "listed structs" : "structs");
  for (int64_t i = 0; i < structs * words; ++i) {
    const int64_t record = i / words;
    move(is_pack, mem + (at != nullptr ? at[record] : record * extent) + places[i % words],
         packed + i * width, width);
  }
}

void hand_transpose(bool is_pack, std::byte* mem, std::byte* packed, int64_t near, int64_t far,
                    int64_t pitch, int64_t bytes, cudaStream_t) {
  seen.insert("transpose");
  for (int64_t x = 0; x < near; ++x) {
    for (int64_t y = 0; y < far; ++y)
      move(is_pack, mem + y * pitch + x * bytes, packed + (x * far + y) * bytes, bytes);
  }
}

void move_runs(bool is_pack, std::byte* mem, std::byte* packed, int64_t n, const int64_t* places,
               const int64_t* offsets, cudaStream_t) {
  for (int64_t i = 0; i < n; ++i)
    move(is_pack, mem + places[i], packed + offsets[i], offsets[i + 1] - offsets[i]);
}

namespace {

TEST(GpuCorpus, RivalsMoveWhatTheTypemapSays) {
  for (const char* text :
       {"vector(40, 3, 7, double)", "hvector(5, 1, 4000, vector(11, 3, 32, float))",
        "resized(0, 8, vector(24, 1, 24, double))",
        "indexed_block(2, sorted(50, 90, 1, 2), double)",
        "indexed(lengths(30, 1, 9, 1), starts(30, 1, 9, 4, 1), int)",
        "resized(0, 16, struct([1, 1], [0, 8], [char, double]))",
        "indexed_block(1, random(40, 60, 3), struct([1, 1], [0, 8], [double, int]))",
        "struct([1, 1], [0, 8192], [vector(9, 2, 5, double), hvector(7, 1, 100, float)])",
        "hvector(60, 25, 50, byte)", "hvector(9, 1, -48, vector(4, 1, 2, int))"}) {
    kept_tables.clear();
    const Case c = case_of("test/row", std::string(text).find("resized") == 0 ? 20 : 1, text);
    ASSERT_GT(c.payload, 0) << text;
    EXPECT_GE(c.touched, static_cast<double>(c.payload));
    EXPECT_LE(c.partly, c.touched);
    const auto span = static_cast<size_t>(c.span);
    const auto bytes = static_cast<size_t>(c.payload);
    std::vector<std::byte> mem(span);
    for (size_t i = 0; i < span; ++i) mem[i] = static_cast<std::byte>(i * 2654435761u >> 13);
    std::vector<std::byte> want(bytes);
    c.reference(true, mem.data() - c.low, want.data());
    std::vector<std::byte> unpacked(span, std::byte{7});
    c.reference(false, unpacked.data() - c.low, want.data());
    std::set<std::string> names;
    for (const Competitor& rival : c.rivals) {
      names.insert(rival.name);
      if (rival.name == "2d" || rival.name == "blocks") continue;  // these are the runtime's
      std::vector<std::byte> got(bytes);
      rival.move(true, mem.data() - c.low, got.data());
      EXPECT_EQ(got, want) << text << ": " << rival.name;
      std::vector<std::byte> back(span, std::byte{7});
      rival.move(false, back.data() - c.low, want.data());
      EXPECT_EQ(back, unpacked) << text << ": " << rival.name;
    }
    for (const char* name : {"hand", "element", "blocks"})
      EXPECT_TRUE(names.contains(name)) << text << ": " << name;
    lacuna_type_destroy(c.type);
  }
  EXPECT_EQ(seen, (std::set<std::string>{"ragged list", "list", "loops", "listed structs",
                                         "structs", "transpose"}));
}

}  // namespace
}  // namespace lacuna::bench

// For need(): no call here fails.
const char* lacuna_gpu_last_error(void) { return ""; }
