/*
 * The live blocks of a snapshot, one by one, if the session asks for them.
 *
 *     scan.blocks = hs_block_list_new(0);
 *     hs_record_scan_run(&scan);                adds each block
 *     hs_block_list_take(scan.blocks, &region->header, snap);
 *     hs_block_list_free(scan.blocks);
 *
 * Memory for the list is limited to HS_BLOCK_LIST_MAX blocks. Those that come later in the region
 * are counted and left out.
 *
 * Threads   one.
 * Fails     -ENOMEM.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/snapshot.h"

#define HS_BLOCK_LIST_MAX      (UINT32_C(1) << 22)
#define HS_BLOCK_EPOCH_UNKNOWN UINT64_MAX

struct hs_block_list;

/* `epoch_max`: blocks that were born after the cut of this epoch are not listed; 0: all are. NULL:
 * no memory. */
struct hs_block_list *hs_block_list_new(uint64_t epoch_max);
/* Frees the list. NULL is allowed. */
void hs_block_list_free(struct hs_block_list *list);

/* Adds a block; one whose birth is unknown is not in a list with a limit. */
void hs_block_list_add(struct hs_block_list *list, const struct hs_snap_block *block,
                       uint64_t birth_epoch);
/* Moves the blocks to the snapshot. NULL: the snapshot has none. 0, or see Fails. */
int hs_block_list_take(struct hs_block_list *list, const struct hs_region_header_v2 *header,
                       struct hs_snapshot *snap);
