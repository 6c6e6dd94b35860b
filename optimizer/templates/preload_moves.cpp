// SPDX-License-Identifier: BSD-3-Clause
//
// Whether the preload (`lacuna run`) is there and moves messages in one copy now. Its function is
// looked up once, and called each time, since MPI_Pcontrol switches the preload on and off.
#include "optimizer/templates/buffer_arg.hpp"
#include "optimizer/templates/preloaded.hpp"

namespace {

using Moves = int();

int never() { return 0; }

}  // namespace

extern "C" [[gnu::noinline]] int lacuna_template_is_preloaded() {
  static Moves* moves = nullptr;
  return lacuna::compiled::preloaded(moves, "lacuna_interposed_moves", never)();
}
