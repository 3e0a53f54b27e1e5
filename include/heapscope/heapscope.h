/*
 * heapscope's API for programs with allocators of their own: it names their heaps, and reports
 * their allocations. Link with -lheapscope, or define HEAPSCOPE_WEAK before this header and link
 * nothing: see heapscope(3). C++: heapscope/heapscope.hpp.
 *
 *     static uint32_t heap;                          // 0 before it is registered: calls do nothing
 *     heap = heapscope_heap_register(heapscope_heap_create("arena"));
 *     ...
 *     heapscope_report_alloc(heap, (uintptr_t)block, size_bytes);
 *     heapscope_report_free(heap, (uintptr_t)block);
 *
 * Every function but heapscope_pool_destroy may be called from any thread, and from constructors of
 * global objects. Without a profiler, a report costs about a nanosecond and does nothing. A
 * function that returns int returns 0, or -errno.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <heapscope/weak.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- heaps: see heapscope_heap_create(3) --- */

#define HEAPSCOPE_HEAP_NAME_BYTES 64  /* with the NUL */
#define HEAPSCOPE_HEAPS           255 /* of a process */

/* A heap that is being set up: the AHeapInfo of heap_profile.h. Never freed. */
typedef struct AHeapInfo heapscope_heap;

/* NULL, and errno is EINVAL (no name), ENAMETOOLONG, or ENOSPC (255 heaps exist). */
HEAPSCOPE_API heapscope_heap *heapscope_heap_create(const char *name);
/* The setters fail with -EINVAL (no heap) and -EBUSY (it is registered).
 * A primary heap has memory of its own, from mmap for instance. Without this call the heap is
 * carved: its memory lies in blocks of other heaps, and totals of the process do not count it. */
HEAPSCOPE_API int heapscope_heap_set_primary(heapscope_heap *heap, bool is_primary);
/* The registered heap in whose blocks this one lies; 0: not known. */
HEAPSCOPE_API int heapscope_heap_set_parent(heapscope_heap *heap, uint32_t parent);
/* Called when a profiler begins and ends recording the heap, by the next call of the library in any
 * thread; each may be NULL. `interval_bytes` is that of heapscope_interval. */
HEAPSCOPE_API int heapscope_heap_set_callbacks(heapscope_heap *heap,
                                               void (*on_enabled)(void *data,
                                                                  uint64_t interval_bytes),
                                               void (*on_disabled)(void *data), void *data);
/* The heap's id, 1 to 255. 0: `heap` is NULL; reports with it do nothing. */
HEAPSCOPE_API uint32_t heapscope_heap_register(heapscope_heap *heap);

/* --- reports: see heapscope_report_alloc(3) --- */

/* `id` is the block's address, or any number that no live block of the heap has. True: it was
 * recorded. */
HEAPSCOPE_API bool heapscope_report_alloc(uint32_t heap, uint64_t id, uint64_t size_bytes);
/* The same for a block of this type: a name in UTF-8, of which 255 bytes count, copied if the block
 * is recorded. NULL or "": no type is given. Of more than 32,764 names in a process the rest are
 * recorded as "(other)". */
HEAPSCOPE_API bool heapscope_report_alloc_of(uint32_t heap, uint64_t id, uint64_t size_bytes,
                                             const char *type);
/* For programs that choose samples themselves: the sample stands for `weight_bytes`. */
HEAPSCOPE_API bool heapscope_report_sample(uint32_t heap, uint64_t id, uint64_t weight_bytes);
/* For every block, before its id may be used again. */
HEAPSCOPE_API void heapscope_report_free(uint32_t heap, uint64_t id);

/* --- the profiler: see heapscope_poll(3) --- */

/* Takes up what a profiler has set, and calls the callbacks that are due: for programs that report
 * rarely. -ENOTCONN: no profiler. */
HEAPSCOPE_API int heapscope_poll(void);
/* Mean number of bytes between two samples of this heap; 0: it is not being recorded. */
HEAPSCOPE_API uint64_t heapscope_interval(uint32_t heap);
/* Has the profiler keep the state of this moment under a name of 1 to 63 bytes. -EINVAL,
 * -ENAMETOOLONG; -ENOTCONN: no profiler; -ETIMEDOUT: it did not answer within 2 s. */
HEAPSCOPE_API int heapscope_take_snapshot(const char *name);

/* All heaps together, since recording began; the blocks of a carved heap and the blocks that these
 * lie in both count. */
struct heapscope_stats {
    uint64_t allocated_bytes;
    uint64_t deallocated_bytes; /* of a thread: HEAPSCOPE_UNKNOWN */
    uint64_t is_exact;          /* 1: every allocation was recorded; 0: the bytes are estimates */
    uint64_t reserved[5];
};
#define HEAPSCOPE_UNKNOWN UINT64_MAX
/* Of the process, and of the calling thread; each may be NULL. -ENOTCONN: no profiler, and nothing
 * is written. */
HEAPSCOPE_API int heapscope_get_stats(struct heapscope_stats *global,
                                      struct heapscope_stats *local);

/* --- recording without a session: see heapscope_bind(3) --- */

struct heapscope_bind_options {
    uint64_t interval_bytes; /* mean number of bytes between two samples; 1: all; 0: the default */
    const char *socket;      /* absolute path of the daemon's socket; NULL: the default */
    uint64_t reserved[6];    /* 0 */
};

/* Records the program from now on, or, in a program that is linked with libheapscope_malloc.so, has
 * recorded it since its first allocation. NULL: the defaults. -EALREADY: the program has called it
 * before; -EBUSY: a session records the program; -ENOTCONN: there is no client. More: see
 * heapscope_bind(3). */
HEAPSCOPE_API int heapscope_bind(const struct heapscope_bind_options *options);

/* --- pools: see heapscope_pool_create(3) --- */

/* Blocks that are freed together, and reported to a heap. */
typedef struct heapscope_pool heapscope_pool;

struct heapscope_pool_options {
    uint32_t heap;      /* reports go to this registered heap; 0: to one of the pool's name */
    uint32_t parent;    /* if heap is 0: the heap in whose blocks the pool lies; 0: not known */
    size_t chunk_bytes; /* taken from the allocator at once; 4 KiB to 16 MiB; 0: 64 KiB */
    /* Where chunks come from; both NULL: malloc and free. Memory is aligned to 16 bytes. */
    void *(*alloc)(void *data, size_t size_bytes);
    void (*free)(void *data, void *memory, size_t size_bytes);
    void *data;
    uint64_t reserved[4]; /* 0 */
};

/* NULL, and errno is EINVAL, ENAMETOOLONG or ENOMEM. `options` may be NULL. */
HEAPSCOPE_API heapscope_pool *heapscope_pool_create(const char *name,
                                                    const struct heapscope_pool_options *options);
/* Memory aligned to 16 bytes. NULL, and errno is ENOMEM; of the second also EINVAL: `align_bytes`
 * is no power of two, or more than 1 GiB. */
HEAPSCOPE_API void *heapscope_pool_alloc(heapscope_pool *pool, size_t size_bytes);
HEAPSCOPE_API void *heapscope_pool_alloc_aligned(heapscope_pool *pool, size_t size_bytes,
                                                 size_t align_bytes);
/* NULL is no block, and is accepted. -EINVAL: no live block of this pool, as far as the bytes
 * before it show; nothing is changed. */
HEAPSCOPE_API int heapscope_pool_free(heapscope_pool *pool, void *block);
/* Gives chunks without live blocks back; returns their bytes. */
HEAPSCOPE_API size_t heapscope_pool_trim(heapscope_pool *pool);
/* Frees all blocks, and reports each. No other thread may use the pool any more. */
HEAPSCOPE_API void heapscope_pool_destroy(heapscope_pool *pool);
/* The id of the heap to which the pool reports; 0: the process has too many heaps. */
HEAPSCOPE_API uint32_t heapscope_pool_heap(const heapscope_pool *pool);

/* --- scopes and labels: see heapscope_scope_begin(3) --- */

#define HEAPSCOPE_SCOPE_DEPTH      128 /* open scopes of a thread that are recorded */
#define HEAPSCOPE_SCOPE_NAME_BYTES 256 /* with the NUL; the rest of a longer name is cut off */

/* Opens a scope in this thread: what the thread allocates until the scope ends is recorded with its
 * name. The text is copied. Returns how many scopes were open before, for heapscope_scope_end_to.
 * Deeper scopes than HEAPSCOPE_SCOPE_DEPTH are counted and not recorded. */
HEAPSCOPE_API uint32_t heapscope_scope_begin(const char *name);
/* Opens a label, which is a scope with the name "key=value". */
HEAPSCOPE_API uint32_t heapscope_label_begin(const char *key, const char *value);
/* Ends the scope or label that was opened last. Does nothing if none is open. */
HEAPSCOPE_API void heapscope_scope_end(void);
/* Ends all scopes but the outermost `depth`: after a longjmp, for instance. Does nothing if no more
 * than that are open. */
HEAPSCOPE_API void heapscope_scope_end_to(uint32_t depth);
/* How many scopes are open in this thread. */
HEAPSCOPE_API uint32_t heapscope_scope_depth(void);
/* The id of a name, or of a label's: the same text has the same id while the process lives. 0: it
 * is NULL or empty; 1: there was no room for one more name. */
HEAPSCOPE_API uint32_t heapscope_scope_name(const char *name);
HEAPSCOPE_API uint32_t heapscope_label_name(const char *key, const char *value);
/* heapscope_scope_begin with the id of a name, which is faster. */
HEAPSCOPE_API uint32_t heapscope_scope_enter(uint32_t name_id);

#ifdef HEAPSCOPE_WEAK
#include <heapscope/weak_heapscope.h>
#else
#include <heapscope/scope_inline.h>
#endif

/* What the macros below call. */
static inline __attribute__((unused)) uint32_t heapscope_scope_enter_at(uint32_t *site,
                                                                        const char *name)
{
    uint32_t name_id = __atomic_load_n(site, __ATOMIC_RELAXED);
    if (__builtin_expect(name_id == 0, 0)) {
        name_id = heapscope_scope_name(name);
        __atomic_store_n(site, name_id, __ATOMIC_RELAXED);
    }
    return heapscope_scope_enter(name_id);
}
static inline __attribute__((unused)) void heapscope_scope_leave(const uint32_t *depth)
{
    heapscope_scope_end_to(*depth);
}
#define HEAPSCOPE_JOIN_(a, b) a##b
#define HEAPSCOPE_JOIN(a, b)  HEAPSCOPE_JOIN_(a, b)

/* A scope from here to the end of the block, for the names of which there is one at each place in
 * the program: a literal, mostly. C++: the same, and heapscope::scope. */
#define HEAPSCOPE_SCOPE(name)                                                                      \
    static uint32_t HEAPSCOPE_JOIN(heapscope_site_, __LINE__);                                     \
    const uint32_t HEAPSCOPE_JOIN(heapscope_scope_, __LINE__)                                      \
        __attribute__((cleanup(heapscope_scope_leave), unused)) =                                  \
            heapscope_scope_enter_at(&HEAPSCOPE_JOIN(heapscope_site_, __LINE__), (name))
/* A label from here to the end of the block; key and value may be other texts each time. */
#define HEAPSCOPE_LABEL(key, value)                                                                \
    const uint32_t HEAPSCOPE_JOIN(heapscope_label_, __LINE__)                                      \
        __attribute__((cleanup(heapscope_scope_leave), unused)) =                                  \
            heapscope_label_begin((key), (value))

#ifdef __cplusplus
}
#endif
