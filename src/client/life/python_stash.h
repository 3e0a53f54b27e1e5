/*
 * Memory of malloc's for samples of Python's small objects (hooks/python_hooks.h): blocks that were
 * allocated ahead, side by side.
 *
 * A small object can live for long, and what lies beside it in malloc's heap cannot be joined, or
 * given back, meanwhile. If each sample were allocated when it is needed, such samples would stand
 * between all large blocks of the program. So blocks of each size are allocated many at a time.
 * Each is a block of its own, which free() can free, at any time and without us.
 *
 * Holds     a block in the list is allocated, and the program does not know it.
 * Threads   any; a thread that finds another one at work allocates by itself.
 * Fails     NULL without memory.
 */
#pragma once

#include <stddef.h>

/* Pymalloc's limit: SMALL_REQUEST_THRESHOLD. */
#define HS_PYTHON_SMALL_BYTES 512U

/* A block of at least `size_bytes`, which is 1 to HS_PYTHON_SMALL_BYTES. */
void *hs_python_stash_take(size_t size_bytes);

/* In a forked child: a thread that was at work does not exist there. */
void hs_python_stash_follow_fork(void);
