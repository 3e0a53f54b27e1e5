/*
 * The text format of massif, for ms_print, massif-visualizer and other tools that draw it.
 *
 *     snapshot=3
 *     time=1200
 *     mem_heap_B=4096
 *     heap_tree=peak
 *     n1: 4096 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 *      n0: 4096 0x401136: parse (parse.c:12)
 *
 * Every dump becomes a snapshot with the live memory of all selected processes at that time. A
 * snapshot before the first one is the empty heap. The selected dump has a tree of callers, from
 * the allocating function outwards; so has the peak if it was recorded. Time is in milliseconds, or
 * in allocated bytes for a file without times.
 *
 * As in massif, callers below 1 % are summed up, and stacks are cut at 30 calls.
 *
 * Threads   each call has one user.
 * Fails     -ENOMEM, the error of the buffer, HS_SELECT_E_*.
 */
#pragma once

#include "profile/analyse/select.h"
#include "profile/model/profile.h"

struct hs_buf;

/* Writes the dumps up to the selected ones. Returns 0, -errno or HS_SELECT_E_*. */
int hs_massif_write(const struct hs_profile *profile, const struct hs_select_spec *select,
                    struct hs_buf *buf);
