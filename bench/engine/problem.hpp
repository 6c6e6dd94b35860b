// SPDX-License-Identifier: BSD-3-Clause
//
// Problem: a row of the corpus, ready to be packed: its type, the memory it describes, and the
// expected packed bytes (from the typemap, which is slow and obviously right).
#ifndef LACUNA_BENCH_ENGINE_PROBLEM_HPP_
#define LACUNA_BENCH_ENGINE_PROBLEM_HPP_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "type/type.hpp"

namespace lacuna::bench {

struct Row {
  std::string id;
  int64_t count = 1;
  bool is_sliced = false;     // also packed in slices
  bool is_lifecycle = false;  // also made, packed and freed as one
  bool is_far = false;        // its data are in DRAM: touching its cache lines is timed, too
  std::string text;           // with index lists as lists.hpp describes them
};

// The rows of a file as `lacuna bench engine` writes it: id, count, flags ("s", "l", "f" or
// "-") and text, separated by tabs, one row a line.
Result<std::vector<Row>> read_rows(const std::string& path);
// The same of what is in it, where somebody else has read it.
Result<std::vector<Row>> parse_rows(const std::string& content, const std::string& path);

// Private pages, which are zero and have been touched.
class Pages {
 public:
  explicit Pages(size_t bytes);
  ~Pages();
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  std::byte* data() const { return data_; }  // nullptr: no memory
  size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  size_t bytes_;
};

// One run of the typemap. Runs that continue each other in memory and in the stream are joined.
struct Run {
  int64_t offset;
  int64_t bytes;
};

class Problem {
 public:
  static Result<std::unique_ptr<Problem>> make(const Row& row);

  const Row& row() const { return row_; }
  const TypePtr& type() const { return type_; }
  int64_t count() const { return row_.count; }
  int64_t packed_bytes() const { return packed_bytes_; }

  std::byte* packed() const { return packed_.data(); }
  // Offset 0 of the typemap, the address that a program passes to MPI.
  std::byte* buffer() const { return mem_.data() - first_; }
  // The memory's first packed_bytes(), for a copy without gaps.
  std::byte* dense() const { return mem_.data(); }

  // The data's runs, in the stream's order.
  const std::vector<Run>& in_order() const { return runs_; }
  int64_t runs() const { return static_cast<int64_t>(runs_.size()); }
  // The 64-byte lines that hold data: what any way of moving it must touch.
  int64_t mem_lines() const { return mem_lines_; }
  int64_t packed_lines() const { return (packed_bytes_ + 63) / 64; }
  int64_t mem_pages() const { return mem_pages_; }  // of 4 KiB
  int64_t span_bytes() const { return span_bytes_; }

  // Fills data and gaps with bytes that depend on their offset and the salt.
  void fill_memory(unsigned salt) const;
  void fill_packed(unsigned salt) const;
  // Whether packed() is what packing memory of that salt must give. Empty, or what is wrong.
  std::string check_packed(unsigned mem_salt) const;
  // Whether the data is packed() of that salt, and every gap still memory of the other.
  std::string check_memory(unsigned packed_salt, unsigned mem_salt) const;
  // Whether the data is that of memory of one salt, and every gap that of the other.
  std::string check_moved(unsigned data_salt, unsigned gap_salt) const;
  // Whether the data is that of another problem's memory of that salt, in the stream's order.
  std::string check_arrived(const Problem& from, unsigned mem_salt) const;
  // Whether dense() is that of memory of that salt.
  std::string check_dense(unsigned mem_salt) const;

  // Evicts the cache lines of both sides (and those that memcpy reads) from all caches.
  void evict() const;

 private:
  Problem(const Row& row, TypePtr type, std::vector<Run> runs, int64_t first, int64_t end,
          int64_t packed_bytes);
  // Compares with bytes that depend on the offset in memory (`by_place`), or in the stream, and a
  // salt.
  std::string compare_memory(bool by_place, unsigned data_salt, unsigned gap_salt) const;
  void find_lines();

  Row row_;
  TypePtr type_;
  std::vector<Run> runs_;
  int64_t first_;       // the lowest offset, rounded down to a cache line
  int64_t span_bytes_;  // from there to the end
  int64_t packed_bytes_;
  Pages mem_;
  Pages packed_;
  std::vector<Run> lines_;  // runs of lines of the memory, each once
  int64_t mem_lines_ = 0;
  int64_t mem_pages_ = 0;
};

}  // namespace lacuna::bench

#endif  // LACUNA_BENCH_ENGINE_PROBLEM_HPP_
