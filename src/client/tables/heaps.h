/*
 * The heaps of this process: malloc's, and those that the program registers or that have functions
 * of their own.
 *
 * A heap has an id, which never changes and is never used again. What is known of it is kept here,
 * because the elements of HEAPS are written anew in each region.
 *
 * Settings. The control page has an interval for malloc's heap, and rules for all others. When a
 * setting changes, the next report of any thread (hooks/heap_report.h) calls hs_heaps_pick_up,
 * which writes the interval of each heap into its element.
 *
 * Ensures   an element says HS_HEAP_NAMED before a stack of the heap is stored.
 * Threads   any. One thread adds a heap at a time: the others wait for it, so that no call comes
 *           from a signal handler that interrupted another one (callers block signals).
 * Fails     hs_heaps_add returns 0 when there are 256 heaps, no memory for the index of blocks, or
 *           when a thread that is adding one does not go on.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/tables/region.h"
#include "fmt/region_layout.h"
#include "rt/atomic.h"

/* Adds a heap, and names it in the region if the client is recording. `name` is cut to 63 bytes.
 * `flags`: enum hs_heap_flag without HS_HEAP_NAMED. `parent`: id + 1, or 0. Returns its id, or 0.
 * Signals are blocked. */
uint8_t hs_heaps_add(const char *name, uint32_t flags, uint32_t parent);

/* In a forked child: a thread that was adding a heap does not exist there. */
void hs_heaps_follow_fork(void);

/* Writes the elements of all heaps, for a new region. */
void hs_heaps_write_all(void);

/* Writes the rules of the environment (HS_ENV_HEAPS) into the control page. */
void hs_heaps_select(const char *text);

/* Writes the intervals that the present settings say into the elements. */
void hs_heaps_pick_up(void);

/* Says in the elements that no heap is recorded: the client has been switched off. */
void hs_heaps_switch_off(void);

/* The interval that the present settings say for a heap; HS_INTERVAL_OFF: it is not recorded. */
uint64_t hs_heaps_wanted_interval(uint8_t heap_id);

/* Do the present settings say that a heap of this name is recorded? It need not have been added. */
bool hs_heaps_is_wanted(const char *name);

/* The interval that they say for it; HS_INTERVAL_OFF: it is not recorded. */
uint64_t hs_heaps_named_interval(const char *name);

/* Is a heap other than malloc's recorded, as of the last pick-up? */
bool hs_heaps_is_any_recorded(void);

/* Marks a heap whose samples the program chooses itself. */
void hs_heaps_set_own_samples(uint8_t heap_id);

/* --- hot -------------------------------------------------------------------------------------- */

/* The settings that the elements' intervals were taken from: control.generation. */
extern HS_HIDDEN uint32_t hs_heaps_generation;

/* Have the settings changed since? */
static inline bool hs_heaps_is_outdated(void)
{
    return hs_load_relaxed(&hs_heaps_generation) !=
           hs_load_relaxed(&hs_control_page.control.generation);
}

/* The element of a heap. There is a region. */
static inline struct hs_heap_v2 *hs_heaps_element(uint8_t heap_id)
{
    return hs_region_at(HS_SECTION_HEAPS, heap_id);
}
