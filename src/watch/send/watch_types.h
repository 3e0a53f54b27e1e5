/*
 * The types of the blocks of a process that is watched, which a watch worker reads itself.
 *
 * The worker begins with what the collector that forked it has read until then. From then on it
 * reads by itself, in its own time, and with the rights that it has: where these do not suffice,
 * blocks that are younger than the watch have not been read.
 *
 *     hs_watch_types_begin(&types, &target->session.types);      in the worker
 *     is_new = hs_watch_types_read(&types, pid, &region, now_ns);       before each look
 *     types.is_due |= the look has found changes;
 *
 * Cost      at most HS_WATCH_TYPES_NS of CPU time at once, and of all time one part in
 *           HS_WATCH_TYPES_SHARE.
 * Threads   one.
 * Fails     never: what cannot be read stays as it was.
 * See       collect/typed_records.h
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/typed_records.h"

#define HS_WATCH_TYPES_NS    UINT64_C(5000000)
#define HS_WATCH_TYPES_SHARE 200U
#define HS_WATCH_TYPES_PAUSE UINT64_C(1000000000) /* ns: the least time between two readings */

/* Zeroed: types are not looked for. */
struct hs_watch_types {
    struct hs_typed_records typed;
    bool is_wanted;
    bool is_due;      /* records have changed since they were read */
    uint64_t next_ns; /* CLOCK_MONOTONIC: when they are read again */
};

/* Begins with what the collector knows. NULL: types are not wanted. Only in a process that ends
 * without freeing what the collector had: the memory is that of the fork. */
void hs_watch_types_begin(struct hs_watch_types *types, const struct hs_typed_records *known);
/* Reads them, if that is due and affordable, and gives them to the region; `pid` 0: the process is
 * gone. True: some block was read. */
bool hs_watch_types_read(struct hs_watch_types *types, pid_t pid, struct hs_region *region,
                         uint64_t now_ns);
