/*
 * The control page of a region, as the collector writes it: through it the collector tells the
 * client what to do. The client's threads notice at their next allocation.
 *
 * Threads   one writer.
 * Fails     never.
 * See       fmt/region_layout.h
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/region/heap_selection.h"
#include "collect/region/region_reader.h"

/* The present interval: mean bytes between samples; 0: the client records nothing. */
uint64_t hs_region_control_interval(const struct hs_region *region);
/* Begins to record these heaps at this interval. */
void hs_region_control_begin(struct hs_region *region, uint64_t interval_bytes,
                             const struct hs_heap_page *heaps);
/* The client records nothing any more. The page selects all heaps again, for who comes next. */
void hs_region_control_end(struct hs_region *region);
/* Sets another interval and other heaps while the client records. A client that has switched itself
 * off stays off: it may make no system calls any more, see client/host/sandbox.h. */
void hs_region_control_set_interval(struct hs_region *region, uint64_t interval_bytes,
                                    const struct hs_heap_page *heaps);
/* Does the control page select these heaps? A region of version 1 has no selection: always true. */
bool hs_region_control_has_heaps(const struct hs_region *region, const struct hs_heap_page *heaps);

/* The heaps that the control page selects. Of a region of version 1: all. */
void hs_region_control_get_heaps(const struct hs_region *region, struct hs_heap_page *ret_heaps);

/* Has each thread of the client look at the control page again, at its next allocation, after
 * something else in it was changed. */
void hs_region_control_announce(struct hs_region *region);

/* Makes the client create another region, at its next allocation. The client
 * announces it by another hello, and does not write to this region any more. Under a seccomp filter
 * that limits the client nothing happens. */
void hs_region_control_renew(struct hs_region *region, uint64_t interval_bytes,
                             const struct hs_heap_page *heaps);

/* Writes down which collector records the process, for other collectors that come. */
void hs_region_control_set_collector(struct hs_region *region, pid_t pid, uint64_t start_ticks);
/* A session has left out heaps that the bound process records itself: for other collectors that
 * come. */
void hs_region_control_set_partial(struct hs_region *region);
bool hs_region_control_is_partial(const struct hs_region *region);
/* Writes the current time (CLOCK_MONOTONIC). */
void hs_region_control_set_clock(struct hs_region *region, uint64_t now_ns);
/* Sets the size up to which the client lets its tables of samples grow (0: no limit), and whether
 * it times its own work. */
void hs_region_control_set_limits(struct hs_region *region, uint64_t memory_bytes, bool is_timed);
