// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/direct/arena/nontemporal_copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace lacuna::direct {
namespace {

TEST(StreamCopy, CopiesWhatIsAskedForAndNothingBeside) {
  constexpr int64_t kRoom = 512;
  std::vector<unsigned char> from(kRoom);
  std::iota(from.begin(), from.end(), static_cast<unsigned char>(1));
  for (const int64_t source : {0, 1, 63}) {
    for (int64_t at = 0; at < 2 * kLine; ++at) {
      for (const int64_t bytes : {0, 1, 15, 63, 64, 65, 127, 128, 200, 256}) {
        std::vector<unsigned char> to(kRoom, 0xEE);
        std::vector<unsigned char> expected = to;
        std::copy_n(from.begin() + source, bytes, expected.begin() + at);
        stream_copy(reinterpret_cast<std::byte*>(to.data()) + at,
                    reinterpret_cast<const std::byte*>(from.data()) + source, bytes);
        ASSERT_EQ(to, expected) << source << ' ' << at << ' ' << bytes;
      }
    }
  }
}

}  // namespace
}  // namespace lacuna::direct
