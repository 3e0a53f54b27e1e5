/*
 * The functions that allocators have under names of their own. The names here lack the prefix that
 * differs from allocator to allocator (je_, mi_).
 *
 * Both sides use this list. The collector that attaches looks for the names in the program. The
 * client has a hook for each function, and the function's place in the list is the hook's number
 * (fmt/ctl_layout.h). An executable can contain several allocators. The client therefore has
 * HS_ALLOCATOR_SETS sets of hooks; the numbers of the second set follow those of the first.
 *
 *     FUNCTION(name, kind, whose)
 *
 * The kind says which integer arguments a function takes, in their order, up to the last one that
 * the hook needs. Further arguments may follow.
 *
 * `whose` says which allocators have the function. It matters for known prefixes: MyISAM's
 * mi_delete is not mimalloc's.
 *
 * Ensures   all functions that free are here, as far as the allocators' headers say. Functions that
 *           only allocate may be missing. Those whose blocks can also be freed all at once
 *           (mi_heap_malloc) are missing on purpose: such blocks are not recorded.
 * See       docs/adr/0014-detours.md
 */
#pragma once

/* How a function takes its arguments, and what it returns. */
enum hs_function_kind {
    HS_FUNCTION_SIZE,         /* p = f(size) */
    HS_FUNCTION_ALIGN_SIZE,   /* p = f(align, size) */
    HS_FUNCTION_COUNT_SIZE,   /* p = f(count, size) */
    HS_FUNCTION_OUT,          /* error = f(&p, align, size) */
    HS_FUNCTION_EXPAND,       /* p = f(p, size): in place; NULL: unchanged */
    HS_FUNCTION_GROW,         /* size = f(p, size): in place; less than requested: unchanged */
    HS_FUNCTION_RESIZE,       /* p = f(p, size); NULL: the old block still exists */
    HS_FUNCTION_RESIZE_FREE,  /* the same; NULL: the old block was freed */
    HS_FUNCTION_RESIZE_COUNT, /* p = f(p, count, size) */
    HS_FUNCTION_RESIZE_LAST,  /* p = f(p, align, old size, size) */
    HS_FUNCTION_FREE,         /* f(p) */
    HS_FUNCTION_MOVE,         /* p = f(p, ...): the new block is not followed */
    HS_FUNCTION_MOVE_SECOND,  /* p = f(heap, p, ...): the same */
    HS_FUNCTION_MOVE_AT,      /* error = f(&p, ...): the same */
};

/* Allocators that have a function. */
enum hs_function_whose {
    HS_WHOSE_ALL = 0xff,
    HS_WHOSE_JEMALLOC = 1 << 0,
    HS_WHOSE_MIMALLOC = 1 << 1,
    HS_WHOSE_TCMALLOC = 1 << 2,
    HS_WHOSE_SNMALLOC = 1 << 3,
    HS_WHOSE_OTHER = 1 << 4,  /* an allocator whose prefix the user has given */
    HS_WHOSE_NOBODY = 1 << 5, /* C++'s operators: of any allocator, without a prefix */
};

#define HS_ALLOCATOR_FUNCTIONS(FUNCTION)                                                           \
    FUNCTION(malloc, SIZE, ALL)                                                                    \
    FUNCTION(free, FREE, ALL)                                                                      \
    FUNCTION(calloc, COUNT_SIZE, ALL)                                                              \
    FUNCTION(realloc, RESIZE, ALL)                                                                 \
    FUNCTION(reallocarray, RESIZE_COUNT, ALL)                                                      \
    FUNCTION(reallocf, RESIZE_FREE, ALL)                                                           \
    FUNCTION(cfree, FREE, ALL)                                                                     \
    FUNCTION(free_sized, FREE, ALL)                                                                \
    FUNCTION(free_aligned_sized, FREE, ALL)                                                        \
    FUNCTION(memalign, ALIGN_SIZE, ALL)                                                            \
    FUNCTION(aligned_alloc, ALIGN_SIZE, ALL)                                                       \
    FUNCTION(posix_memalign, OUT, ALL)                                                             \
    FUNCTION(valloc, SIZE, ALL)                                                                    \
    FUNCTION(pvalloc, SIZE, ALL)                                                                   \
    HS_JEMALLOC_FUNCTIONS(FUNCTION)                                                                \
    HS_MIMALLOC_FUNCTIONS(FUNCTION)                                                                \
    HS_TCMALLOC_FUNCTIONS(FUNCTION)                                                                \
    HS_OPERATOR_FUNCTIONS(FUNCTION)                                                                \
    FUNCTION(rust_alloc, ALIGN_SIZE, SNMALLOC)                                                     \
    FUNCTION(rust_alloc_zeroed, ALIGN_SIZE, SNMALLOC)                                              \
    FUNCTION(rust_dealloc, FREE, SNMALLOC)                                                         \
    FUNCTION(rust_realloc, RESIZE_LAST, SNMALLOC)                                                  \
    FUNCTION(aligned_realloc, MOVE, OTHER)

/* The names with sdallocx_noflags are internal to jemalloc, and called by its operator delete. */
#define HS_JEMALLOC_FUNCTIONS(FUNCTION)                                                            \
    FUNCTION(mallocx, SIZE, JEMALLOC)                                                              \
    FUNCTION(rallocx, RESIZE, JEMALLOC)                                                            \
    FUNCTION(xallocx, GROW, JEMALLOC)                                                              \
    FUNCTION(dallocx, FREE, JEMALLOC)                                                              \
    FUNCTION(sdallocx, FREE, JEMALLOC)                                                             \
    FUNCTION(sdallocx_noflags, FREE, JEMALLOC)                                                     \
    FUNCTION(je_sdallocx_noflags, FREE, JEMALLOC)                                                  \
    FUNCTION(je_je_sdallocx_noflags, FREE, JEMALLOC)

#define HS_MIMALLOC_FUNCTIONS(FUNCTION)                                                            \
    FUNCTION(malloc_small, SIZE, MIMALLOC)                                                         \
    FUNCTION(zalloc_small, SIZE, MIMALLOC)                                                         \
    FUNCTION(zalloc, SIZE, MIMALLOC)                                                               \
    FUNCTION(mallocn, COUNT_SIZE, MIMALLOC)                                                        \
    FUNCTION(malloc_aligned, SIZE, MIMALLOC)                                                       \
    FUNCTION(malloc_aligned_at, SIZE, MIMALLOC)                                                    \
    FUNCTION(zalloc_aligned, SIZE, MIMALLOC)                                                       \
    FUNCTION(zalloc_aligned_at, SIZE, MIMALLOC)                                                    \
    FUNCTION(calloc_aligned, COUNT_SIZE, MIMALLOC)                                                 \
    FUNCTION(calloc_aligned_at, COUNT_SIZE, MIMALLOC)                                              \
    FUNCTION(expand, EXPAND, MIMALLOC)                                                             \
    FUNCTION(reallocn, RESIZE_COUNT, MIMALLOC)                                                     \
    FUNCTION(realloc_aligned, RESIZE, MIMALLOC)                                                    \
    FUNCTION(realloc_aligned_at, RESIZE, MIMALLOC)                                                 \
    FUNCTION(rezalloc, RESIZE, MIMALLOC)                                                           \
    FUNCTION(rezalloc_aligned, RESIZE, MIMALLOC)                                                   \
    FUNCTION(rezalloc_aligned_at, RESIZE, MIMALLOC)                                                \
    FUNCTION(recalloc, RESIZE_COUNT, MIMALLOC)                                                     \
    FUNCTION(recalloc_aligned, RESIZE_COUNT, MIMALLOC)                                             \
    FUNCTION(recalloc_aligned_at, MOVE, MIMALLOC)                                                  \
    FUNCTION(aligned_recalloc, RESIZE_COUNT, MIMALLOC)                                             \
    FUNCTION(aligned_offset_recalloc, MOVE, MIMALLOC)                                              \
    FUNCTION(reallocarr, MOVE_AT, MIMALLOC)                                                        \
    FUNCTION(heap_realloc, MOVE_SECOND, MIMALLOC)                                                  \
    FUNCTION(heap_reallocn, MOVE_SECOND, MIMALLOC)                                                 \
    FUNCTION(heap_reallocf, MOVE_SECOND, MIMALLOC)                                                 \
    FUNCTION(heap_realloc_aligned, MOVE_SECOND, MIMALLOC)                                          \
    FUNCTION(heap_realloc_aligned_at, MOVE_SECOND, MIMALLOC)                                       \
    FUNCTION(heap_rezalloc, MOVE_SECOND, MIMALLOC)                                                 \
    FUNCTION(heap_rezalloc_aligned, MOVE_SECOND, MIMALLOC)                                         \
    FUNCTION(heap_rezalloc_aligned_at, MOVE_SECOND, MIMALLOC)                                      \
    FUNCTION(heap_recalloc, MOVE_SECOND, MIMALLOC)                                                 \
    FUNCTION(heap_recalloc_aligned, MOVE_SECOND, MIMALLOC)                                         \
    FUNCTION(heap_recalloc_aligned_at, MOVE_SECOND, MIMALLOC)                                      \
    FUNCTION(theap_realloc, MOVE_SECOND, MIMALLOC)                                                 \
    FUNCTION(free_size, FREE, MIMALLOC)                                                            \
    FUNCTION(free_aligned, FREE, MIMALLOC)                                                         \
    FUNCTION(free_size_aligned, FREE, MIMALLOC)                                                    \
    FUNCTION(free_small, FREE, MIMALLOC)                                                           \
    FUNCTION(ufree, FREE, MIMALLOC)                                                                \
    FUNCTION(umalloc, SIZE, MIMALLOC)                                                              \
    FUNCTION(ucalloc, COUNT_SIZE, MIMALLOC)                                                        \
    FUNCTION(urealloc, RESIZE, MIMALLOC)                                                           \
    FUNCTION(new, SIZE, MIMALLOC | HS_WHOSE_TCMALLOC)                                              \
    FUNCTION(new_nothrow, SIZE, MIMALLOC | HS_WHOSE_TCMALLOC)                                      \
    FUNCTION(new_aligned, SIZE, MIMALLOC | HS_WHOSE_TCMALLOC)                                      \
    FUNCTION(new_aligned_nothrow, SIZE, MIMALLOC | HS_WHOSE_TCMALLOC)                              \
    FUNCTION(new_n, COUNT_SIZE, MIMALLOC)                                                          \
    FUNCTION(new_realloc, RESIZE, MIMALLOC)                                                        \
    FUNCTION(new_reallocn, RESIZE_COUNT, MIMALLOC)

#define HS_TCMALLOC_FUNCTIONS(FUNCTION)                                                            \
    FUNCTION(malloc_skip_new_handler, SIZE, TCMALLOC)                                              \
    FUNCTION(newarray, SIZE, TCMALLOC)                                                             \
    FUNCTION(newarray_nothrow, SIZE, TCMALLOC)                                                     \
    FUNCTION(newarray_aligned, SIZE, TCMALLOC)                                                     \
    FUNCTION(newarray_aligned_nothrow, SIZE, TCMALLOC)                                             \
    FUNCTION(delete, FREE, TCMALLOC)                                                               \
    FUNCTION(delete_nothrow, FREE, TCMALLOC)                                                       \
    FUNCTION(delete_sized, FREE, TCMALLOC)                                                         \
    FUNCTION(delete_aligned, FREE, TCMALLOC)                                                       \
    FUNCTION(delete_aligned_nothrow, FREE, TCMALLOC)                                               \
    FUNCTION(delete_sized_aligned, FREE, TCMALLOC)                                                 \
    FUNCTION(deletearray, FREE, TCMALLOC)                                                          \
    FUNCTION(deletearray_nothrow, FREE, TCMALLOC)                                                  \
    FUNCTION(deletearray_sized, FREE, TCMALLOC)                                                    \
    FUNCTION(deletearray_aligned, FREE, TCMALLOC)                                                  \
    FUNCTION(deletearray_aligned_nothrow, FREE, TCMALLOC)                                          \
    FUNCTION(deletearray_sized_aligned, FREE, TCMALLOC)

#define HS_OPERATOR_FUNCTIONS(FUNCTION)                                                            \
    FUNCTION(_Znwm, SIZE, NOBODY)                                                                  \
    FUNCTION(_Znam, SIZE, NOBODY)                                                                  \
    FUNCTION(_ZnwmRKSt9nothrow_t, SIZE, NOBODY)                                                    \
    FUNCTION(_ZnamRKSt9nothrow_t, SIZE, NOBODY)                                                    \
    FUNCTION(_ZnwmSt11align_val_t, SIZE, NOBODY)                                                   \
    FUNCTION(_ZnamSt11align_val_t, SIZE, NOBODY)                                                   \
    FUNCTION(_ZnwmSt11align_val_tRKSt9nothrow_t, SIZE, NOBODY)                                     \
    FUNCTION(_ZnamSt11align_val_tRKSt9nothrow_t, SIZE, NOBODY)                                     \
    FUNCTION(_ZdlPv, FREE, NOBODY)                                                                 \
    FUNCTION(_ZdaPv, FREE, NOBODY)                                                                 \
    FUNCTION(_ZdlPvm, FREE, NOBODY)                                                                \
    FUNCTION(_ZdaPvm, FREE, NOBODY)                                                                \
    FUNCTION(_ZdlPvRKSt9nothrow_t, FREE, NOBODY)                                                   \
    FUNCTION(_ZdaPvRKSt9nothrow_t, FREE, NOBODY)                                                   \
    FUNCTION(_ZdlPvSt11align_val_t, FREE, NOBODY)                                                  \
    FUNCTION(_ZdaPvSt11align_val_t, FREE, NOBODY)                                                  \
    FUNCTION(_ZdlPvmSt11align_val_t, FREE, NOBODY)                                                 \
    FUNCTION(_ZdaPvmSt11align_val_t, FREE, NOBODY)                                                 \
    FUNCTION(_ZdlPvSt11align_val_tRKSt9nothrow_t, FREE, NOBODY)                                    \
    FUNCTION(_ZdaPvSt11align_val_tRKSt9nothrow_t, FREE, NOBODY)

/* How many allocators may be hooked at once: each set of names has a set of hooks. */
#define HS_ALLOCATOR_SETS 2U

/* The numbers of the functions. */
#define HS_FUNCTION_NUMBER(name, kind, whose) HS_NUMBER_##name,
enum hs_function_number {
    HS_ALLOCATOR_FUNCTIONS(HS_FUNCTION_NUMBER) HS_ALLOCATOR_FUNCTION_COUNT,
};
