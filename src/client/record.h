/*
 * Recording one sampled allocation, and forgetting it: the only file that knows all the tables.
 *
 *   guard → this thread's state → stack (replay, else walk and intern) → totals → live table
 *
 * Threads   any. Inside a signal handler that interrupted our own code on the same thread, an
 *           allocation is counted as lost, and a free is still done.
 * Fails     the sample is lost and counted; the program notices nothing. errno is not touched: no
 *           call made here sets it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/regs.h"
#include "client/live.h"
#include "client/sampler.h"

/* Before the first record in a region. */
bool hs_record_init(void);

/* What was learnt of code and stacks is forgotten. Nobody else may be recording meanwhile. */
void hs_record_clear(void);

/* Births are counted from the start that the region's header says. */
void hs_record_start_clock(void);

/* After the real allocation. `regs`: at the return from the hook. */
void hs_record_alloc(const void *ptr, size_t size_bytes, const struct hs_sample *sample,
                     const struct hs_regs *regs);

/* Before the real free. True when it was recorded; *ret_block (NULL allowed) is what was forgotten. */
bool hs_record_free(const void *ptr, struct hs_live_block *ret_block);

/* Undoes hs_record_free, for a realloc that failed. */
void hs_record_put_back(const struct hs_live_block *removed);

/* Modules may have gone: cached unwind rules and paths are worked out anew. */
void hs_record_flush(void);

/* --- hot ------------------------------------------------------------------------------------- */

/* Before the real allocation, if it is going to be recorded: what is far away may come meanwhile. */
static inline void hs_record_prefetch(const struct hs_regs *regs)
{
    const struct hs_thread *thread = hs_tls.self;
    if (hs_likely(thread != NULL)) {
        hs_replay_prefetch(&thread->replay, regs);
    }
}
