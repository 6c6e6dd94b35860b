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

#include "lacuna/lacuna.h"

int main() {
  // The inner 60 x 60 x 60 of a cube of 64 x 64 x 64 floats.
  lacuna_type* type = nullptr;
  lacuna_plan* plan = nullptr;
  const char* text = "subarray([64, 64, 64], [60, 60, 60], [2, 2, 2], c, float)";
  if (lacuna_type_parse(text, &type) != LACUNA_OK || lacuna_plan_create(type, &plan) != LACUNA_OK) {
    std::cerr << lacuna_last_error() << '\n';
    return 1;
  }
  std::vector<float> cube(64 * 64 * 64);
  for (size_t i = 0; i < cube.size(); ++i) cube[i] = static_cast<float>(i);

  int64_t bytes = 0;
  if (lacuna_packed_size(plan, 1, &bytes) != LACUNA_OK) return 1;
  std::vector<char> whole(static_cast<size_t>(bytes));
  if (lacuna_pack(plan, cube.data(), 1, whole.data()) != LACUNA_OK) return 1;

  // Three threads, three slices; the borders need not be those of elements.
  const std::array<int64_t, 4> borders = {0, 100'001, 500'003, bytes};
  std::vector<char> pieces(whole.size());
  std::array<lacuna_status, 3> statuses{};
  std::vector<std::thread> threads;
  for (size_t i = 0; i < statuses.size(); ++i) {
    threads.emplace_back([&, i] {
      statuses[i] = lacuna_pack_slice(plan, cube.data(), 1, borders[i], borders[i + 1],
                                      pieces.data() + borders[i]);
    });
  }
  for (std::thread& thread : threads) thread.join();

  const bool same = statuses == std::array{LACUNA_OK, LACUNA_OK, LACUNA_OK} && pieces == whole;
  std::cout << bytes << " bytes in three slices: " << (same ? "the same" : "different") << '\n';
  lacuna_plan_destroy(plan);
  lacuna_type_destroy(type);
  return same ? 0 : 1;
}
