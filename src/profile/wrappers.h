/*
 * Allocation wrappers: functions that allocate what their caller asked for, like x264_malloc or lua's l_alloc.
 *
 * Nobody who asks where the memory went wants the answer "to the wrapper". Wrappers of well-known libraries are found by
 * name (frame_class.h); each program has others of its own, which this file finds in the folded tree. A function is a
 * wrapper when nearly all that is allocated under it is allocated by itself, directly through one allocating function, and
 *
 *   - its name says that it allocates (stgMallocBytes, __zend_realloc), and it has a caller in the program; or
 *   - its name says so less clearly (l_alloc, pool_allocate), and callers get blocks of different sizes from it; or
 *   - it is called inside a function whose name says nothing else than that it allocates (luaM_realloc_); or
 *   - it has no name, as in a stripped program, and some callers, who get blocks of very different sizes; or
 *   - it has many callers, none of which is responsible for most of it, and they get blocks of very different sizes.
 *
 * A wrapper gets the class HS_FRAME_CLASS_ALLOCATOR, so that its callers are named instead of it. Wrappers are
 * looked for again until there are no more, since wrappers call each other.
 *
 * The last rules look at one profile's figures. So two profiles of one program may have different wrappers, and what compares
 * profiles (diff, trend) must not use them.
 *
 * Threads   one at a time for a tree.
 * Fails     -ENOMEM; the tree is then as it was, or has some of its wrappers.
 */
#pragma once

#include "profile/aggregate.h"

/* Sets class_ and is_wrapper of the functions that are wrappers. */
int hs_wrappers_find(struct hs_agg *agg);

/* The wrapper through which a function made most of what it allocated itself; UINT32_MAX: there is none, or -ENOMEM. */
uint32_t hs_wrappers_through(const struct hs_agg *agg, uint32_t function, enum hs_view view);
