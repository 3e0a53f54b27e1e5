/*
 * The functions of allocators under names of their own, without the prefix that makes them one allocator's: je_, mi_.
 *
 * Both sides have this list: who attaches looks for its names in the program, the client has a hook for each, of
 * which the place in the list is the number (fmt/ctl_layout.h); as many hooks as there may be sets of names, set by set.
 *
 *     FUNCTION(name, kind, whose)
 *
 * Kinds say how a function takes its arguments: its integers, of which all that come before the last one named here
 * are in this order. More may follow.
 *
 * Whose they are matters where a prefix is known: MyISAM's mi_delete is not mimalloc's.
 *
 * Holds     what frees is all here, as far as the allocators' headers say. What only allocates may be missing, and is
 *           where blocks can also be freed all at once (mi_heap_malloc): they are not seen.
 * See       docs/adr/0014-detours.md
 */
#pragma once

enum hs_function_kind {
    HS_FUNCTION_SIZE,        /* p = f(size) */
    HS_FUNCTION_ALIGN_SIZE,  /* p = f(align, size) */
    HS_FUNCTION_COUNT_SIZE,  /* p = f(count, size) */
    HS_FUNCTION_OUT,         /* error = f(&p, align, size) */
    HS_FUNCTION_EXPAND,      /* p = f(p, size): in place; NULL: it is as it was */
    HS_FUNCTION_GROW,        /* size = f(p, size): in place; less than asked for: it is as it was */
    HS_FUNCTION_RESIZE,      /* p = f(p, size): NULL, and the old one is there still */
    HS_FUNCTION_RESIZE_FREE, /* the same: NULL, and it is not */
    HS_FUNCTION_RESIZE_COUNT, /* p = f(p, count, size) */
    HS_FUNCTION_RESIZE_LAST,  /* p = f(p, align, old size, size) */
    HS_FUNCTION_FREE,         /* f(p) */
    HS_FUNCTION_MOVE,         /* p = f(p, ...): what becomes of p is not seen */
    HS_FUNCTION_MOVE_SECOND,  /* p = f(heap, p, ...): the same */
    HS_FUNCTION_MOVE_AT,      /* error = f(&p, ...): the same */
};

enum hs_function_whose {
    HS_WHOSE_ALL = 0xff,
    HS_WHOSE_JEMALLOC = 1 << 0,
    HS_WHOSE_MIMALLOC = 1 << 1,
    HS_WHOSE_TCMALLOC = 1 << 2,
    HS_WHOSE_SNMALLOC = 1 << 3,
    HS_WHOSE_OTHER = 1 << 4,  /* of a prefix that the user has given */
    HS_WHOSE_NOBODY = 1 << 5, /* C++'s operators: of any, and without a prefix */
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

/* Those with sdallocx_noflags in their name are its own, and called by its operator delete. */
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

/* So many allocators at once: each set of names has a set of hooks. */
#define HS_ALLOCATOR_SETS 2U

/* Their numbers. */
#define HS_FUNCTION_NUMBER(name, kind, whose) HS_NUMBER_##name,
enum hs_function_number {
    HS_ALLOCATOR_FUNCTIONS(HS_FUNCTION_NUMBER) HS_ALLOCATOR_FUNCTION_COUNT,
};
