// SPDX-License-Identifier: BSD-3-Clause
//
// A run whose length only the run time knows: most are short (a halo of three floats), where a call
// of memcpy costs several times what the bytes do. Of up to 64 bytes, each half is loaded before
// any is stored; the two may overlap, and nothing outside the run is touched.
#include <cstring>

#include "optimizer/templates/part.hpp"

namespace {

template <int64_t kBytes>
struct Word {
  char bytes[kBytes];
};

// The first and the last `kBytes` of a run of as many to twice that.
template <int64_t kBytes>
[[gnu::always_inline]] inline void ends(char* to, const char* from, int64_t bytes) {
  Word<kBytes> first, last;
  std::memcpy(&first, from, kBytes);
  std::memcpy(&last, from + bytes - kBytes, kBytes);
  std::memcpy(to, &first, kBytes);
  std::memcpy(to + bytes - kBytes, &last, kBytes);
}

}  // namespace

extern "C" [[gnu::always_inline]] void lacuna_template_copy(char* to, const char* from,
                                                            int64_t bytes) {
  if (bytes > 64) {
    std::memcpy(to, from, size_t(bytes));
  } else if (bytes >= 32) {
    ends<32>(to, from, bytes);
  } else if (bytes >= 16) {
    ends<16>(to, from, bytes);
  } else if (bytes >= 8) {
    ends<8>(to, from, bytes);
  } else if (bytes >= 4) {
    ends<4>(to, from, bytes);
  } else if (bytes >= 2) {
    ends<2>(to, from, bytes);
  } else if (bytes == 1) {
    *to = *from;
  }
}
