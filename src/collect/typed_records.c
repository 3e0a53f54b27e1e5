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

/* How many blocks are read at most at one time: more than can be read in the time that there is. */
#define BLOCKS_MAX (UINT64_C(1) << 17)
/* Of these, so many of stacks whose blocks have had no types. */
#define UNTYPED_MAX (UINT64_C(1) << 13)
/* How many records are looked at, at one time. */
#define RECORDS_MAX (UINT64_C(1) << 19)
/* A younger block may not have been filled yet by the thread that allocated it. */
#define YOUNG_MS 100U

/* A block to be read. */
struct unread {
    uint64_t record, hash;
    bool is_young;
};

struct found {
    struct hs_typed_block *blocks;
    struct unread *unread; /* the same blocks */
    size_t count, room;
    size_t untyped_count; /* of stacks whose blocks have had no types */
    uint64_t now_ms;      /* since the recording began, as birth_ms */
    uint64_t next_record; /* the first that is not listed for lack of room */
};

/* What a record says of a live block. */
struct block {
    struct hs_live_record live;
    uint64_t hash;
    uint32_t birth_ms;
};

static void found_deinit(struct found *found)
{
    free(found->blocks);
    free(found->unread);
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

/* Copies what a record says of a live block. False: there is none. */
static bool view_block(const struct hs_live_records *records, uint64_t i, struct block *ret_block)
{
    const struct hs_record_v1 *record = hs_region_map_at(&records->records, i);
    if (!hs_live_record_view(records, i, &ret_block->live)) {
        return false;
    }
    /* ORDER record: as in record_scan.c. */
    uint64_t size_thread = hs_load_acquire(&record->size_thread);
    ret_block->birth_ms = hs_load_acquire(&record->birth_ms);
    ret_block->hash = hs_record_block_hash(ret_block->live.va, size_thread,
                                           ret_block->live.stack_id, ret_block->birth_ms);
    return hs_load_relaxed(&record->word) == ret_block->live.word;
}

/* NULL: no block of the stack was read. */
static struct hs_stack_types *stack_of(const struct hs_typed_records *typed, uint32_t stack_id)
{
    return stack_id < typed->stack_count ? &typed->stacks[stack_id] : NULL;
}

static bool is_untyped(const struct hs_typed_records *typed, uint32_t stack_id)
{
    const struct hs_stack_types *stack = stack_of(typed, stack_id);
    return stack && !stack->has_type && stack->untyped_count >= HS_STACK_UNTYPED_MIN;
}

/* Lists the block of a record, if it is to be read. False: there is no room for it. */
static bool list_block(const struct hs_live_records *records, uint64_t i, const bool *is_wanted,
                       const struct hs_typed_records *typed, struct found *found)
{
    struct block block;
    if (!view_block(records, i, &block) ||
        hs_record_type_look(&typed->view, i, block.hash, false) == HS_TYPE_LOOK_LAST ||
        !is_wanted[hs_live_records_heap_of(records, block.live.stack_id)]) {
        return true;
    }
    bool is_of_untyped = is_untyped(typed, block.live.stack_id);
    if (found->count >= found->room || (is_of_untyped && found->untyped_count >= UNTYPED_MAX)) {
        return false;
    }
    found->unread[found->count] = (struct unread){
        .record = i,
        .hash = block.hash,
        .is_young = (uint64_t)block.birth_ms + YOUNG_MS > found->now_ms,
    };
    found->blocks[found->count++] =
        (struct hs_typed_block){ .va = block.live.va, .size_bytes = block.live.size_bytes };
    found->untyped_count += is_of_untyped;
    return true;
}

/* Lists blocks that are to be read, from the record on where the last reading has stopped. */
static int list_blocks(const struct hs_live_records *records, const bool *is_wanted,
                       const struct hs_typed_records *typed, struct found *found)
{
    uint64_t count = records->records.count,
             i = typed->next_record < count ? typed->next_record : 0;
    uint64_t left = count < RECORDS_MAX ? count : RECORDS_MAX;
    bool is_full = false; /* for at least one of the blocks */
    found->room = count < BLOCKS_MAX ? count : BLOCKS_MAX;
    found->blocks = malloc((found->room + 1) * sizeof(found->blocks[0]));
    found->unread = malloc((found->room + 1) * sizeof(found->unread[0]));
    if (!found->blocks || !found->unread) {
        return -ENOMEM;
    }
    for (; left > 0 && found->count < found->room; left--) {
        if (!list_block(records, i, is_wanted, typed, found) && !is_full) {
            found->next_record = i;
            is_full = true;
        }
        i = i + 1 < count ? i + 1 : 0;
    }
    found->next_record = is_full ? found->next_record : i;
    return 0;
}

/* Makes room for `count` elements, and fills what is new with zeros. */
static int reserve(void *array_address, uint64_t had, uint64_t count, size_t elem_bytes)
{
    char *array;
    memcpy(&array, array_address, sizeof(array));
    array = realloc(array, (count > 0 ? count : 1) * elem_bytes);
    if (!array) {
        return -ENOMEM;
    }
    memset(array + had * elem_bytes, 0, (count - had) * elem_bytes);
    memcpy(array_address, &array, sizeof(array));
    return 0;
}

/* Makes room for the types of all records; those that are known stay. */
static int grow_view(struct hs_record_types *view, uint64_t count)
{
    if (count <= view->count) {
        return 0;
    }
    int r = reserve(&view->block_hashes, view->count, count, sizeof(view->block_hashes[0]));
    r = r == 0 ? reserve(&view->type_ids, view->count, count, sizeof(view->type_ids[0])) : r;
    r = r == 0 ? reserve(&view->looks, view->count, count, sizeof(view->looks[0])) : r;
    view->count = r == 0 ? count : view->count;
    return r;
}

static int grow_stacks(struct hs_typed_records *typed, uint64_t count)
{
    int r = count > typed->stack_count
                ? reserve(&typed->stacks, typed->stack_count, count, sizeof(typed->stacks[0]))
                : 0;
    typed->stack_count = r == 0 && count > typed->stack_count ? count : typed->stack_count;
    return r;
}

static void count_type(struct hs_typed_records *typed, uint32_t stack_id, bool has_type)
{
    struct hs_stack_types *stack = stack_of(typed, stack_id);
    if (stack && has_type) {
        stack->has_type = true;
    } else if (stack && stack->untyped_count < HS_STACK_UNTYPED_MIN) {
        stack->untyped_count++;
    }
}

/* Keeps what was read of the blocks whose records are as they were. What is known of blocks that
 * have died since an earlier reading stays: the peak may contain them. */
static int keep(const struct hs_live_records *records, const struct found *found,
                struct hs_typed_records *typed)
{
    struct hs_record_types *view = &typed->view;
    int r = grow_view(view, records->records.count);
    r = r == 0 ? grow_stacks(typed, records->stacks.count) : r;
    for (size_t i = 0; i < found->count && r == 0; i++) {
        const struct unread *unread = &found->unread[i];
        const struct hs_typed_block *block = &found->blocks[i];
        struct block now;
        if (!block->is_read || !view_block(records, unread->record, &now) ||
            now.hash != unread->hash) {
            continue;
        }
        bool has_type = block->type_idx > 0 && block->type_idx < HS_PART_GIVEN;
        view->block_hashes[unread->record] = unread->hash;
        view->type_ids[unread->record] = has_type ? (uint16_t)block->type_idx : 0;
        view->looks[unread->record] = unread->is_young ? HS_TYPE_LOOK_YOUNG : HS_TYPE_LOOK_LAST;
        if (has_type || !unread->is_young) {
            count_type(typed, now.live.stack_id, has_type);
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
                      uint64_t time_ns_max, struct found *found, struct hs_typed_records *typed)
{
    struct hs_address_space space = { 0 };
    int r = list_blocks(records, is_wanted, typed, found);
    r = r == 0 ? hs_address_space_read_places(pid, &space) : r;
    r = r == 0 ? hs_block_types_read(pid, &space, found->blocks, found->count, time_ns_max,
                                     &typed->types)
               : r;
    /* Also after a failure: names may have been added. */
    int names_r = set_names(typed);
    r = r == 0 ? names_r : r;
    r = r == 0 ? keep(records, found, typed) : r;
    /* Of what was listed and not reached, the next reading lists what is left. */
    if (r == 0 && typed->types.counts.late_count == 0) {
        typed->next_record = found->next_record;
    }
    hs_address_space_deinit(&space);
    found_deinit(found);
    return r;
}

int hs_typed_records_read(pid_t pid, const struct hs_region *region, uint64_t time_ns_max,
                          struct hs_typed_records *typed)
{
    bool is_wanted[HS_REGION_HEAPS] = { false };
    struct hs_live_records records;
    struct hs_region now = *region; /* its counts as of now */
    uint64_t start_ns = region->header.start_mono_ns, now_ns = hs_clock_ns(CLOCK_MONOTONIC);
    struct found found = { .now_ms = now_ns > start_ns ? (now_ns - start_ns) / 1000000 : 0 };
    int r = hs_region_refresh(&now);
    if (r < 0) {
        return r;
    }
    r = hs_live_records_open(&now, &records);
    r = r == 0 ? find_heaps(&now, is_wanted) : r;
    r = r == 0 ? read_types(pid, &records, is_wanted, time_ns_max, &found, typed) : r;
    hs_live_records_close(&records);
    if (r == 0) {
        typed->time_mono_ns = hs_clock_ns(CLOCK_MONOTONIC);
        typed->view.time_mono_ns = typed->time_mono_ns;
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
    free(typed->view.looks);
    free(typed->view.names);
    free(typed->stacks);
    hs_block_types_deinit(&typed->types);
    *typed = (struct hs_typed_records){ .time_mono_ns = 0 };
}
