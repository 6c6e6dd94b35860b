// SPDX-License-Identifier: BSD-3-Clause
#include "bench/engine/problem.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <utility>

#include "bench/engine/evict.hpp"
#include "bench/engine/lists.hpp"
#include "type/text/text.hpp"
#include "type/typemap.hpp"

namespace lacuna::bench {
namespace {

constexpr int64_t kLine = 64;
constexpr int64_t kPage = 4096;

int64_t round_down(int64_t value, int64_t multiple) {
  const int64_t rest = value % multiple;
  return value - (rest < 0 ? rest + multiple : rest);
}

std::vector<Run> joined(const std::vector<TypemapEntry>& entries) {
  std::vector<Run> runs;
  for (const TypemapEntry& entry : entries) {
    if (!runs.empty() && runs.back().offset + runs.back().bytes == entry.offset_bytes) {
      runs.back().bytes += entry.size_bytes;
    } else {
      runs.push_back({entry.offset_bytes, entry.size_bytes});
    }
  }
  return runs;
}

// A byte for an offset that differs from those of its neighbours and of offsets a power of two
// away.
constexpr uint64_t kMix = 0x9e3779b97f4a7c15U;
uint64_t mixed_at(int64_t place, unsigned salt) {
  return (static_cast<uint64_t>(place) + salt) * kMix;
}
std::byte byte_of(uint64_t mixed) { return static_cast<std::byte>(mixed >> 56); }
std::byte byte_at(int64_t place, unsigned salt) { return byte_of(mixed_at(place, salt)); }

// Fills the bytes of the offsets from `place` on. By additions, which compilers vectorise: a loop
// over single bytes was much of the time of checking all rows.
void fill(std::byte* to, int64_t bytes, int64_t place, unsigned salt) {
  uint64_t mixed = mixed_at(place, salt);
  for (int64_t i = 0; i < bytes; ++i, mixed += kMix) to[i] = byte_of(mixed);
}

// The index of the first byte that differs from fill()'s; `bytes` if none does. Blocks are compared
// as a whole first, which compilers vectorise.
int64_t first_other(const std::byte* in, int64_t bytes, int64_t place, unsigned salt) {
  constexpr int64_t kBlock = 256;
  std::byte want[kBlock];
  int64_t i = 0;
  for (; i + kBlock <= bytes; i += kBlock) {
    fill(want, kBlock, place + i, salt);
    if (std::memcmp(in + i, want, kBlock) != 0) break;
  }
  uint64_t mixed = mixed_at(place + i, salt);
  for (; i < bytes && in[i] == byte_of(mixed); ++i) mixed += kMix;
  return i;
}

std::string differs(const char* what, int64_t at) {
  return std::string(what) + " is wrong at byte " + std::to_string(at);
}

}  // namespace

Result<std::vector<Row>> read_rows(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream content;
  content << file.rdbuf();
  return parse_rows(content.str(), path);
}

Result<std::vector<Row>> parse_rows(const std::string& content, const std::string& path) {
  std::istringstream file(content);
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    Row row;
    std::vector<std::string> fields;
    size_t at = 0;
    for (int i = 0; i < 3; ++i) {
      const size_t tab = std::min(line.find('\t', at), line.size());
      fields.push_back(line.substr(at, tab - at));
      at = std::min(tab + 1, line.size());
    }
    row.id = fields[0];
    const char* end = fields[1].data() + fields[1].size();
    const auto read = std::from_chars(fields[1].data(), end, row.count);
    row.is_sliced = fields[2].find('s') != std::string::npos;
    row.is_lifecycle = fields[2].find('l') != std::string::npos;
    row.is_far = fields[2].find('f') != std::string::npos;
    row.text = line.substr(at);
    if (read.ptr != end || row.id.empty() || row.count < 0 || row.text.empty()) {
      return Error{LACUNA_PARSE_ERROR, path + ": not a row: " + line.substr(0, 80)};
    }
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return Error{LACUNA_INVALID_ARGUMENT, "no rows in " + path};
  return rows;
}

Pages::Pages(size_t bytes) : bytes_(std::max<size_t>(bytes, 1)) {
  void* got = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (got != MAP_FAILED) data_ = static_cast<std::byte*>(got);
}

Pages::~Pages() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

Problem::Problem(const Row& row, TypePtr type, std::vector<Run> runs, int64_t first, int64_t end,
                 int64_t packed_bytes)
    : row_(row),
      type_(std::move(type)),
      runs_(std::move(runs)),
      first_(round_down(first, kLine)),
      span_bytes_(end - first_),
      packed_bytes_(packed_bytes),
      // memcpy reads packed_bytes of it, which may be more than the span.
      mem_(static_cast<size_t>(std::max(span_bytes_, packed_bytes))),
      packed_(static_cast<size_t>(packed_bytes)) {
  find_lines();
}

Result<std::unique_ptr<Problem>> Problem::make(const Row& row) {
  auto text = expand_lists(row.text);
  if (!text) return text.error();
  auto type = parse_type(*text);
  if (!type) return type.error();
  auto entries = typemap(**type, row.count);
  if (!entries) return entries.error();
  if (entries->empty()) return Error{LACUNA_INVALID_ARGUMENT, "an empty type"};
  int64_t first = entries->front().offset_bytes;
  int64_t end = first;
  int64_t bytes = 0;
  for (const TypemapEntry& entry : *entries) {
    first = std::min(first, entry.offset_bytes);
    end = std::max(end, entry.offset_bytes + entry.size_bytes);
    bytes += entry.size_bytes;
  }
  std::unique_ptr<Problem> made(new Problem(row, *type, joined(*entries), first, end, bytes));
  if (made->mem_.data() == nullptr || made->packed_.data() == nullptr) {
    return Error{LACUNA_OUT_OF_MEMORY,
                 "no memory for " + std::to_string(made->span_bytes_ + bytes) + " bytes"};
  }
  return made;
}

void Problem::find_lines() {
  for (const Run& run : runs_) {
    const int64_t begin = round_down(run.offset, kLine);
    lines_.push_back({begin, round_down(run.offset + run.bytes + kLine - 1, kLine) - begin});
  }
  std::sort(lines_.begin(), lines_.end(),
            [](const Run& a, const Run& b) { return a.offset < b.offset; });
  size_t kept = 0;
  for (const Run& next : lines_) {
    Run& last = lines_[kept];
    if (next.offset <= last.offset + last.bytes) {
      last.bytes = std::max(last.bytes, next.offset + next.bytes - last.offset);
    } else {
      lines_[++kept] = next;
    }
  }
  lines_.resize(kept + 1);
  lines_.shrink_to_fit();
  int64_t page_end = INT64_MIN;
  for (const Run& run : lines_) {
    mem_lines_ += run.bytes / kLine;
    const int64_t begin = std::max(round_down(run.offset - first_, kPage), page_end);
    page_end = round_down(run.offset - first_ + run.bytes + kPage - 1, kPage);
    mem_pages_ += std::max<int64_t>(page_end - begin, 0) / kPage;
  }
}

void Problem::fill_memory(unsigned salt) const {
  fill(mem_.data(), static_cast<int64_t>(mem_.bytes()), 0, salt);
}

void Problem::fill_packed(unsigned salt) const { fill(packed_.data(), packed_bytes_, 0, salt); }

std::string Problem::check_packed(unsigned mem_salt) const {
  int64_t at = 0;
  for (const Run& run : runs_) {
    const int64_t same = first_other(packed_.data() + at, run.bytes, run.offset - first_, mem_salt);
    if (same < run.bytes) return differs("the packed stream", at + same);
    at += run.bytes;
  }
  return "";
}

std::string Problem::check_memory(unsigned packed_salt, unsigned mem_salt) const {
  return compare_memory(false, packed_salt, mem_salt);
}

std::string Problem::check_moved(unsigned data_salt, unsigned gap_salt) const {
  return compare_memory(true, data_salt, gap_salt);
}

std::string Problem::check_arrived(const Problem& from, unsigned mem_salt) const {
  std::vector<std::byte> stream;
  for (const Run& run : from.runs_) {
    for (int64_t i = 0; i < run.bytes; ++i)
      stream.push_back(byte_at(run.offset - from.first_ + i, mem_salt));
  }
  int64_t at = 0;
  for (const Run& run : runs_) {
    for (int64_t i = 0; i < run.bytes; ++i, ++at) {
      if (buffer()[run.offset + i] != stream[static_cast<size_t>(at)])
        return differs("the memory", run.offset + i);
    }
  }
  return "";
}

std::string Problem::check_dense(unsigned mem_salt) const {
  const int64_t same = first_other(mem_.data(), packed_bytes_, 0, mem_salt);
  return same < packed_bytes_ ? differs("the message", same) : "";
}

std::string Problem::compare_memory(bool by_place, unsigned data_salt, unsigned gap_salt) const {
  // The expected memory, in a second buffer: where a type overlaps itself, later runs win.
  const Pages expected(static_cast<size_t>(span_bytes_));
  if (expected.data() == nullptr) return "no memory to check with";
  fill(expected.data(), span_bytes_, 0, gap_salt);
  int64_t at = 0;
  for (const Run& run : runs_) {
    const int64_t place = run.offset - first_;
    fill(expected.data() + place, run.bytes, by_place ? place : at, data_salt);
    at += run.bytes;
  }
  if (std::memcmp(mem_.data(), expected.data(), static_cast<size_t>(span_bytes_)) == 0) return "";
  const auto [mem, want] = std::mismatch(mem_.data(), mem_.data() + span_bytes_, expected.data());
  (void)want;
  return differs("the memory", mem - mem_.data() + first_);
}

void Problem::evict() const {
  for (const Run& run : lines_) evict_lines(buffer() + run.offset, run.bytes);
  evict_lines(mem_.data(), packed_bytes_);
  evict_lines(packed_.data(), packed_bytes_);
  evict_done();
}

}  // namespace lacuna::bench
