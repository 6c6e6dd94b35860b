// SPDX-License-Identifier: BSD-3-Clause
//
// Another build of lacuna, an older commit say, in the same process: only so can a difference of
// one per cent be told from the noise of a machine.
#include <dlfcn.h>

#include "bench/engine/rival.hpp"
#include "bench/engine/rivals/through_api.hpp"

namespace lacuna::bench {
namespace {

template <class Function>
bool find(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  return function != nullptr;
}

}  // namespace

Result<std::unique_ptr<Rival>> other_build_rival(const std::string& path) {
  // Deep binding: its calls of its own functions must not go to the library that is linked here.
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (handle == nullptr) return Error{LACUNA_INVALID_ARGUMENT, dlerror()};
  Api api;
  const bool has_all = find(handle, "lacuna_type_parse", api.parse) &&
                       find(handle, "lacuna_type_destroy", api.destroy_type) &&
                       find(handle, "lacuna_plan_create", api.plan) &&
                       find(handle, "lacuna_plan_destroy", api.destroy_plan) &&
                       find(handle, "lacuna_pack", api.pack) &&
                       find(handle, "lacuna_unpack", api.unpack);
  if (!has_all) return Error{LACUNA_INVALID_ARGUMENT, path + " is not liblacuna.so"};
  if (api.pack == &lacuna_pack) return Error{LACUNA_INVALID_ARGUMENT, path + " is this build"};
  return std::unique_ptr<Rival>(std::make_unique<ThroughApi>("lacuna-other", api));
}

}  // namespace lacuna::bench
