/*
 * The real allocator: the functions that the program would have used without the client.
 *
 * If the client is preloaded, they are the next definitions after ours in the loader's order; if it
 * was loaded later, the first ones. So they are the C library's, or those of a jemalloc, tcmalloc
 * or mimalloc that is linked or preloaded. They never bypass such an allocator by calling
 * __libc_malloc: a block would then be freed by another allocator than the one that returned it.
 * For a function that has a detour they are the code that stands for its old entry
 * (patch/detours.h).
 *
 * Holds     every pointer can be called at any time: at first it points to a function that resolves
 *           all pointers and then calls the real function. A function that the C library lacks is
 *           built from functions that it has.
 * Threads   any; resolving is idempotent and takes no lock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "rt/base.h"

struct link_map;

/* The real functions, and how they were found. entry.S knows some of the offsets. */
struct hs_real {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
    void (*free_sized)(void *, size_t);
    void (*free_aligned_sized)(void *, size_t, size_t);
    void *(*memalign)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    int (*dlclose)(void *);
    int (*prctl)(int, unsigned long, unsigned long, unsigned long, unsigned long);
    long (*syscall)(long, long, long, long, long, long, long);
    void *(*dlopen)(const char *, int);
    void *(*dlsym)(void *, const char *);
    void *(*dlvsym)(void *, const char *, const char *);
    void *(*dlmopen)(long, const char *, int);
    bool is_resolved;
    /* The loader finds our functions before the allocator's own; false when the client was loaded
     * later. */
    bool is_preloaded;
    /* The executable defines malloc, without a detour: its calls do not come to our hooks. */
    bool has_own_malloc;
    bool is_defined_in_program; /* the executable defines malloc, with or without a detour */
    bool is_foreign;            /* malloc is not served by the C library */
    /* malloc as it was found, even while another function stands in its place: hooks.c. */
    void *(*found_malloc)(size_t);
    const struct link_map *self; /* the loader's entry for the client, which is also its handle */
    /* The loader loaded the client with the program. Always so if is_preloaded; otherwise the
     * client is libheapscope_malloc.so, and an allocator's library was linked before it. */
    bool is_from_start;
    /* Another client's library comes first in the loader's order: this one only forwards. */
    bool is_second;
    const struct link_map *other_client; /* the client's other library; NULL: it is not loaded */
    /* What maps memory: hooks/hooks_mmap.c. */
    void *(*mmap)(void *, size_t, int, int, int, long);
    int (*munmap)(void *, size_t);
    void *(*mremap)(void *, size_t, size_t, int, void *);
    int (*mprotect)(void *, size_t, int);
    int (*pkey_mprotect)(void *, size_t, int, int);
    int (*brk)(void *);
    void *(*sbrk)(long);
};

/* Those of this process. */
extern HS_HIDDEN struct hs_real hs_real;

struct hs_detours_v1;
/* The detours of this process, which patch/detours.h adds and the collector reads from outside.
 * What has a detour is called through it. */
extern struct hs_detours_v1 heapscope_detours_v1;

/* Resolves all pointers, once. */
void hs_real_resolve(void);

/* Resolves again, after detours have been added: the functions found before can still be called,
 * but lead to our hooks from now on. */
void hs_real_resolve_again(void);

/* The C library. NULL: it is not glibc. */
const struct link_map *hs_real_libc(void);

/* The real function of a hook. NULL: no library that was there at the start defines it. */
void *hs_real_find(const char *name);

/* Is the real `name`, one of C++'s operators, the C++ library's own, and do the functions that it
 * calls lead to our hooks? Then it is malloc, aligned_alloc or free, except for what it does when
 * memory is short. False when the program replaces an operator, because the library's other
 * operators may call that one. */
bool hs_real_is_plain_operator(const char *name, bool is_aligned);

/* The same for the operators of a C++ library that was loaded late, when no object defined them at
 * the start. */
bool hs_real_is_plain_runtime(bool is_aligned);

/* Is a library with this path a C++ runtime? */
bool hs_real_is_cxx_library(const char *path);
