/*
 * The real allocator: whatever the program would have used without us.
 *
 * The next definition after ours in the loader's order: the C library's, or that of a jemalloc,
 * tcmalloc or mimalloc that is linked or preloaded. Never __libc_malloc behind its back: a block
 * would then be freed by another allocator than it came from.
 *
 * Holds     every pointer can be called at any time: until resolved they lead to functions that
 *           resolve and then call. What the C library lacks is made up from what it has.
 * Threads   any; resolving is idempotent and takes no lock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "rt/base.h"

struct link_map;

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
    bool
        is_preloaded; /* our functions are found before the allocator's own; not when we were loaded later */
    bool
        has_own_malloc; /* the executable defines malloc, without a detour: it does not come to us */
    bool is_defined_in_program; /* the executable defines malloc, with or without a detour */
    bool is_foreign;            /* what serves malloc is not the C library */
    void *(*found_malloc)(
        size_t);                 /* malloc as it was found, whatever stands in its place: hooks.c */
    const struct link_map *self; /* the loader's entry for us, and its handle */
};

extern HS_HIDDEN struct hs_real hs_real;

void hs_real_resolve(void);

/* Detours have been added: what was found remains good to call, but leads to our hooks from now on. */
void hs_real_resolve_again(void);

/* The C library. NULL: another one than glibc. */
const struct link_map *hs_real_libc(void);

/* Finds a function for a hook; NULL when no library that was there at the start defines it. */
void *hs_real_find(const char *name);

/*
 * Is the real `name`, one of C++'s operators, the C++ library's own, and does what it calls lead to our hooks? Then it
 * is malloc, aligned_alloc or free with nothing around it but what happens when memory is short. Not when the program
 * replaces an operator: the library's others may call that one.
 */
bool hs_real_is_plain_operator(const char *name, bool is_aligned);

/* The same of those of a C++ library that was loaded late, where nobody defined them at the start. */
bool hs_real_is_plain_runtime(bool is_aligned);

/* By the path it was loaded from. */
bool hs_real_is_cxx_library(const char *path);
