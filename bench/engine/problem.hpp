// SPDX-License-Identifier: BSD-3-Clause
//
// Problem: a row of the corpus made ready to be packed: its type, the memory it describes, and what
// the packed bytes must be (from the typemap, the slow and obviously right way).
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
  bool is_far = false;        // out of the caches: its lines alone are timed, too
  std::string text;           // with index lists as lists.hpp describes them
};

// The rows of a file as `lacuna bench engine` writes it: id, count, flags ("s", "l", "f" or
// "-") and text, separated by tabs, one row a line.
Result<std::vector<Row>> read_rows(const std::string& path);

// Pages of its own, zero and touched.
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

// One run of the typemap, runs that continue each other in both memory and stream joined.
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
  // Offset 0 of the typemap, the address a program hands to MPI.
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

  // Data and gaps with bytes that depend on their place.
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

  // Takes both sides' lines (and what memcpy takes of the memory) out of all caches.
  void evict() const;

 private:
  Problem(const Row& row, TypePtr type, std::vector<Run> runs, int64_t first, int64_t end,
          int64_t packed_bytes);
  // Against bytes that the data's place in the memory, or in the stream, and a salt give.
  std::string compare_memory(bool by_place, unsigned data_salt, unsigned gap_salt) const;
  void find_lines();

  Row row_;
  TypePtr type_;
  std::vector<Run> runs_;
  int64_t first_;       // the least offset, less what keeps the buffer on a line
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
