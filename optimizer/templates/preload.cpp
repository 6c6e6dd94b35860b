// SPDX-License-Identifier: BSD-3-Clause
//
// Whether the preload is there (`lacuna run`): found by its name when first asked, and then asked
// each time, since MPI_Pcontrol switches it.
#include "optimizer/templates/part.hpp"

// Weak: a program that is linked statically may be without, and so are old C libraries' programs
// without -ldl. Such have no preload.
extern "C" [[gnu::weak]] void* dlsym(void* handle, const char* name);

namespace {

using Asked = int();

int never() { return 0; }

}  // namespace

extern "C" [[gnu::noinline]] int lacuna_template_is_preloaded() {
  static Asked* asked = nullptr;
  Asked* its = __atomic_load_n(&asked, __ATOMIC_RELAXED);
  if (its == nullptr) {
    // RTLD_DEFAULT is the null handle.
    void* found = &dlsym == nullptr ? nullptr : dlsym(nullptr, "lacuna_interposed_moves");
    its = found == nullptr ? never : reinterpret_cast<Asked*>(found);
    __atomic_store_n(&asked, its, __ATOMIC_RELAXED);
  }
  return its();
}
