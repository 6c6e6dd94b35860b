// SPDX-License-Identifier: BSD-3-Clause
//
// What the wrapper tells the pass (python/lacuna/compiler/wrapper.py): options of the compiler's -mllvm.
#ifndef LACUNA_OPTIMIZER_PASS_OPTIONS_HPP_
#define LACUNA_OPTIMIZER_PASS_OPTIONS_HPP_

#include <llvm/IR/Module.h>

#include <cstdint>
#include <string>
#include <vector>

namespace lacuna::options {

enum class Mode { kOff, kReport, kOn };

Mode mode();
// Whether the program is to compare its kernels with MPI_Pack: LACUNA_CHECK=1.
bool checks();
// Whether LLVM's verifier looks at what each stage leaves: for tests.
bool verifies();
const std::string& templates();

// The kinds of layouts that `lacuna tune --compiled` tells apart: blocks, lists, structs of basic
// types, structs of blocks, and rows of blocks (faces of cubes).
enum class Pattern { kStrided, kListed, kFields, kFaces, kNested };
enum class Side { kSend, kReceive };

// The most bytes of a message that are packed first.
int64_t most_bytes();

// Messages for which the library's own way is better, or the preload's where the program is run
// with it: [from, to] bytes, in runs of more than `run_from` bytes and up to `run_to` in the mean.
// kApart: for which packing is, but what is packed has to stand with a gap.
enum class Taker { kLibrary, kPreload, kApart };
struct Left {
  Taker to_whom;
  int64_t run_from, run_to, from, to;
};
std::vector<Left> left(Pattern pattern, Side side);

// The linker is not told: a module keeps what its compiler was told, and the first one's holds for
// all.
void keep(llvm::Module& module);
void recall(const llvm::Module& module);

}  // namespace lacuna::options

#endif  // LACUNA_OPTIMIZER_PASS_OPTIONS_HPP_
