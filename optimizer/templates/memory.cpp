// SPDX-License-Identifier: BSD-3-Clause
//
// Memory for packed data that is too large for the frame, and for long lists. What a message gives
// back is kept for the next one: fresh pages cost more than packing them (and libraries remember
// where they have sent from). Kept are two blocks, as Sendrecv needs two, of up to kMostKept bytes
// each, for all threads and all files of a program or library: no thread has to clean up when it
// ends, and a call inside a call (an error handler's) finds none and takes another.
#include <cstring>

#include "optimizer/templates/part.hpp"

namespace {

constexpr int64_t kMostKept = int64_t(16) << 20;

// Before the data, which is aligned as it is.
struct alignas(64) Block {
  int64_t room;
};

}  // namespace

// Defined once in a program: the pass knows this name (library.cpp).
extern "C" {
void* lacuna_kept_blocks[2] = {nullptr, nullptr};
}

namespace {

void* exchanged(void*& slot, void* block) {
  return __atomic_exchange_n(&slot, block, __ATOMIC_ACQ_REL);
}

// Keeps the newest: the oldest one goes.
void keep(void* block) {
  for (void*& slot : lacuna_kept_blocks) {
    block = exchanged(slot, block);
    if (block == nullptr) return;
  }
  std::free(block);
}

}  // namespace

extern "C" [[gnu::noinline]] char* lacuna_template_take(int64_t bytes) {
  Block* smaller = nullptr;
  for (void*& slot : lacuna_kept_blocks) {
    auto* block = static_cast<Block*>(exchanged(slot, nullptr));
    if (block == nullptr) continue;
    if (block->room >= bytes) {
      if (smaller != nullptr) keep(smaller);
      return reinterpret_cast<char*>(block + 1);
    }
    if (smaller != nullptr) keep(smaller);
    smaller = block;
  }
  if (smaller != nullptr) keep(smaller);
  const auto all = (size_t(bytes) + sizeof(Block) + 63) / 64 * 64;
  auto* made = static_cast<Block*>(std::aligned_alloc(64, all));
  if (made == nullptr) return nullptr;
  made->room = bytes;
  return reinterpret_cast<char*>(made + 1);
}

extern "C" [[gnu::noinline]] void lacuna_template_give(char* data) {
  Block* block = reinterpret_cast<Block*>(data) - 1;
  if (block->room > kMostKept) {
    std::free(block);
  } else {
    keep(block);
  }
}

// Copies `count` numbers of `bytes` each to the frame, or to memory of their own where that is too
// small; the place, or nullptr. `own` is what an earlier list of this constructor took, or nullptr.
extern "C" [[gnu::noinline]] const void* lacuna_template_copy_list(char* frame, int64_t room,
                                                                   int64_t most, char** own,
                                                                   const void* list, int64_t count,
                                                                   int64_t bytes) {
  if (*own != nullptr) std::free(*own);
  *own = nullptr;
  // What MPI does not allow is its to tell.
  if (count < 0 || count > most || list == nullptr) return nullptr;
  char* place = frame;
  if (count > room) place = *own = static_cast<char*>(std::malloc(size_t(count * bytes)));
  if (place != nullptr) std::memcpy(place, list, size_t(count * bytes));
  return place;
}

// Where the function is left.
extern "C" [[gnu::noinline]] void lacuna_template_drop_list(char* own) { std::free(own); }
