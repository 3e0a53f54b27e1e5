/*
 * The live blocks of a snapshot: see block_list.h.
 */
#include "collect/region/block_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

struct hs_block_list {
    struct hs_snap_block *blocks;
    size_t count, capacity;
    uint64_t epoch_max;
    uint64_t left_out_count;
    int err;
};

struct hs_block_list *hs_block_list_new(uint64_t epoch_max)
{
    struct hs_block_list *list = calloc(1, sizeof(*list));
    if (list) {
        list->epoch_max = epoch_max;
    }
    return list;
}

void hs_block_list_free(struct hs_block_list *list)
{
    if (list) {
        free(list->blocks);
    }
    free(list);
}

void hs_block_list_add(struct hs_block_list *list, const struct hs_snap_block *block,
                       uint64_t birth_epoch)
{
    if (list->epoch_max != 0 && birth_epoch > list->epoch_max) {
        return;
    }
    if (list->count >= HS_BLOCK_LIST_MAX || list->err < 0) {
        list->left_out_count++;
        return;
    }
    list->err =
        hs_array_reserve(&list->blocks, &list->capacity, list->count + 1, sizeof(list->blocks[0]));
    if (list->err == 0) {
        list->blocks[list->count++] = *block;
    }
}

int hs_block_list_take(struct hs_block_list *list, const struct hs_region_header_v2 *header,
                       struct hs_snapshot *snap)
{
    if (!list || list->err < 0) {
        return list ? list->err : 0;
    }
    snap->has_blocks = true;
    snap->blocks = list->blocks;
    snap->block_count = list->count;
    snap->block_left_out_count = list->left_out_count;
    snap->block_clock_ns = header->start_mono_ns;
    memcpy(snap->block_interval_bytes, header->interval_bytes, sizeof(snap->block_interval_bytes));
    list->blocks = NULL;
    list->count = list->capacity = 0;
    return 0;
}
