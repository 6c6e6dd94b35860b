// SPDX-License-Identifier: BSD-3-Clause
#include "page.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

chaos::Page* chaos::open_page(const std::string& folder, int rank) {
  const std::string name = folder + "/state." + std::to_string(rank);
  const int file = open(name.c_str(), O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, sizeof(Page)) != 0) return nullptr;
  void* memory = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return memory == MAP_FAILED ? nullptr : static_cast<Page*>(memory);
}
