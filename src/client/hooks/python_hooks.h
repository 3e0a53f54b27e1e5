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
 * Frees. The compiler has inlined pymalloc's free where the interpreter calls it, and a call of
 * ours in its place costs more than all else here. It is not needed for objects outside pymalloc's
 * arenas: their free, like that of larger objects, goes on to malloc's, whose hook knows the
 * samples. So samples are moved. Pymalloc is asked for nothing (0 bytes), which it passes on to
 * malloc, and our hook of malloc returns a block for the object instead. The interpreter's count of
 * such blocks is right then, and whatever it does with larger objects, it can do with a sample. The
 * block is recorded in this heap, but in the table of malloc's (tables/live.h). A realloc moves the
 * object back.
 *
 *     malloc(24) --> python_malloc -- 1 of 600 is hit --> pymalloc.malloc(0) --> malloc(1) --> hook
 *     free(ptr)  --> pymalloc's free: not in an arena --> free(ptr) --> hook: forgets the sample
 *
 * If anything stands between pymalloc and malloc (debug hooks, the program's own functions), the
 * request for one byte does not arrive as such, or another address comes back. Then, and at small
 * intervals, at which many objects would be moved, free is redirected, and samples stay where they
 * are. Our free asks the free filter of malloc's heap (tables/filter.h): pymalloc's blocks are
 * aligned to 16 bytes and are not malloc's, so a bit for each tells as little as nothing of
 * malloc's.
 *
 * Threads   any, also those without the interpreter's lock.
 * Fails     only as the real functions fail. A sample that cannot be moved is counted as lost.
 * See       patch/python_slots.h, docs/adr/0034-python-objects.md
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "arch/regs.h"
#include "client/tables/thread_state.h"
#include "rt/base.h"

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

/* For malloc's hook, when hs_python_tls.asked_bytes is not 0. */
void *hs_python_give(void);

/* --- hot -------------------------------------------------------------------------------------- */

/* The slow half of realloc()'s hook says which block it is called for. */
static inline void hs_python_note_realloc(const void *ptr)
{
    if (hs_unlikely(hs_python_tls.moved_va == (uintptr_t)ptr)) {
        hs_python_tls.moved_va = 0;
    }
}
