/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the fake driver have in common.
 */
#ifndef LACUNA_TESTS_INTERPOSE_DEVICE_FAKE_SHARED_H_
#define LACUNA_TESTS_INTERPOSE_DEVICE_FAKE_SHARED_H_

#include <pthread.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

/* Until the end of the block, other threads wait. The driver's functions are for any thread. */
#define LOCKED __attribute__((cleanup(unlock_fake))) int is_locked = lock_fake()
int lock_fake(void); /* recursive */
void unlock_fake(const int* is_locked);

/* Whether an address is in a range that is reserved for such memory. */
int is_shared(uintptr_t address);
/* Where a device finds it; null: nothing is mapped there, or it has no access. */
void* reach_shared(uintptr_t address);
/* Unmaps all, as the end of a context may. */
void unmap_shared(void);

/* Contexts (fake_contexts.c). Whether a library has pushed the current one. */
int is_pushed(void);
int fake_has_context(void);
unsigned long long current_number(void); /* 0: none */
void* fake_context(void);
int use_stream(const void* stream); /* aborts if its context is gone */
/* What a context has pinned and a library has allocated in it is gone with it. */
void end_memory_of(unsigned long long number);
/* Bytes that are mapped. */
extern long fake_shared_bytes;

#endif
