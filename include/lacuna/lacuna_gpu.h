/* SPDX-License-Identifier: BSD-3-Clause
 *
 * lacuna_gpu.h: datatypes in a CUDA device's memory (liblacuna-cuda.so). A device plan is made once
 * from a type and a count; its calls enqueue one launch or copy on a stream and return. They
 * neither allocate nor synchronise, so that they can be captured in a graph.
 *
 *   lacuna_gpu_plan* plan;
 *   lacuna_gpu_plan_create(column, 1000, &plan);
 *   lacuna_gpu_pack(plan, matrix, 0, bytes, buffer, stream);
 *
 * Rules of every function: as in lacuna.h, but that the reason of a failure is in
 * lacuna_gpu_last_error. `stream` is a cudaStream_t (NULL: the default stream). Memory may be of
 * the device, mapped memory of the host, or a peer's, wherever a kernel on the plan's device may
 * reach it. The plan's device must be the current one in each call. Whether a launch went well on
 * the device is told by the stream, as for every kernel.
 */
#ifndef LACUNA_LACUNA_GPU_H_
#define LACUNA_LACUNA_GPU_H_

#include "lacuna/lacuna.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lacuna_gpu_plan lacuna_gpu_plan;

/* For `count` elements of the type, on the current device, where the plan's tables are put: here
 * memory is allocated and the device waited for. LACUNA_UNSUPPORTED: no device, or no plan for such
 * a type. */
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_gpu_plan_create(const lacuna_type* type,
                                                                 int64_t count,
                                                                 lacuna_gpu_plan** plan);
/* When everything that was enqueued with it is done. */
LACUNA_API void lacuna_gpu_plan_destroy(lacuna_gpu_plan* plan);
/* Bytes of the packed stream. */
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_gpu_packed_size(const lacuna_gpu_plan* plan,
                                                                 int64_t* bytes);
/* The plan's pieces for people, a line each. Space as in lacuna_type_text. */
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_gpu_plan_text(const lacuna_gpu_plan* plan,
                                                               size_t capacity, char* text,
                                                               size_t* needed);
/* What a plan would do with aligned memory, as one JSON object; no device is needed. Members:
 * bytes, kernel ("nothing", "run", "words", "bytes", "tiles" or "many"), word_bytes and pieces (of
 * each piece), blocks, threads, shared_bytes, table_bytes; sector_bytes, fetched_bytes and
 * partly_bytes: of memory that holds data, in sectors of 32 bytes, in aligned pairs of them, and in
 * sectors that hold other bytes, too (where there are many runs, estimated from some). Space as in
 * lacuna_type_text. */
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_gpu_explain_json(const lacuna_type* type,
                                                                  int64_t count, size_t capacity,
                                                                  char* text, size_t* needed);

/* Bytes [begin, end) of the packed stream to or from `packed`, where the first of them is. Quickest
 * where `begin` and `end` are multiples of 16 or of what the type's runs are multiples of. */
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_gpu_pack(const lacuna_gpu_plan* plan,
                                                          const void* mem, int64_t begin,
                                                          int64_t end, void* packed, void* stream);
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_gpu_unpack(const lacuna_gpu_plan* plan,
                                                            const void* packed, int64_t begin,
                                                            int64_t end, void* mem, void* stream);

/* The packed stream of `from` becomes that of `to`, without a buffer between them. Both have as
 * many bytes; the memories do not overlap. LACUNA_UNSUPPORTED: a type has too many runs for that.
 */
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_gpu_copy(const lacuna_gpu_plan* from,
                                                          const void* from_mem,
                                                          const lacuna_gpu_plan* to, void* to_mem,
                                                          void* stream);

/* A whole message, of several in one launch. */
typedef struct lacuna_gpu_message {
  const lacuna_gpu_plan* plan;
  void* mem;    /* read by pack */
  void* packed; /* read by unpack */
} lacuna_gpu_message;

/* One launch for each 480 messages. */
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_gpu_pack_many(int64_t count,
                                                               const lacuna_gpu_message* messages,
                                                               void* stream);
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_gpu_unpack_many(int64_t count,
                                                                 const lacuna_gpu_message* messages,
                                                                 void* stream);

/* What went wrong in the last failing call of this thread. */
LACUNA_API const char* lacuna_gpu_last_error(void);

#ifdef __cplusplus
}
#endif

#endif /* LACUNA_LACUNA_GPU_H_ */
