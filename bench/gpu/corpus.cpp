// SPDX-License-Identifier: BSD-3-Clause
//
// Rows of the corpus on a device: their runs from the typemap, which all results are checked with,
// and rivals made of the loops that an application would write.
#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "bench/engine/lists.hpp"
#include "bench/engine/rivals/by_hand_shape.hpp"
#include "bench/gpu/cases.hpp"
#include "bench/gpu/copies.hpp"
#include "bench/gpu/kernels/nests.hpp"
#include "bench/gpu/kernels/rivals.hpp"
#include "type/text/text.hpp"
#include "type/typemap.hpp"

namespace lacuna::bench {
namespace {

constexpr int64_t kSector = 32;
constexpr int64_t kMostStructWords = 4096;
constexpr int64_t kLeastOfTiles = 8;

[[noreturn]] void stop(const std::string& name, const std::string& what) {
  std::fprintf(stderr, "lacuna-gpu-bench: %s: %s\n", name.c_str(), what.c_str());
  std::exit(4);
}

// Runs of the typemap; runs that continue each other are joined.
std::vector<Block> runs_of(const std::string& name, const Type& type, int64_t count) {
  const auto entries = typemap(type, count);
  if (!entries) stop(name, entries.error().message);
  std::vector<Block> runs;
  int64_t packed = 0;
  for (const TypemapEntry& entry : *entries) {
    if (!runs.empty() && runs.back().mem + runs.back().bytes == entry.offset_bytes) {
      runs.back().bytes += entry.size_bytes;
    } else {
      runs.push_back({entry.offset_bytes, packed, entry.size_bytes});
    }
    packed += entry.size_bytes;
  }
  return runs;
}

void count_sectors(std::vector<Block> runs, Case& c) {
  std::sort(runs.begin(), runs.end(), [](const Block& a, const Block& b) { return a.mem < b.mem; });
  int64_t touched = 0;
  int64_t partly = 0;
  int64_t next = INT64_MIN;
  for (size_t i = 0; i < runs.size();) {
    const int64_t begin = runs[i].mem - c.low;
    int64_t end = begin + runs[i].bytes;
    for (++i; i < runs.size() && runs[i].mem - c.low <= end; ++i)
      end = std::max(end, runs[i].mem - c.low + runs[i].bytes);
    const int64_t first = begin / kSector;
    const int64_t after = (end - 1) / kSector + 1;
    touched += after - first - (first < next ? 1 : 0);
    if (first >= next && (begin % kSector != 0 || end < (first + 1) * kSector)) ++partly;
    if (after - first > 1 && end % kSector != 0) ++partly;
    next = after;
  }
  c.touched = static_cast<double>(touched * kSector);
  c.partly = static_cast<double>(partly * kSector);
}

// The device's form of a nest; `structs` repeats a field for each struct.
struct Made {
  DeviceNest nest;
  int64_t places = 0;  // the bitwise or of all offsets and lengths
};

int64_t run_bytes(const LoopNest& nest) {
  if (nest.lengths.empty()) return nest.bytes;
  int64_t sum = 0;
  for (const int64_t length : nest.lengths) sum += length;
  return sum;
}

std::optional<Made> made_of(const LoopNest& from, const HandShape& shape, int64_t packed,
                            int64_t struct_bytes) {
  Made made;
  DeviceNest& nest = made.nest;
  nest.mem = from.offset;
  nest.packed = packed;
  nest.bytes = run_bytes(from);
  int64_t each = nest.bytes;
  std::vector<int64_t> at = from.at;
  nest.entry_packed = from.bytes;
  if (shape.structs > 1 && !shape.at.empty()) {
    at = shape.at;
    nest.entry_packed = struct_bytes;
  }
  made.places = nest.mem | packed | nest.entry_packed | (from.lengths.empty() ? nest.bytes : 0);
  if (!at.empty()) {
    nest.entries = static_cast<int64_t>(at.size());
    nest.at = keep_table(at);
    if (nest.at == nullptr) return std::nullopt;
    for (const int64_t place : at) made.places |= place;
    if (from.lengths.empty()) each *= nest.entries;
  }
  if (!from.lengths.empty()) {
    std::vector<int64_t> starts = {0};
    for (const int64_t length : from.lengths) starts.push_back(starts.back() + length);
    for (const int64_t start : starts) made.places |= start;
    nest.starts = keep_table(starts);
    if (nest.starts == nullptr) return std::nullopt;
  }
  std::vector<LoopNest::Loop> loops = from.loops;
  const bool repeats = shape.structs > 1 && shape.at.empty();
  if (repeats) loops.insert(loops.begin(), {shape.structs, shape.extent});
  if (loops.size() > kMostNestLoops) return std::nullopt;
  nest.loops = static_cast<int>(loops.size());
  for (int k = nest.loops - 1; k >= 0; --k) {
    const LoopNest::Loop& loop = loops[static_cast<size_t>(k)];
    nest.counts[k] = loop.count;
    nest.mem_strides[k] = loop.stride;
    nest.packed_strides[k] = k == 0 && repeats ? struct_bytes : each;
    made.places |= loop.stride | nest.packed_strides[k];
    each *= loop.count;
  }
  nest.total_bytes = each;
  return made;
}

// The widest words, of at most `most` bytes, that divide all offsets.
int width_of(int64_t places, int most) {
  int width = 1;
  while (2 * width <= most && places % (2 * width) == 0) width *= 2;
  return width;
}

bool is_transpose(const HandShape& shape) {
  if (shape.structs > 1 || shape.nests.size() != 1) return false;
  const LoopNest& nest = shape.nests[0];
  return nest.at.empty() && nest.loops.size() == 2 && nest.loops[0].stride == nest.bytes &&
         nest.loops[1].stride >= 2 * nest.bytes && nest.loops[1].stride % nest.bytes == 0 &&
         nest.offset % nest.bytes == 0 && nest.loops[0].count >= kLeastOfTiles &&
         nest.loops[1].count >= kLeastOfTiles &&
         (nest.bytes == 4 || nest.bytes == 8 || nest.bytes == 16);
}

// A kernel that moves an array of structs by a table of the words of one struct. Null: there are
// too many words, or a member is not a run of bytes.
Move hand_of_structs(const HandShape& shape) {
  int64_t places = shape.extent;
  for (const LoopNest& nest : shape.nests) places |= nest.offset | nest.bytes;
  for (const int64_t at : shape.at) places |= at;
  const int width = width_of(places, 8);
  std::vector<int64_t> words;
  for (const LoopNest& nest : shape.nests) {
    for (int64_t i = 0; i < nest.bytes; i += width) words.push_back(nest.offset + i);
    if (static_cast<int64_t>(words.size()) > kMostStructWords) return nullptr;
  }
  const int64_t* const table = keep_table(words);
  const int64_t* const at = shape.at.empty() ? nullptr : keep_table(shape.at);
  if (table == nullptr || (at == nullptr && !shape.at.empty())) return nullptr;
  const auto n = static_cast<int64_t>(words.size());
  return [=, structs = shape.structs, extent = shape.extent](bool is_pack, std::byte* m,
                                                             std::byte* p) {
    hand_structs(is_pack, m, p, structs, n, width, extent, table, at, device.stream);
    return true;
  };
}

void add_shaped_rivals(const HandShape& shape, Case& c) {
  int64_t struct_bytes = 0;
  for (const LoopNest& nest : shape.nests) struct_bytes += run_bytes(nest);
  std::vector<std::pair<DeviceNest, std::pair<int, int>>> nests;  // and widths: by hand, element
  int64_t packed = 0;
  for (const LoopNest& nest : shape.nests) {
    const auto made = made_of(nest, shape, packed, struct_bytes);
    if (!made) {
      c.left_out = "hand, element: its loops or lists do not fit theirs";
      return;
    }
    packed += shape.structs > 1 ? run_bytes(nest) : made->nest.total_bytes;
    const int element = static_cast<int>(std::min<int64_t>(nest.unit, 8));
    nests.push_back({made->nest, {width_of(made->places, 16), width_of(made->places, element)}});
  }
  Move hand = [=](bool is_pack, std::byte* m, std::byte* p) {
    for (const auto& [nest, widths] : nests)
      hand_nest(is_pack, m, p, nest, widths.first, device.stream);
    return true;
  };
  if (is_transpose(shape)) {
    const LoopNest nest = shape.nests[0];
    hand = [=](bool is_pack, std::byte* m, std::byte* p) {
      hand_transpose(is_pack, m + nest.offset, p, nest.loops[0].count, nest.loops[1].count,
                     nest.loops[1].stride, nest.bytes, device.stream);
      return true;
    };
  } else if (shape.structs > 1) {
    if (Move structs = hand_of_structs(shape)) hand = std::move(structs);
  }
  c.rivals.push_back({"hand", std::move(hand)});
  c.rivals.push_back({"element", [=](bool is_pack, std::byte* m, std::byte* p) {
                        for (const auto& [nest, widths] : nests)
                          element_nest(is_pack, m, p, nest, widths.second, device.stream);
                        return true;
                      }});
}

void add_copies(const std::vector<Block>& runs, Case& c) {
  bool is_2d = runs.size() > 1;
  for (size_t i = 1; i < runs.size() && is_2d; ++i) {
    is_2d = runs[i].bytes == runs[0].bytes &&
            runs[i].mem - runs[i - 1].mem == runs[1].mem - runs[0].mem;
  }
  if (is_2d && runs[1].mem - runs[0].mem >= runs[0].bytes) {
    c.rivals.push_back({"2d", copy_2d(static_cast<int64_t>(runs.size()), runs[0].bytes,
                                      runs[1].mem - runs[0].mem, runs[0].mem)});
  }
  const size_t some = std::min<size_t>(runs.size(), kMostBlocks);
  const Block& last = runs[some - 1];
  c.rivals.push_back({"blocks",
                      copy_blocks({runs.begin(), runs.begin() + static_cast<ptrdiff_t>(some)}),
                      static_cast<double>(runs.size()) / static_cast<double>(some),
                      some == runs.size() ? -1 : last.packed + last.bytes});
}

}  // namespace

Case case_of(const std::string& name, int64_t count, const std::string& given) {
  Case c;
  const auto text = expand_lists(given);
  if (!text) stop(name, text.error().message);
  const auto type = parse_type(*text);
  if (!type) stop(name, type.error().message);
  need(lacuna_type_parse(text->c_str(), &c.type), "type");
  c.count = count;
  const std::vector<Block> runs = runs_of(name, **type, count);
  if (runs.empty()) {
    c.left_out = "it has no data";
    return c;
  }
  int64_t low = 0;
  int64_t high = 0;
  std::vector<int64_t> places;
  std::vector<int64_t> offsets;
  for (const Block& run : runs) {
    low = std::min(low, run.mem);
    high = std::max(high, run.mem + run.bytes);
    places.push_back(run.mem);
    offsets.push_back(run.packed);
  }
  c.low = -((255 - low) / 256 * 256);
  c.span = high - c.low;
  c.payload = runs.back().packed + runs.back().bytes;
  offsets.push_back(c.payload);
  count_sectors(runs, c);
  const int64_t* const at = keep_table(places);
  const int64_t* const in_stream = keep_table(offsets);
  if (at == nullptr || in_stream == nullptr) {
    c.left_out = "its lists do not fit the bench's memory";
    return c;
  }
  const auto n = static_cast<int64_t>(runs.size());
  c.reference = [=](bool is_pack, std::byte* m, std::byte* p) {
    move_runs(is_pack, m, p, n, at, in_stream, device.stream);
    return true;
  };
  if (const auto shape = hand_shape(**type, count)) add_shaped_rivals(*shape, c);
  add_copies(runs, c);
  return c;
}

std::vector<CaseMaker> rows_of_file(const char* path) {
  std::ifstream file(path);
  if (!file) stop(path, "cannot be read");
  std::vector<CaseMaker> rows;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::string count;
    std::string flags;
    std::string text;
    if (!std::getline(words, name, '\t') || !std::getline(words, count, '\t') ||
        !std::getline(words, flags, '\t') || !std::getline(words, text))
      stop(path, "line " + std::to_string(rows.size() + 1) + " is no row");
    const int64_t elements = std::strtoll(count.c_str(), nullptr, 10);
    rows.push_back({name, true, [=] { return case_of(name, elements, text); }});
  }
  return rows;
}

}  // namespace lacuna::bench
