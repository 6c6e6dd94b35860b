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

// Before the data, which begins with a page: libraries move large messages page by page (EPYC, two
// ranks, what 256 structs of 32 bytes take by hand over what they do here, in ten starts: 0.59 to
// 0.82 on MPICH and 0.91 to 1.01 on Open MPI where data began 64 bytes into a page, now 0.76 to
// 0.89 and 0.96 to 1.06).
constexpr size_t kPage = 4096;

struct alignas(kPage) Block {
  int64_t room;
};

}  // namespace

// Defined once in a program: the pass knows this name (library.cpp). Another layout of blocks needs
// another name: files that were compiled before may be linked with new ones.
extern "C" {
void* lacuna_kept_pages[2] = {nullptr, nullptr};
}

namespace {

// Keeps the newest: the oldest one goes.
void keep(void* block) {
  for (void*& slot : lacuna_kept_pages) {
    block = lacuna::exchanged(slot, block);
    if (block == nullptr) return;
  }
  std::free(block);
}

}  // namespace

extern "C" [[gnu::noinline, clang::minsize]] char* lacuna_template_take(int64_t bytes) {
  Block* smaller = nullptr;
  for (void*& slot : lacuna_kept_pages) {
    auto* block = static_cast<Block*>(lacuna::exchanged<void>(slot, nullptr));
    if (block == nullptr) continue;
    if (block->room >= bytes) {
      if (smaller != nullptr) keep(smaller);
      return reinterpret_cast<char*>(block + 1);
    }
    if (smaller != nullptr) keep(smaller);
    smaller = block;
  }
  if (smaller != nullptr) keep(smaller);
  const auto all = (size_t(bytes) + sizeof(Block) + kPage - 1) / kPage * kPage;
  auto* made = static_cast<Block*>(std::aligned_alloc(kPage, all));
  if (made == nullptr) return nullptr;
  made->room = bytes;
  return reinterpret_cast<char*>(made + 1);
}

extern "C" [[gnu::noinline, clang::minsize]] void lacuna_template_give(char* data) {
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
