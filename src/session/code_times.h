/*
 * Until when code made at run time counts for the names of a dump: for each of its addresses, the
 * time at which the oldest live block was allocated through it.
 *
 * Code that is at the address when the dump is taken may be other code: the address may have been
 * used again since the block was allocated. Blocks are counted in windows of time
 * (trace/heap_births.h); the end of the window stands for the time.
 *
 * Threads   none.
 * Fails     -ENOMEM.
 * See       symbol/jitdump.h, which compares these times with those of a jitdump
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "symbol/symbol_request.h"
#include "trace/snapshot.h"

/* Sets *ret_times to a list of the addresses, in their order, of those of `count` frames that are
 * code made at run time and of which a time is known. The caller frees it. */
int hs_code_times_find(const struct hs_snapshot *snap, const uint32_t *frame_ids, size_t count,
                       struct hs_symbol_pc_time **ret_times, size_t *ret_count);
