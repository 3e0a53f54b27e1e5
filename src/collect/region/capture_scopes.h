/*
 * The scopes of a snapshot, copied from the region and checked.
 *
 * Ensures   snap->scopes[i].parent < i; each name is UTF-8 without control characters,
 *           and shorter than HS_SCOPE_NAME_BYTES as the region has it; each stack's scope_id is
 *           below scope_count. An id that was not in order became 0 and is counted in bad_count.
 * Threads   one.
 * Fails     -ENOMEM, -EPROTO. snap->scopes is then partly filled.
 */
#pragma once

#include "collect/region/region_reader.h"
#include "trace/snapshot.h"

/* Copies the scopes of a region, whose counts are newer than the stacks in *snap. 0, or see
 * Fails. */
int hs_capture_scopes(const struct hs_region *region, struct hs_snapshot *snap);

/* --- names of scopes and types --- */

/* The limit for all names together: they may overlap. */
#define HS_CAPTURE_NAMES_BUDGET_BYTES (UINT64_C(32) << 20)

/* Copies the name of an element: "" if it is not whole, or too little of the budget is left, of
 * which it takes its part. The caller frees it. 0, or see Fails. */
int hs_capture_name(const struct hs_region *region, const struct hs_name_v2 *from,
                    uint64_t *budget_bytes, char **ret_name);
/* Copies a text as UTF-8 without control characters. The caller frees it. 0 or -ENOMEM. */
int hs_capture_clean_name(const char *text, char **ret_name);
