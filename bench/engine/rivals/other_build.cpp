// SPDX-License-Identifier: BSD-3-Clause
//
// Another build of lacuna, an older commit say, in the same process: only so can a difference of
// one per cent be told from the noise of a machine.
#include <dlfcn.h>

#include "bench/engine/rival.hpp"
#include "lacuna/lacuna.h"
#include "type/text.hpp"

namespace lacuna::bench {
namespace {

// The functions of the C API that a rival calls.
struct Library {
  decltype(&lacuna_type_parse) parse;
  decltype(&lacuna_type_destroy) destroy_type;
  decltype(&lacuna_plan_create) plan;
  decltype(&lacuna_plan_destroy) destroy_plan;
  decltype(&lacuna_pack) pack;
  decltype(&lacuna_unpack) unpack;
};

template <class Function>
bool find(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  return function != nullptr;
}

class OtherBuild : public Rival {
 public:
  explicit OtherBuild(const Library& library) : Rival("lacuna-other"), library_(library) {}

  bool prepare(const Problem& problem) override {
    lacuna_type* type = nullptr;
    if (library_.parse(print_type(*problem.type()).c_str(), &type) != LACUNA_OK) return false;
    const bool is_planned = library_.plan(type, &plan_) == LACUNA_OK;
    library_.destroy_type(type);
    count_ = problem.count();
    return is_planned;
  }

  void pack(const std::byte* mem, std::byte* packed, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) (void)!library_.pack(plan_, mem, count_, packed);
  }

  void unpack(const std::byte* packed, std::byte* mem, int64_t times) override {
    for (int64_t i = 0; i < times; ++i) (void)!library_.unpack(plan_, packed, count_, mem);
  }

  void release() override {
    library_.destroy_plan(plan_);
    plan_ = nullptr;
  }

 private:
  Library library_;
  lacuna_plan* plan_ = nullptr;
  int64_t count_ = 0;
};

}  // namespace

Result<std::unique_ptr<Rival>> other_build_rival(const std::string& path) {
  // Deep binding: its calls of its own functions must not go to the library that is linked here.
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (handle == nullptr) return Error{LACUNA_INVALID_ARGUMENT, dlerror()};
  Library library{};
  const bool has_all = find(handle, "lacuna_type_parse", library.parse) &&
                       find(handle, "lacuna_type_destroy", library.destroy_type) &&
                       find(handle, "lacuna_plan_create", library.plan) &&
                       find(handle, "lacuna_plan_destroy", library.destroy_plan) &&
                       find(handle, "lacuna_pack", library.pack) &&
                       find(handle, "lacuna_unpack", library.unpack);
  if (!has_all) return Error{LACUNA_INVALID_ARGUMENT, path + " is not liblacuna.so"};
  if (library.pack == &lacuna_pack) return Error{LACUNA_INVALID_ARGUMENT, path + " is this build"};
  return std::unique_ptr<Rival>(std::make_unique<OtherBuild>(library));
}

}  // namespace lacuna::bench
