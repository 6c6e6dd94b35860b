// SPDX-License-Identifier: BSD-3-Clause
//
// Finds functions of the preload by name, in a program that runs with it (`lacuna run`).
#ifndef LACUNA_OPTIMIZER_TEMPLATES_PRELOADED_HPP_
#define LACUNA_OPTIMIZER_TEMPLATES_PRELOADED_HPP_

// Weak: a program that is linked statically, or with an old C library and without -ldl, has none.
// Such a program has no preload.
extern "C" [[gnu::weak]] void* dlsym(void* handle, const char* name);

namespace lacuna::compiled {

// `known` belongs to the name: null at first, later what was found. `otherwise`: the function to
// call where there is no preload.
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

}  // namespace lacuna::compiled

#endif  // LACUNA_OPTIMIZER_TEMPLATES_PRELOADED_HPP_
