/*
 * The text that massif writes, for ms_print, massif-visualizer and whatever else draws it.
 *
 *     snapshot=3
 *     time=1200
 *     mem_heap_B=4096
 *     heap_tree=peak
 *     n1: 4096 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 *      n0: 4096 0x401136: parse (parse.c:12)
 *
 * Every dump is a snapshot, with the live memory of all chosen processes at that time; one before them is the
 * empty heap. The tree of callers, from the allocating function outwards, is given for the chosen dump, and for
 * the peak where that was recorded. Time is milliseconds, or where a file knows no times, bytes allocated.
 *
 * As massif does it, callers below 1 % are added up, and stacks are shown to 30 calls.
 *
 * Threads   one call is one user.
 * Fails     -ENOMEM, what the buffer says, HS_SELECT_E_*.
 */
#pragma once

#include "profile/profile.h"
#include "profile/select.h"

struct hs_buf;

int hs_massif_write(const struct hs_profile *profile, const struct hs_select_spec *select,
                    struct hs_buf *buf);
