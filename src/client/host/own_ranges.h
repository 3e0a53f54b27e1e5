/*
 * A list of the anonymous memory that the client has mapped for itself. A collector reads it in the
 * process's memory (fmt/region_layout.h: struct hs_own_ranges_v2) and counts that memory as
 * heapscope's. The kernel joins neighbouring mappings, so nothing else tells it from the program's.
 *
 * Threads   any; async-signal-safe: no lock, and no allocator.
 * Fails     never. A range for which there is no room is not in the list.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "fmt/region_layout.h"

extern struct hs_own_ranges_v2 hs_own_ranges;

/* Adds a range that begins with a page. */
void hs_own_ranges_add(const void *start, size_t bytes);
/* Removes a range, or the end of one, before it is unmapped. */
void hs_own_ranges_remove(const void *start, size_t bytes);
