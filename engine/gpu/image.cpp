// SPDX-License-Identifier: BSD-3-Clause
//
// A plan's image: the tables of its pieces, then the rows and tiles that the kernel for many
// messages reads. One copy brings it to the device.
#include <cstring>

#include "gpu/plan.hpp"

namespace lacuna::gpu {
namespace {

size_t aligned(size_t bytes) { return (bytes + 15) / 16 * 16; }

template <typename T>
void move_pointer(const T*& pointer, const std::byte* base) {
  if (pointer != nullptr)
    pointer = reinterpret_cast<const T*>(base + (reinterpret_cast<uintptr_t>(pointer) - 1));
}

void move_pointers(PieceRow& row, const std::byte* base) {
  for (Digit& digit : row.piece.digits) {
    if (digit.table.entries != nullptr)
      digit.table.entries = base + (reinterpret_cast<uintptr_t>(digit.table.entries) - 1);
  }
  move_pointer(row.piece.ranked.groups, base);
  if (row.piece.ranked.groups != nullptr)
    row.piece.ranked.shifts.entries =
        base + (reinterpret_cast<uintptr_t>(row.piece.ranked.shifts.entries) - 1);
}

}  // namespace

size_t append(std::vector<std::byte>& image, const void* bytes, size_t size) {
  const size_t at = aligned(image.size());
  image.resize(at + size);
  if (size > 0) std::memcpy(image.data() + at, bytes, size);
  return at;
}

size_t image_bytes(const DevicePlan& plan) {
  size_t bytes = aligned(plan.image.size()) + aligned(plan.rows.size() * sizeof(PieceRow));
  for (const std::vector<uint32_t>& tiles : plan.tiles)
    bytes += aligned(tiles.size() * sizeof(uint32_t));
  return bytes;
}

void place(DevicePlan& plan, std::byte* base) {
  for (PieceRow& row : plan.rows) move_pointers(row, base);
  if (plan.whole) move_pointers(*plan.whole, base);
  const auto at = [&](size_t offset) { return base + offset; };
  plan.placed_rows = reinterpret_cast<const PieceRow*>(
      at(append(plan.image, plan.rows.data(), plan.rows.size() * sizeof(PieceRow))));
  for (int log = 0; log < kWordSizes; ++log) {
    plan.placed_tiles[log] = reinterpret_cast<const uint32_t*>(
        at(append(plan.image, plan.tiles[log].data(), plan.tiles[log].size() * sizeof(uint32_t))));
  }
}

std::string text_of(const DevicePlan& plan) {
  std::string text;
  for (const PieceRow& row : plan.rows) {
    const Piece& piece = row.piece;
    for (int k = kMostLoops - loops_of(piece); k < kMostLoops; ++k) {
      const Digit& digit = piece.digits[k];
      text += (digit.table.entries != nullptr ? "list " + std::to_string(digit.count.count)
                                              : "loop " + std::to_string(digit.count.count) +
                                                    " mem +" + std::to_string(digit.mem_stride)) +
              " packed +" + std::to_string(digit.packed_stride) + ", ";
    }
    text += (piece.ranked.groups != nullptr ? "runs of " : "run of ") +
            std::to_string(piece.leaf_bytes) + " bytes\n";
  }
  return text;
}

}  // namespace lacuna::gpu
