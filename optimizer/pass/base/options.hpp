// SPDX-License-Identifier: BSD-3-Clause
//
// The pass's options, which the wrapper gives as the compiler's -mllvm options
// (python/lacuna/compiler/wrapper.py).
#ifndef LACUNA_OPTIMIZER_PASS_BASE_OPTIONS_HPP_
#define LACUNA_OPTIMIZER_PASS_BASE_OPTIONS_HPP_

#include <llvm/IR/Module.h>

#include <cstdint>
#include <string>
#include <vector>

namespace lacuna::pass::options {

enum class Mode { kOff, kReport, kOn };

Mode mode();
// LACUNA_CHECK=1: the program compares its kernels with MPI_Pack.
bool checks();
// For tests: LLVM's verifier checks the module after each stage.
bool verifies();
const std::string& templates();

// The kinds of layouts that `lacuna tune --compiled` measures: blocks at a stride, lists, structs
// of basic types (fields), structs of blocks (faces), and rows of blocks (nested: faces of cubes).
enum class Pattern { kStrided, kListed, kFields, kFaces, kNested };
enum class Side { kSend, kReceive };

// The most bytes of a message that are packed first.
int64_t most_bytes();

// Messages of [from, to] bytes in runs whose mean length is above `run_from` and up to `run_to`
// bytes: for which the library is faster, or the preload (in a program that runs with it), or
// packing and sending with a gap (kWithGap).
enum class Handler { kLibrary, kPreload, kWithGap };
struct HandlerRule {
  Handler handler;
  int64_t run_from, run_to, from, to;
};
std::vector<HandlerRule> handler_rules(Pattern pattern, Side side);

// The linker gets no such options. So a module stores those of its compiler as metadata, and when
// linking, those of the first module hold for all.
void keep(llvm::Module& module);
void recall(const llvm::Module& module);

}  // namespace lacuna::pass::options

#endif  // LACUNA_OPTIMIZER_PASS_BASE_OPTIONS_HPP_
