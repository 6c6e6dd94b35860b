// SPDX-License-Identifier: BSD-3-Clause
//
// Slices: any byte range of the packed stream can be packed alone, in any order and from any
// thread. That is how a message larger than a staging buffer is sent piece by piece, or packed by
// several cores. C++20, no MPI.
#include <array>
#include <cstdint>
#include <iostream>
#include <thread>
#include <vector>

#include "lacuna/lacuna.hpp"

int main() {
  // The inner 60 x 60 x 60 of a cube of 64 x 64 x 64 floats.
  const lacuna::Plan plan(
      lacuna::Type("subarray([64, 64, 64], [60, 60, 60], [2, 2, 2], c, float)"));
  std::vector<float> cube(64 * 64 * 64);
  for (size_t i = 0; i < cube.size(); ++i) cube[i] = static_cast<float>(i);

  const int64_t bytes = plan.packed_size(1);
  std::vector<char> whole(static_cast<size_t>(bytes));
  plan.pack(cube.data(), 1, whole.data());

  // Three threads, three slices; the borders need not be those of elements.
  const std::array<int64_t, 4> borders = {0, 100'001, 500'003, bytes};
  std::vector<char> pieces(whole.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i + 1 < borders.size(); ++i) {
    threads.emplace_back([&, i] {
      plan.pack_slice(cube.data(), 1, borders[i], borders[i + 1], pieces.data() + borders[i]);
    });
  }
  for (std::thread& thread : threads) thread.join();

  const bool same = pieces == whole;
  std::cout << bytes << " bytes in three slices: " << (same ? "the same" : "different") << '\n';
  return same ? 0 : 1;
}
