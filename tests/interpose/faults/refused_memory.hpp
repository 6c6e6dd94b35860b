// SPDX-License-Identifier: BSD-3-Clause
//
// A program whose malloc, aligned_alloc and mmap can fail for callers in lacuna's code, and for no
// others. So each of lacuna's allocations can be made to fail, without a hook in lacuna.
#ifndef LACUNA_TESTS_INTERPOSE_FAULTS_REFUSED_MEMORY_HPP_
#define LACUNA_TESTS_INTERPOSE_FAULTS_REFUSED_MEMORY_HPP_

#include <cstdint>

namespace test {

// Defined by the program: whether this allocation of lacuna's fails. Called by any thread.
bool is_refused();

// Whether mprotect() fails for lacuna from now on.
void refuse_access(bool refuses);

// Finds lacuna's code. Until then, no allocation fails.
void find_lacuna();
bool knows_lacuna();

// Bytes that lacuna has allocated and not freed since find_lacuna().
int64_t bytes_held();

}  // namespace test

#endif  // LACUNA_TESTS_INTERPOSE_FAULTS_REFUSED_MEMORY_HPP_
