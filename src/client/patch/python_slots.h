/*
 * The structures through which a CPython interpreter calls its allocator of small objects
 * (pymalloc), redirected to our hooks.
 *
 * CPython takes objects of up to 512 bytes from arenas that it maps itself, so malloc's hooks see
 * none of them. It calls the allocator through structures of a context and four functions
 * (PyMemAllocatorEx), one for each of its domains. PyMem_GetAllocator(), which is part of its API,
 * says which functions these are, and PyMem_SetAllocator() would set others. We store the addresses
 * of our hooks in the structures themselves: each store is one word, so a thread that calls an
 * allocator meanwhile calls the old function or ours, with the same context. That needs no lock of
 * the interpreter, can be undone, and reaches the copies that the interpreter keeps while its debug
 * hooks or tracemalloc stand in front of pymalloc.
 *
 * The structures are found once, by the four addresses of pymalloc, in the interpreter's writable
 * data. An interpreter that begins anew writes them again: hs_python_slots_set() may be called at
 * any time, and only changes those that hold pymalloc's functions.
 *
 * Left alone are interpreters that use malloc or mimalloc for objects (PYTHONMALLOC, free-threaded
 * builds), that export no PyMem_GetAllocator, and all but the first that is found.
 *
 * Threads   any; a thread that finds another one at work does nothing. Finding: no object may be
 *           half loaded meanwhile.
 * Fails     an interpreter that is not understood is left alone.
 * See       docs/adr/0034-python-objects.md
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rt/base.h"

/* The functions of an allocator of CPython, as they follow the context in PyMemAllocatorEx. */
struct hs_python_functions {
    void *(*malloc)(void *ctx, size_t size_bytes);
    void *(*calloc)(void *ctx, size_t count, size_t size_bytes);
    void *(*realloc)(void *ctx, void *ptr, size_t size_bytes);
    void (*free)(void *ctx, void *ptr);
};

/* Pymalloc's own. They are set before any call can reach our hooks. */
extern HS_HIDDEN struct hs_python_functions hs_python_real;

/* Our hooks (hooks/python_hooks.c). Weak: tests link the client without them. */
extern const struct hs_python_functions hs_python_hooks __attribute__((weak));

/* Looks for an interpreter in the objects that are loaded, if none is known. True: there is one.
 * (Weak, like the others: tests link the client without its hooks.) */
__attribute__((weak)) bool hs_python_slots_find(void);

/* Is an interpreter known? It is forgotten when its library is unloaded. */
__attribute__((weak)) bool hs_python_slots_are_known(void);

/* Does a call of mmap that returns to `pc` map an arena, from which pymalloc takes its blocks? */
__attribute__((weak)) bool hs_python_slots_maps_arena(uint64_t pc, size_t len_bytes);

/* Which of the interpreter's calls lead to our hooks. */
enum hs_python_redirect {
    HS_PYTHON_NONE,
    HS_PYTHON_ALLOCS, /* malloc, calloc and realloc: the compiler's inlined free stays in use */
    HS_PYTHON_ALL,    /* also free */
};

/* Redirects the calls, or sets them back. False: not now, and nothing was done. */
__attribute__((weak)) bool hs_python_slots_set(enum hs_python_redirect how);

/* Called before and after a library is unloaded: in between nothing is stored in the structures,
 * and then an interpreter that has gone is forgotten. */
void hs_python_slots_before_unload(void);
void hs_python_slots_after_unload(void);

/* In a forked child: a thread that was at work does not exist there. */
__attribute__((weak)) void hs_python_slots_follow_fork(void);
