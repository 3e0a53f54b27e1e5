/*
 * The types that the program gave with reports of its own heaps, copied from the region.
 *
 * A given type is part of the stack. So parts and blocks of such a stack get it in place of what
 * was found in memory; only parts of HS_PART_OTHERS stay that. Its id in the snapshot is
 * HS_PART_GIVEN and more.
 *
 * Ensures   each name is UTF-8 without control characters, and shorter than HS_SCOPE_NAME_BYTES as
 *           the region has it; types are in the order of their ids. An id that the region has no
 *           name for became 0 and is counted in bad_count.
 * Threads   one.
 * Fails     -ENOMEM, -EPROTO.
 */
#pragma once

#include "collect/region/region_reader.h"
#include "trace/snapshot.h"

/* Copies the types of a region, whose counts are newer than the stacks in *snap, to its parts and
 * blocks. Does nothing if none of these has a given type. If no types were looked for in memory,
 * all others become HS_PART_NOT_READ. 0, or see Fails. */
int hs_capture_types(const struct hs_region *region, struct hs_snapshot *snap);
