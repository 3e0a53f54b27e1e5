/*
 * The names of frames that are not native code, copied from the region and checked.
 *
 * Ensures   each text ends inside snap->code_texts, is UTF-8 without control characters, and is
 *           shorter than region_layout.h allows. A name that was not whole, or whose texts lie
 *           outside BYTES, is empty.
 * Threads   one.
 * Fails     -ENOMEM, -EPROTO. snap->code_names is then partly filled.
 */
#pragma once

#include "collect/region/region_reader.h"
#include "trace/snapshot.h"

/* Copies the names of a region, whose counts are newer than the stacks in *snap. 0, or see
 * Fails. */
int hs_capture_code_names(const struct hs_region *region, struct hs_snapshot *snap);
