// SPDX-License-Identifier: BSD-3-Clause
//
// A program whose malloc, aligned_alloc and mmap can refuse memory to callers in lacuna's code, and
// to nobody else. So each allocation there is can be made to fail, without a hook in lacuna.
#ifndef LACUNA_TESTS_INTERPOSE_FAULTS_REFUSED_MEMORY_HPP_
#define LACUNA_TESTS_INTERPOSE_FAULTS_REFUSED_MEMORY_HPP_

#include <cstdint>

namespace test {

// By the program: whether this allocation of lacuna's fails. Any thread.
bool is_refused();

// Where lacuna's code is: none is refused anything before.
void find_lacuna();
bool knows_lacuna();

// Bytes that lacuna has allocated and not freed, since it was found.
int64_t bytes_held();

}  // namespace test

#endif  // LACUNA_TESTS_INTERPOSE_FAULTS_REFUSED_MEMORY_HPP_
