/* SPDX-License-Identifier: BSD-3-Clause
 *
 * lacuna.h: the C interface of the engine. It knows no MPI: a type is built by MPI's own
 * constructors (or read from its text form), turned into a plan, and the plan moves bytes between
 * memory with gaps (`mem`) and the packed stream
 * (`packed`, the bytes of the typemap in order, without gaps). Usable from C99 and C++.
 *
 *   lacuna_type* column;  lacuna_plan* plan;
 *   lacuna_type_parse("vector(1000, 1, 1000, double)", &column);
 *   lacuna_plan_create(column, &plan);
 *   lacuna_pack(plan, matrix, 1, buffer);                      // 1000 doubles, one from each row
 *
 * Rules of every function: it returns a status (LACUNA_OK is 0); outputs are the last arguments and
 * are written only on success; nothing prints, aborts or throws; destroy functions accept NULL.
 * Types and plans are immutable and may be used from several threads at once. All counts,
 * displacements, strides and extents are int64_t; all but the counts that MPI counts in elements
 * are bytes.
 */
#ifndef LACUNA_LACUNA_H_
#define LACUNA_LACUNA_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define LACUNA_API __attribute__((visibility("default")))
#define LACUNA_NODISCARD __attribute__((warn_unused_result))
#else
#define LACUNA_API
#define LACUNA_NODISCARD
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define LACUNA_VERSION_MAJOR 0
#define LACUNA_VERSION_MINOR 2
#define LACUNA_VERSION_PATCH 0

/* What a call can answer. New codes are only ever appended. */
typedef enum lacuna_status {
  LACUNA_OK = 0,               /* done */
  LACUNA_INVALID_ARGUMENT = 1, /* an argument is not valid */
  LACUNA_PARSE_ERROR = 2,      /* a text is not a valid type; lacuna_last_error() shows where */
  LACUNA_UNSUPPORTED = 3, /* lacuna does not support this; the reason is in lacuna_last_error() */
  LACUNA_OVERFLOW = 4,    /* a size, extent or offset does not fit into int64_t */
  LACUNA_TRUNCATED =
      5, /* the given buffer is too small; the needed size is in lacuna_last_error() */
  LACUNA_OUT_OF_MEMORY = 6, /* out of memory */
  LACUNA_INTERNAL = 7       /* a defect in lacuna: please report it */
} lacuna_status;

/* A sentence for a status code; never NULL, never freed. */
LACUNA_API const char* lacuna_status_message(lacuna_status status);

/* What went wrong in the last failing call of this thread: what, which value, which limit. Never
 * NULL; valid until this thread's next failing call. */
LACUNA_API const char* lacuna_last_error(void);

/* "0.2.0". */
LACUNA_API const char* lacuna_version(void);

/* ---- types
 * -------------------------------------------------------------------------------------------------------
 */

/* A decoded datatype: a tree of MPI constructors. */
typedef struct lacuna_type lacuna_type;

/* Storage orders of subarray and darray (MPI_ORDER_C, MPI_ORDER_FORTRAN). */
typedef enum lacuna_order { LACUNA_ORDER_C = 0, LACUNA_ORDER_FORTRAN = 1 } lacuna_order;

/* Distributions of darray (MPI_DISTRIBUTE_NONE, _BLOCK, _CYCLIC). */
typedef enum lacuna_distribution {
  LACUNA_DISTRIBUTE_NONE = 0,
  LACUNA_DISTRIBUTE_BLOCK = 1,
  LACUNA_DISTRIBUTE_CYCLIC = 2
} lacuna_distribution;

/* MPI_DISTRIBUTE_DFLT_DARG. */
#define LACUNA_DISTRIBUTE_DFLT_DARG INT64_C(-1)

/* Reads the text form, e.g. "resized(0, 8, vector(1024, 1, 1024, double))". On LACUNA_PARSE_ERROR
 * the last error holds three lines: what, the text, and a caret under the place. Cost: O(length).
 */
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_type_parse(const char* text, lacuna_type** type);

/* The constructors, with MPI's names and argument order. A child is not consumed: destroy it
 * whenever you like. */
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_type_named(const char* name, lacuna_type** type);
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_type_dup(const lacuna_type* oldtype,
                                                          lacuna_type** type);
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_type_contiguous(int64_t count,
                                                                 const lacuna_type* oldtype,
                                                                 lacuna_type** type);
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_type_vector(int64_t count, int64_t blocklength,
                                                             int64_t stride,
                                                             const lacuna_type* oldtype,
                                                             lacuna_type** type);
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_type_hvector(int64_t count, int64_t blocklength,
                                                              int64_t stride_bytes,
                                                              const lacuna_type* oldtype,
                                                              lacuna_type** type);
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_type_indexed(int64_t count,
                                                              const int64_t* blocklengths,
                                                              const int64_t* displacements,
                                                              const lacuna_type* oldtype,
                                                              lacuna_type** type);
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_type_hindexed(int64_t count,
                                                               const int64_t* blocklengths,
                                                               const int64_t* displacements_bytes,
                                                               const lacuna_type* oldtype,
                                                               lacuna_type** type);
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_type_indexed_block(int64_t count,
                                                                    int64_t blocklength,
                                                                    const int64_t* displacements,
                                                                    const lacuna_type* oldtype,
                                                                    lacuna_type** type);
LACUNA_API LACUNA_NODISCARD lacuna_status
lacuna_type_hindexed_block(int64_t count, int64_t blocklength, const int64_t* displacements_bytes,
                           const lacuna_type* oldtype, lacuna_type** type);
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_type_struct(int64_t count,
                                                             const int64_t* blocklengths,
                                                             const int64_t* displacements_bytes,
                                                             const lacuna_type* const* oldtypes,
                                                             lacuna_type** type);
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_type_subarray(
    int64_t ndims, const int64_t* sizes, const int64_t* subsizes, const int64_t* starts,
    lacuna_order order, const lacuna_type* oldtype, lacuna_type** type);
LACUNA_API LACUNA_NODISCARD lacuna_status
lacuna_type_darray(int64_t size, int64_t rank, int64_t ndims, const int64_t* gsizes,
                   const lacuna_distribution* distribs, const int64_t* dargs, const int64_t* psizes,
                   lacuna_order order, const lacuna_type* oldtype, lacuna_type** type);
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_type_resized(int64_t lb, int64_t extent,
                                                              const lacuna_type* oldtype,
                                                              lacuna_type** type);
LACUNA_API void lacuna_type_destroy(lacuna_type* type);

/* Bytes of data in one element, without gaps (MPI_Type_size). */
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_type_size(const lacuna_type* type, int64_t* size);
/* MPI_Type_get_extent and MPI_Type_get_true_extent. */
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_type_extent(const lacuna_type* type, int64_t* lb,
                                                             int64_t* extent);
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_type_true_extent(const lacuna_type* type,
                                                                  int64_t* true_lb,
                                                                  int64_t* true_extent);

/* Writes the text form with its terminating NUL into text[0, capacity). `needed` (may be NULL)
 * receives the bytes needed, NUL included, also when the answer is LACUNA_TRUNCATED. Parsing the
 * text gives an equal type. */
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_type_text(const lacuna_type* type, size_t capacity,
                                                           char* text, size_t* needed);

/* ---- plans
 * -------------------------------------------------------------------------------------------------------
 */

/* How the bytes of a type are moved on this machine: loops, kernels, block sizes. */
typedef struct lacuna_plan lacuna_plan;

/* Cost: O(nodes of the type + entries of its index lists), whatever the number of bytes the type
 * describes. */
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_plan_create(const lacuna_type* type,
                                                             lacuna_plan** plan);
LACUNA_API void lacuna_plan_destroy(lacuna_plan* plan);

/* Bytes that `count` elements take in the packed stream. */
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_packed_size(const lacuna_plan* plan, int64_t count,
                                                             int64_t* bytes);

/* packed[0, count*size) <- the data of `count` elements at `mem`, element i at mem + i*extent.
 * `mem` is the address that a program hands to MPI: offset 0 of the typemap (NULL for absolute
 * addresses, like MPI_BOTTOM). The two must not overlap. Only data bytes are read, but for bytes in
 * the same 64-byte line as a data byte. */
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_pack(const lacuna_plan* plan, const void* mem,
                                                      int64_t count, void* packed);

/* The reverse; gaps in `mem` are not written, not even with their old value. Data that overlaps in
 * `mem` (MPI forbids it where data is received) ends up with any of its values. */
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_unpack(const lacuna_plan* plan, const void* packed,
                                                        int64_t count, void* mem);

/* A slice: bytes [begin, end) of the packed stream of `count` elements; `packed` is where byte
 * `begin` is. Slices may be taken in any order and from any thread, and may cut basic elements.
 * Cost to find `begin`: O(depth * log(entries)). */
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_pack_slice(const lacuna_plan* plan,
                                                            const void* mem, int64_t count,
                                                            int64_t begin, int64_t end,
                                                            void* packed);
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_unpack_slice(const lacuna_plan* plan,
                                                              const void* packed, int64_t count,
                                                              int64_t begin, int64_t end,
                                                              void* mem);

/* Streams: the packed form of `count` elements from its begin to its end, or in any order, in
 * pieces of any lengths. Cheaper than slices where neighbouring pieces share lines: a column of a
 * matrix reads a line for each of its elements, which the next column needs again. A stream reads
 * and writes such lines once, through buffers of at most 2.25 MiB; once it is sought in, through
 * buffers that grow to what was not yet taken of the message, at most LACUNA_STREAM_MB (pieces
 * that find no room there are moved as slices). Pieces are copied (_next) or lent (_lend), in any
 * mixture. For one thread at a time. */

/* While it lives, `mem` must not be written: pieces may have been read ahead. The plan may be
 * destroyed before it. */
typedef struct lacuna_pack_stream lacuna_pack_stream;
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_pack_stream_create(const lacuna_plan* plan,
                                                                    const void* mem, int64_t count,
                                                                    lacuna_pack_stream** stream);
/* packed[0, bytes) <- the next `bytes` of the packed stream; no more than there are left. */
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_pack_stream_next(lacuna_pack_stream* stream,
                                                                  int64_t bytes, void* packed);
/* The same without a copy: *packed is where the next `bytes` of the packed stream are, to be read
 * only, until the next call on this stream (who reads them, a device too, must be done by then) and
 * while `mem` is not written. They are in `mem` itself where they are one run there and the stream
 * finds it, and nothing is moved; else in a buffer of the stream, each byte moved once, and twice
 * where a piece goes over the end of a group of columns, or over the end of a column whose length
 * in lines is cut or a multiple of 32. LACUNA_OUT_OF_MEMORY, and nothing is taken: the piece does
 * not fit into LACUNA_POOL_MB; lacuna_pack_stream_next needs no memory. */
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_pack_stream_lend(lacuna_pack_stream* stream,
                                                                  int64_t bytes,
                                                                  const void** packed);
/* The next piece begins at byte `begin` of the packed stream. */
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_pack_stream_seek(lacuna_pack_stream* stream,
                                                                  int64_t begin);
LACUNA_API void lacuna_pack_stream_destroy(lacuna_pack_stream* stream);

/* Data are certain to be in `mem` only after a flush, after the last byte of a message on which
 * seek was never called, or after destroy. If a byte is given twice, the later value stays. */
typedef struct lacuna_unpack_stream lacuna_unpack_stream;
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_unpack_stream_create(
    const lacuna_plan* plan, void* mem, int64_t count, lacuna_unpack_stream** stream);
/* The next `bytes` of the packed stream, which are at `packed`; no more than are to come. */
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_unpack_stream_next(lacuna_unpack_stream* stream,
                                                                    int64_t bytes,
                                                                    const void* packed);
/* The same without a copy: *packed is where to put the next `bytes` of the packed stream, in `mem`
 * itself or in a buffer of the stream, as for packing. The place is lent until it is taken back by
 * lacuna_unpack_stream_filled; until then the stream answers all calls but this and destroy with
 * LACUNA_INVALID_ARGUMENT. The next piece is still the same. */
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_unpack_stream_lend(lacuna_unpack_stream* stream,
                                                                    int64_t bytes, void** packed);
/* Takes the place back; its first `bytes`, no more than were lent, have come, and the next piece
 * begins after them. Its other bytes may have any value in `mem` until they come. */
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_unpack_stream_filled(lacuna_unpack_stream* stream,
                                                                      int64_t bytes);
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_unpack_stream_seek(lacuna_unpack_stream* stream,
                                                                    int64_t begin);
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_unpack_stream_flush(lacuna_unpack_stream* stream);
LACUNA_API void lacuna_unpack_stream_destroy(lacuna_unpack_stream* stream);

/* From one layout to another, as lacuna_pack followed by lacuna_unpack: the packed stream of
 * `count_a` elements at `mem_a` becomes that of `count_b` elements at `mem_b`. Both must have as
 * many bytes. Where the layouts allow it, bytes go straight from memory to memory; else in pieces
 * that stay in the first-level cache, never through a buffer of the message's size. The two
 * memories must not overlap. */
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_copy(const lacuna_plan* plan_a, const void* mem_a,
                                                      int64_t count_a, const lacuna_plan* plan_b,
                                                      void* mem_b, int64_t count_b);

/* Writes a description for people: the type's numbers, the layout, the kernels, and which rule
 * chose what, for `count` elements. Space as in lacuna_type_text. */
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_plan_explain(const lacuna_plan* plan,
                                                              int64_t count, size_t capacity,
                                                              char* text, size_t* needed);

/* ---- costs
 * -------------------------------------------------------------------------------------------------------
 */

/* Writes how long packing and unpacking `count` elements will take on this machine, by its numbers
 * and the formula of docs/internals/cost.md, as a JSON object: "bytes"; "is_measured_machine",
 * whether the numbers are from a profile or mostly defaults; and "pack", "unpack" and "memcpy" (as
 * many bytes without gaps), each with "warm" (the same buffers again and again) and "cold" (in no
 * cache): "ns", "bound" ("instructions", "L1", "L2", "L3", "memory", "TLB", or "nothing" for no
 * bytes), what each of these takes, and the lines and pages touched. O(nodes + entries of index
 * lists) at each call. LACUNA_OVERFLOW where the elements have, or lie within, more than 2^60
 * bytes. Space as in lacuna_type_text. */
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_plan_cost_json(const lacuna_plan* plan,
                                                                int64_t count, size_t capacity,
                                                                char* text, size_t* needed);

/* ---- the machine
 * -------------------------------------------------------------------------------------------------------
 */

/* Writes the numbers about this machine that plans are made with, as a JSON object: "numbers" maps
 * a name to value, unit, source ("measured", "told" by the system, "default") and meaning;
 * "profile" is the file they are from or null, "place" where a profile of this CPU is looked for,
 * "complaint" why a file there was not used or null; "row" the micro-architecture whose defaults
 * they are, by "name", "why" it was chosen, and "complaint" of a name in LACUNA_CPU that is none of
 * "rows"; "options" has a sentence for each LACUNA_ variable of the environment whose value is not
 * understood, or whose name is nearly an option's. Space as in lacuna_type_text. */
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_machine_json(size_t capacity, char* text,
                                                              size_t* needed);

/* ---- buffers
 * -------------------------------------------------------------------------------------------------------
 */

/* Memory for packed data: at least `bytes` > 0, aligned to 64, its old contents in it. Buffers that
 * are released stay mapped and are handed out again, since fresh pages cost more than packing into
 * them; those of 2 MiB and more lie on huge pages where the system has them. LACUNA_OUT_OF_MEMORY
 * when all of them together would take more than LACUNA_POOL_MB. */
LACUNA_API LACUNA_NODISCARD lacuna_status lacuna_buffer_acquire(int64_t bytes, void** buffer);
/* From any thread. NULL, and what is no buffer, is left alone. */
LACUNA_API void lacuna_buffer_release(void* buffer);
/* Returns the memory of all released buffers to the system. */
LACUNA_API void lacuna_buffers_trim(void);

#ifdef __cplusplus
}
#endif

#endif /* LACUNA_LACUNA_H_ */
