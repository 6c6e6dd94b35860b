// SPDX-License-Identifier: BSD-3-Clause
//
// What the wrapper tells the pass (python/lacuna/compiler.py): options of the compiler's -mllvm.
#ifndef LACUNA_OPTIMIZER_PASS_OPTIONS_HPP_
#define LACUNA_OPTIMIZER_PASS_OPTIONS_HPP_

#include <llvm/IR/Module.h>

#include <cstdint>
#include <string>

namespace lacuna::options {

enum class Mode { kOff, kReport, kOn };

Mode mode();
// Whether the program is to compare its kernels with MPI_Pack: LACUNA_CHECK=1.
bool checks();
// Whether LLVM's verifier looks at what each stage leaves: for tests.
bool verifies();
const std::string& templates();

// The kinds of layouts that `lacuna tune` tells apart, and the most bytes of a message that are
// packed first.
enum class Pattern { kStrided, kListed, kFields };
int64_t most_bytes(Pattern pattern);

// The linker is not told: a module keeps what its compiler was told, and the first one's holds for
// all.
void keep(llvm::Module& module);
void recall(const llvm::Module& module);

}  // namespace lacuna::options

#endif  // LACUNA_OPTIMIZER_PASS_OPTIONS_HPP_
