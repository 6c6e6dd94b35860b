// SPDX-License-Identifier: BSD-3-Clause
//
// Memory for packed data that do not fit into the frame, and for long lists. A block that is given
// back is kept for the next message: page faults on new memory cost more than packing. Two blocks
// are kept (Sendrecv needs two), of at most kMostKept bytes, for all threads and all files of a
// program or library. So a thread that ends has nothing to free. A call within a call (by an error
// handler) finds no block and allocates one.
#include <cstring>

#include "optimizer/templates/buffer_arg.hpp"

namespace {

constexpr int64_t kMostKept = int64_t(16) << 20;

// The header of a block takes a page, so that the data begin with a page: libraries copy large
// messages page by page (docs/experiments/2026-11-26-compiled-code.md, "Staging memory").
constexpr size_t kPage = 4096;

struct alignas(kPage) Block {
  int64_t room;
};

}  // namespace

// Once in a program: the pass knows this name (pass/base/library.cpp). With another layout of
// blocks it needs another name, since files compiled before may be linked with new ones.
extern "C" {
void* lacuna_kept_pages[2] = {nullptr, nullptr};
}

namespace {

// Keeps this block and the one kept last; frees the older one.
void keep(void* block) {
  for (void*& slot : lacuna_kept_pages) {
    block = lacuna::compiled::exchanged(slot, block);
    if (block == nullptr) return;
  }
  std::free(block);
}

}  // namespace

extern "C" [[gnu::noinline, clang::minsize]] char* lacuna_template_take(int64_t bytes) {
  Block* smaller = nullptr;
  for (void*& slot : lacuna_kept_pages) {
    auto* block = static_cast<Block*>(lacuna::compiled::exchanged<void>(slot, nullptr));
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

// Copies a list of `count` numbers, of `bytes` each, to `frame`, or to allocated memory where it
// has more than `room`; returns where, or nullptr. `own` is what this allocated for the
// constructor's last list, or nullptr.
extern "C" [[gnu::noinline]] const void* lacuna_template_copy_list(char* frame, int64_t room,
                                                                   int64_t most, char** own,
                                                                   const void* list, int64_t count,
                                                                   int64_t bytes) {
  if (*own != nullptr) std::free(*own);
  *own = nullptr;
  // An error, which MPI reports.
  if (count < 0 || count > most || list == nullptr) return nullptr;
  char* place = frame;
  if (count > room) place = *own = static_cast<char*>(std::malloc(size_t(count * bytes)));
  if (place != nullptr) std::memcpy(place, list, size_t(count * bytes));
  return place;
}

// Called where the program's function returns.
extern "C" [[gnu::noinline]] void lacuna_template_drop_list(char* own) { std::free(own); }
