// SPDX-License-Identifier: BSD-3-Clause
//
// Whether the preload is there (`lacuna run`): found by its name when first asked, and then asked
// each time, since MPI_Pcontrol switches it.
#include "optimizer/templates/part.hpp"
#include "optimizer/templates/preloaded.hpp"

namespace {

using Asked = int();

int never() { return 0; }

}  // namespace

extern "C" [[gnu::noinline]] int lacuna_template_is_preloaded() {
  static Asked* asked = nullptr;
  return lacuna::preloaded(asked, "lacuna_interposed_moves", never)();
}
