// SPDX-License-Identifier: BSD-3-Clause
//
// Functions of the preload, where the program runs with it (`lacuna run`): found by their names
// when first asked for.
#ifndef LACUNA_OPTIMIZER_TEMPLATES_PRELOADED_HPP_
#define LACUNA_OPTIMIZER_TEMPLATES_PRELOADED_HPP_

// Weak: a program that is linked statically may be without, and so are old C libraries' programs
// without -ldl. Such have no preload.
extern "C" [[gnu::weak]] void* dlsym(void* handle, const char* name);

namespace lacuna {

// `known` is null at first, and belongs to the name; `otherwise`: where there is no preload.
template <class Function>
Function* preloaded(Function*& known, const char* name, Function* otherwise) {
  Function* found = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (found == nullptr) {
    // RTLD_DEFAULT is the null handle.
    void* place = &dlsym == nullptr ? nullptr : dlsym(nullptr, name);
    found = place == nullptr ? otherwise : reinterpret_cast<Function*>(place);
    __atomic_store_n(&known, found, __ATOMIC_RELAXED);
  }
  return found;
}

}  // namespace lacuna

#endif  // LACUNA_OPTIMIZER_TEMPLATES_PRELOADED_HPP_
