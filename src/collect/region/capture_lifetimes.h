/*
 * The lifetimes of a snapshot: how long the freed blocks of each stack lived.
 *
 *     open the cut:   hs_lifetime_copy_read(region, !parity, &before)
 *     after it:       hs_lifetime_copy_read(region, parity, &after)
 *                     hs_capture_lifetimes(&before, &after, ...)
 *     totals settled: hs_capture_lifetimes_rest(snap)
 *
 * The section is sparse, and is read with pread, so that its holes stay holes. The sums of a parity
 * do not change while they are read, for the same reason as those of stacks: see capture.h.
 *
 * Ensures   of each stack: alloc = live + the sum over all classes of lifetimes, in bytes; in
 *           objects too, where every allocation was recorded. What was freed and is in no class
 *           (the free was under way at the instant, or the client had no room) is of an unknown
 *           lifetime.
 * Trust     the target may have written anything: sums are made finite and not negative.
 * Fails     -ENOMEM, -EPROTO
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "collect/region/region_reader.h"
#include "trace/snapshot.h"

/* Sums of one parity, of the stacks that have any, in the order of their ids. */
struct hs_lifetime_copy {
    uint32_t *stack_ids;
    struct hs_lifetime_totals_v2 *totals;
    size_t count, id_capacity, totals_capacity;
};

/* Whether the client of this region measures lifetimes, or has. */
bool hs_capture_has_lifetimes(const struct hs_region *region);

/* Reads the sums of a parity, in place of what *copy had. 0, or see Fails. */
int hs_lifetime_copy_read(const struct hs_region *region, unsigned parity,
                          struct hs_lifetime_copy *copy);
/* Frees what *copy has. */
void hs_lifetime_copy_deinit(struct hs_lifetime_copy *copy);

/* What is known of heaps. */
struct hs_lifetime_choice {
    const uint16_t *carved_heaps; /* as in struct hs_record_scan */
    const uint64_t *widest_bytes; /* the widest interval, by heap */
};

/* Adds up both, and fills in snap->lifetimes. What a stack has allocated is raised to what lives
 * and what was freed: an allocation that is under way may be in these and not in that. 0, or see
 * Fails. */
int hs_capture_lifetimes(const struct hs_lifetime_copy *before,
                         const struct hs_lifetime_copy *after,
                         const struct hs_lifetime_choice *choice, struct hs_snapshot *snap);
/* Puts what was allocated, does not live and is in no class into that of unknown lifetimes. 0, or
 * see Fails. */
int hs_capture_lifetimes_rest(struct hs_snapshot *snap);
