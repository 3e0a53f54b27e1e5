/*
 * Finds allocation wrappers: functions that allocate on behalf of their callers, like x264_malloc
 * or Lua's l_alloc.
 *
 * A user who asks where the memory went does not want the answer "to the wrapper". Wrappers of
 * well-known libraries are found by name (frame_class.h). Each program has others of its own, which
 * this file finds in the folded tree. A function is a wrapper when nearly all that is allocated
 * under it is allocated by the function itself, directly through one allocating function, and
 *
 *   - its name says that it allocates (stgMallocBytes, __zend_realloc), and it has a caller in the
 *     program; or
 *   - its name says so less clearly (l_alloc, pool_allocate), and callers get blocks of different
 *     sizes from it; or
 *   - it is called inside a function whose name says nothing but that it allocates (luaM_realloc_);
 *     or
 *   - it has no name, as in a stripped program, and several callers, which get blocks of very
 *     different sizes; or
 *   - it has many callers, none of which is responsible for most of it, and they get blocks of very
 *     different sizes.
 *
 * The only caller of a function, if it allocates in no other way (xcalloc, which calls xmalloc), is
 * passed over: its own callers count.
 *
 * A wrapper gets the class HS_FRAME_CLASS_ALLOCATOR, so that its callers are named instead of it.
 * The search is repeated until it finds no more wrappers, since wrappers call each other.
 *
 * The last rules depend on the figures of one profile. Two profiles of one program may therefore
 * have different wrappers, and views that compare profiles (diff, trend) must not use them.
 *
 * Threads   one at a time for a tree.
 * Fails     -ENOMEM; the tree is then unchanged, or has some of its wrappers.
 */
#pragma once

#include "profile/analyse/aggregate.h"

/* Sets class_ and is_wrapper of the functions that are wrappers. 0 or -ENOMEM. */
int hs_wrappers_find(struct hs_agg *agg);

/*
 * The wrapper through which a function made more than half of what it allocated itself, in a view;
 * UINT32_MAX: there is none, or memory is short.
 */
uint32_t hs_wrappers_through(const struct hs_agg *agg, uint32_t function, enum hs_view view);
