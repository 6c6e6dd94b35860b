// SPDX-License-Identifier: BSD-3-Clause
#include "plan/cost/cycles.hpp"

#include <algorithm>

namespace lacuna {
namespace {

// The reference's loops call a copy of unknown length for each run.
constexpr double kReferenceRun = 6;

double count(int64_t n) { return static_cast<double>(n); }

}  // namespace

int64_t vector_bytes(const KernelTable& kernels) {
  if (kernels.isa == "reference") return 0;
  if (kernels.isa == "avx512") return 64;
  if (kernels.isa == "avx2") return 32;
  return 16;
}

// Checked from 64 bytes to 4 KiB: a branch by length, then a loop or a string instruction.
double memcpy_cycles(int64_t bytes) { return bytes < 256 ? 3 : 12; }

// Nearly two stores of up to 16 bytes a cycle. copy.inl.hpp has the classes of widths.
double run_cycles(int64_t bytes, int64_t vector_bytes) {
  if (vector_bytes == 0) return kReferenceRun + count(bytes) / 16;
  if (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16) return 0.75;
  if (bytes <= 32) return 1.4;
  if (bytes <= 96) return 1 + 0.5 * count((bytes + 15) / 16);
  return 4 + count(bytes) / count(vector_bytes / 2);
}

int length_kind(int64_t bytes) {
  int kind = 0;
  for (const int64_t most : {1, 3, 7, 16, 32, 64}) kind += bytes > most ? 1 : 0;
  return kind;
}

// A tile of vectors is loaded, shuffled log2(elements of a vector) times and stored.
double transpose_cycles(int64_t width, int64_t vector_bytes) {
  if (vector_bytes == 0) return kReferenceRun;
  // Through a buffer (transpose_any.inl.hpp): a move for each element, then whole lines.
  if (width_class(width) == Width::kAny) return 1.7 + 0.1 * count(width);
  double cycles_a_byte = 0.1;
  if (width == 1) cycles_a_byte = 0.3;
  if (width == 2) cycles_a_byte = 0.25;
  if (width == 4) cycles_a_byte = 0.11;
  if (width == 8) cycles_a_byte = 0.08;
  if (width == 16) cycles_a_byte = 0.06;
  const double narrower = vector_bytes >= 64 || width <= 2 ? 1 : 64 / count(vector_bytes);
  return cycles_a_byte * narrower * count(width);
}

double table_cycles(const RecordTable& table, bool is_pack) {
  if (table.steps.empty()) return 0;
  const double elements = count(table.elements);
  const double steps = count(static_cast<int64_t>(table.steps.size()));
  // Up to six steps are kept in registers (tables.inl.hpp). The numbers here and below:
  // docs/experiments/2026-11-29-cycles-of-records.md.
  if (!is_pack) return steps * (steps <= 6 ? 2.8 : 4.4) / elements;
  const double loads = count(table.steps_per_store);
  const double vectors = steps / loads;
  if (table.shuffles) return vectors * (1 + 0.7 * loads) / elements;
  return vectors * (1.05 * loads + (vectors > 1 ? 2.3 : 1.1)) / elements;
}

double element_cycles(const Record& fields, int64_t in_row, bool is_pack, int64_t vector_bytes) {
  const RecordTable& table = is_pack ? fields.gather : fields.scatter;
  if (is_pack ? fields.gather_permuted : fields.scatter_permuted)
    return 1.9 * static_cast<double>(fields.permutes.windows);
  if (!table.steps.empty() && in_row >= table.least) return table_cycles(table, is_pack);
  if (goes_by_list(fields, in_row))
    return kListedCycles * count(fields.list.size()) +
           kRowCycles / count(std::max<int64_t>(in_row, 1));
  double cycles = 0;
  for (const RecordRun& field : fields.runs) cycles += run_cycles(field.bytes, vector_bytes);
  // A pass for each field.
  return cycles + kRowCycles * count(static_cast<int64_t>(fields.runs.size())) /
                      count(std::max<int64_t>(in_row, 1));
}

}  // namespace lacuna
