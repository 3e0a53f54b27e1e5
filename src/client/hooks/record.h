/*
 * Recording one sampled allocation, and forgetting it when it is freed: the only file that knows
 * all the tables. The essay of record.c says what happens in which order.
 *
 *   guard -> thread state -> stack (replay, otherwise walk and intern) -> live table -> totals
 *
 * Threads   any. Inside a signal handler that interrupted our own code on the same thread, an
 *           allocation is counted as lost; a free is still done.
 * Fails     a sample that cannot be recorded is lost and counted under its reason; the program
 *           notices nothing. errno is not changed: no function called here sets it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/regs.h"
#include "client/hooks/sampler.h"
#include "client/tables/live.h"

/* Records a sampled allocation; called after the real function returned `ptr`. `regs`: the caller's
 * registers at the return from the hook. A failure is counted as a loss. */
void hs_record_alloc(const void *ptr, size_t size_bytes, const struct hs_sample *sample,
                     const struct hs_regs *regs);

/* The same for a block of another heap that malloc serves: its free comes to malloc's hooks. */
void hs_record_alloc_in(uint8_t heap_id, const void *ptr, size_t size_bytes,
                        const struct hs_sample *sample, const struct hs_regs *regs);

/* Forgets a block; called before the real free. True: the block was recorded, and *ret_block (may
 * be NULL) says what it was. */
bool hs_record_free(const void *ptr, struct hs_live_block *ret_block);

/* Undoes hs_record_free, after a realloc that failed. */
void hs_record_put_back(const struct hs_live_block *removed);

/* Called when modules may have gone: cached unwind rules and replay paths are derived anew. */
void hs_record_flush(void);
