// SPDX-License-Identifier: BSD-3-Clause
//
// The C library's functions whose names a program may have for functions of its own: the C standard
// reserves its own names, and not those of POSIX and Linux. If the program defines `poll`, the
// dynamic linker takes it for lacuna's calls of poll(), too. So the linker sends these calls to the
// jumps below (--wrap, for each name of c_library_names.txt), and the jumps go to what stands after
// lacuna in the search order. Other interposers stay in the way: a tool's poll() is called.
#include <dlfcn.h>

// A jump keeps all arguments where they are, variable ones as well.
#if defined(__x86_64__)
#define LACUNA_JUMP_TO(name) "endbr64\n jmp *lacuna_jump_" #name "(%rip)\n"
#elif defined(__aarch64__)
#define LACUNA_JUMP_TO(name) \
  "adrp x16, lacuna_jump_" #name "\n ldr x16, [x16, :lo12:lacuna_jump_" #name "]\n br x16\n"
#else
#error "no jump for this processor"
#endif
// The pointer that a jump goes by has what the dynamic linker has found, until the constructor
// below has run.
#define LACUNA_FOR(name)                                                         \
  extern "C" __attribute__((visibility("default"))) void __real_##name();        \
  extern "C" __attribute__((visibility("hidden"))) void (*lacuna_jump_##name)(); \
  __attribute__((used)) void (*lacuna_jump_##name)() = __real_##name;            \
  asm(".pushsection .text\n .globl __wrap_" #name "\n .hidden __wrap_" #name     \
      "\n .type __wrap_" #name ", %function\n __wrap_" #name                     \
      ":\n" LACUNA_JUMP_TO(name) ".size __wrap_" #name ", . - __wrap_" #name "\n .popsection\n");
#include "c_library_names.gen.inc"
#undef LACUNA_FOR

namespace {

void find(const char* name, void (**jump)()) {
  if (void* const found = dlsym(RTLD_NEXT, name)) *jump = reinterpret_cast<void (*)()>(found);
}

__attribute__((constructor(101))) void find_all() {
#define LACUNA_FOR(name) find(#name, &lacuna_jump_##name);
#include "c_library_names.gen.inc"
#undef LACUNA_FOR
}

}  // namespace
