/*
 * The hooks of pymalloc, CPython's allocator of small objects: the heap `python.obj`.
 *
 * Pymalloc serves requests of 1 to 512 bytes; what is larger it passes on to malloc, and the hooks
 * of malloc record it. So only requests of this size are counted down and recorded here, and no
 * byte is counted twice. A realloc is the exception: a block that malloc serves stays with malloc,
 * also when it becomes small. The slow half finds that out (hs_python_note_realloc).
 *
 * Sampling is that of hooks/sampler.h, with a countdown of the heap's own in each thread: while the
 * hot halves use it, its word `left_bytes` is in hs_python_tls. A request that turns out to be
 * malloc's has been counted down all the same. That does no harm: the points of a Poisson process
 * that fall on such bytes are left out, and the others are as far apart as they would be without.
 *
 * A free asks the free filter of malloc's heap (tables/filter.h): pymalloc's blocks are aligned to
 * 16 bytes and are not malloc's, so a bit for each tells as little as nothing of malloc's.
 *
 * Threads   any, also those without the interpreter's lock.
 * Fails     only as the real functions fail.
 * See       patch/python_slots.h, docs/adr/0034-python-objects.md
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "arch/regs.h"
#include "client/tables/thread_state.h"
#include "rt/base.h"

/* Pymalloc's limit: SMALL_REQUEST_THRESHOLD. */
#define HS_PYTHON_SMALL_BYTES 512U

/* The functions of an allocator that allocate. */
enum hs_python_call {
    HS_PYTHON_MALLOC,  /* (ctx, size) */
    HS_PYTHON_CALLOC,  /* (ctx, count, size) */
    HS_PYTHON_REALLOC, /* (ctx, ptr, size) */
};

/* The entry of the slow half (src/arch). */
void *hs_entry_python(void *ctx, uintptr_t arg1, size_t arg2, uint64_t call);
/* The slow half. */
void *hs_slow_python(void *ctx, uintptr_t arg1, size_t arg2, uint64_t call,
                     const struct hs_regs *regs);

/* --- hot -------------------------------------------------------------------------------------- */

/* The slow half of realloc()'s hook says which block it is called for. */
static inline void hs_python_note_realloc(const void *ptr)
{
    if (hs_unlikely(hs_python_tls.moved_va == (uintptr_t)ptr)) {
        hs_python_tls.moved_va = 0;
    }
}
