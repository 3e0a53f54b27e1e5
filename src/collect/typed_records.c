/*
 * From recorded blocks to their types: see typed_records.h.
 */
#include "collect/typed_records.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collect/ledger/address_space.h"
#include "collect/region/live_records.h"
#include "rt/atomic.h"
#include "rt/clock.h"

/* Of more, the rest has no type. */
#define BLOCKS_MAX (UINT64_C(1) << 21)

struct found {
    struct hs_typed_block *blocks;
    uint64_t *records; /* of each block: its record */
    uint64_t *hashes;
    size_t count;
};

static void found_deinit(struct found *found)
{
    free(found->blocks);
    free(found->records);
    free(found->hashes);
}

/* Says of which heaps the ids of blocks are addresses. */
static int find_heaps(const struct hs_region *region, bool ret_is_wanted[HS_REGION_HEAPS])
{
    struct hs_heap_v2 *heaps = calloc(HS_REGION_HEAPS, sizeof(heaps[0]));
    int count = heaps ? hs_region_read_heaps(region, heaps) : -ENOMEM;
    for (unsigned i = 0; i < HS_REGION_HEAPS && count >= 0; i++) {
        heaps[i].name[sizeof(heaps[i].name) - 1] = '\0';
        ret_is_wanted[i] = i == 0 || ((heaps[i].flags & HS_HEAP_NAMED) &&
                                      strcmp(heaps[i].name, HS_HEAP_NAME_PYTHON) == 0);
    }
    free(heaps);
    return count < 0 ? count : 0;
}

/* The hash of the live block of a record, which is copied; 0: there is none. */
static uint64_t view_block(const struct hs_live_records *records, uint64_t i,
                           struct hs_live_record *ret_live)
{
    const struct hs_record_v1 *record = hs_region_map_at(&records->records, i);
    if (!hs_live_record_view(records, i, ret_live)) {
        return 0;
    }
    /* ORDER record: as in record_scan.c. */
    uint64_t size_thread = hs_load_acquire(&record->size_thread);
    uint32_t birth_ms = hs_load_acquire(&record->birth_ms);
    return hs_load_relaxed(&record->word) == ret_live->word
               ? hs_record_block_hash(ret_live->va, size_thread, ret_live->stack_id, birth_ms)
               : 0;
}

/* Lists the blocks whose types are not known from an earlier reading. */
static int list_blocks(const struct hs_live_records *records, const bool *is_wanted,
                       const struct hs_record_types *known, struct found *found)
{
    size_t room = records->records.count < BLOCKS_MAX ? records->records.count : BLOCKS_MAX;
    found->blocks = malloc((room + 1) * sizeof(found->blocks[0]));
    found->records = malloc((room + 1) * sizeof(found->records[0]));
    found->hashes = malloc((room + 1) * sizeof(found->hashes[0]));
    if (!found->blocks || !found->records || !found->hashes) {
        return -ENOMEM;
    }
    for (uint64_t i = 0; i < records->records.count && found->count < room; i++) {
        struct hs_live_record live;
        uint64_t hash = view_block(records, i, &live);
        if (hash == 0 || !is_wanted[hs_live_records_heap_of(records, live.stack_id)] ||
            hs_record_type(known, i, hash, false) != 0) {
            continue;
        }
        found->hashes[found->count] = hash;
        found->records[found->count] = i;
        found->blocks[found->count++] =
            (struct hs_typed_block){ .va = live.va, .size_bytes = live.size_bytes };
    }
    return 0;
}

/* Makes room for the types of all records; those that are known stay. */
static int grow(struct hs_record_types *view, uint64_t count)
{
    if (count <= view->count) {
        return 0;
    }
    uint64_t *hashes = realloc(view->block_hashes, count * sizeof(hashes[0]));
    view->block_hashes = hashes ? hashes : view->block_hashes;
    uint16_t *type_ids = realloc(view->type_ids, count * sizeof(type_ids[0]));
    view->type_ids = type_ids ? type_ids : view->type_ids;
    if (!hashes || !type_ids) {
        return -ENOMEM;
    }
    memset(hashes + view->count, 0, (count - view->count) * sizeof(hashes[0]));
    memset(type_ids + view->count, 0, (count - view->count) * sizeof(type_ids[0]));
    view->count = count;
    return 0;
}

/* Keeps the types of the blocks whose records are as they were. Those of blocks that have died
 * since an earlier reading stay: the peak may contain them. */
static int keep(const struct hs_live_records *records, const struct found *found,
                struct hs_record_types *view)
{
    int r = grow(view, records->records.count);
    for (size_t i = 0; i < found->count && r == 0; i++) {
        struct hs_live_record live;
        uint32_t type_idx = found->blocks[i].type_idx;
        uint64_t at = found->records[i];
        if (type_idx > 0 && type_idx < HS_PART_OTHERS &&
            view_block(records, at, &live) == found->hashes[i]) {
            view->block_hashes[at] = found->hashes[i];
            view->type_ids[at] = (uint16_t)type_idx;
        }
    }
    return r;
}

/* Names move when others are added. */
static int set_names(struct hs_typed_records *typed)
{
    uint32_t count = hs_type_names_count(&typed->types.names);
    const char **names = calloc((size_t)count + 1, sizeof(names[0]));
    typed->view.name_count = 0;
    if (!names) {
        return -ENOMEM;
    }
    names[0] = "";
    for (uint32_t i = 1; i <= count; i++) {
        names[i] = hs_type_names_text(&typed->types.names, i);
    }
    free(typed->view.names);
    typed->view.names = names;
    typed->view.name_count = count + 1;
    return 0;
}

static int read_types(pid_t pid, const struct hs_live_records *records, const bool *is_wanted,
                      uint64_t time_ns_max, struct hs_typed_records *typed)
{
    struct hs_address_space space = { 0 };
    struct found found = { .count = 0 };
    int r = list_blocks(records, is_wanted, &typed->view, &found);
    r = r == 0 ? hs_address_space_read_places(pid, &space) : r;
    r = r == 0 ? hs_block_types_read(pid, &space, found.blocks, found.count, time_ns_max,
                                     &typed->types)
               : r;
    /* Also after a failure: names may have been added. */
    int names_r = set_names(typed);
    r = r == 0 ? names_r : r;
    r = r == 0 ? keep(records, &found, &typed->view) : r;
    hs_address_space_deinit(&space);
    found_deinit(&found);
    return r;
}

int hs_typed_records_read(pid_t pid, const struct hs_region *region, uint64_t time_ns_max,
                          struct hs_typed_records *typed)
{
    bool is_wanted[HS_REGION_HEAPS] = { false };
    struct hs_live_records records;
    struct hs_region now = *region; /* its counts as of now */
    int r = hs_region_refresh(&now);
    if (r < 0) {
        return r;
    }
    r = hs_live_records_open(&now, &records);
    r = r == 0 ? find_heaps(&now, is_wanted) : r;
    r = r == 0 ? read_types(pid, &records, is_wanted, time_ns_max, typed) : r;
    hs_live_records_close(&records);
    if (r == 0) {
        typed->time_mono_ns = hs_clock_ns(CLOCK_MONOTONIC);
    }
    return r;
}

const struct hs_record_types *hs_typed_records_view(const struct hs_typed_records *typed)
{
    return typed->time_mono_ns > 0 ? &typed->view : NULL;
}

void hs_typed_records_deinit(struct hs_typed_records *typed)
{
    free(typed->view.block_hashes);
    free(typed->view.type_ids);
    free(typed->view.names);
    hs_block_types_deinit(&typed->types);
    *typed = (struct hs_typed_records){ .time_mono_ns = 0 };
}
