/*
 * Adds up recorded blocks in the memory of allocators: see owned_blocks.h.
 */
#include "collect/ledger/owned_blocks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collect/ledger/residency.h"
#include "collect/region/live_records.h"

/* The memory of an allocator. */
struct place {
    struct hs_residency residency;
    struct hs_ledger_blocks *blocks;
};

struct search {
    struct hs_va_ranges ranges;
    struct place *places; /* one for each range */
    bool is_left_out[HS_REGION_HEAPS];
    bool is_python[HS_REGION_HEAPS];
    struct hs_ledger_blocks *python; /* the sum of Python's objects; NULL: no line has it */
    uint64_t interval_bytes[HS_REGION_INTERVALS]; /* 0: unknown */
};

static int find_places(struct search *search, int pagemap_fd, const struct hs_owned_ranges *owned,
                       struct hs_ledger_blocks *blocks)
{
    search->places = calloc(owned->count + 1, sizeof(search->places[0]));
    if (!search->places) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < owned->count; i++) {
        const struct hs_owned_range *range = &owned->items[i];
        struct place *place = &search->places[search->ranges.count];
        if (range->kind != HS_LEDGER_ALLOCATOR || strcmp(range->name, HS_HEAP_NAME_PYTHON) == 0) {
            continue;
        }
        place->blocks = &blocks[i];
        int r = hs_residency_read(pagemap_fd, range->start_va, range->end_va, &place->residency);
        if (r < 0 && r != -EFBIG) {
            return r;
        }
        r = r == 0 ? hs_va_ranges_add(&search->ranges, range->start_va, range->end_va) : 0;
        if (r < 0) {
            hs_residency_deinit(&place->residency);
            return r;
        }
    }
    return 0;
}

/* The bytes of a block that are resident. */
static uint64_t resident_bytes_of(const struct search *search, const struct hs_live_record *live,
                                  size_t at)
{
    uint64_t room_bytes = search->ranges.items[at].end_va - live->va;
    uint64_t size_bytes = live->size_bytes < room_bytes ? live->size_bytes : room_bytes;
    return hs_residency_bytes(&search->places[at].residency, live->va, live->va + size_bytes);
}

static void add(const struct search *search, const struct hs_live_record *live,
                uint64_t resident_bytes, struct hs_ledger_blocks *blocks)
{
    unsigned hits = HS_RECORD_HITS(live->word), interval = HS_RECORD_INTERVAL(live->word);
    if (live->size_bytes == 0) {
        return;
    }
    if (hits == 0) {
        blocks->bytes += (double)resident_bytes;
    } else if (interval < HS_REGION_INTERVALS) {
        double weight_bytes = (double)search->interval_bytes[interval] * (double)resident_bytes /
                              (double)live->size_bytes;
        blocks->bytes += hits * weight_bytes;
        blocks->sampled_bytes += hits * weight_bytes;
        blocks->variance += hits * weight_bytes * weight_bytes;
    }
}

/* A sample of Python's objects lies in malloc's memory, and stands for objects in arenas. */
static void add_record(const struct search *search, const struct hs_live_record *live,
                       uint8_t heap_id)
{
    if (search->is_python[heap_id]) {
        if (search->python) {
            add(search, live, live->size_bytes, search->python);
        }
        return;
    }
    size_t at = hs_va_ranges_find(&search->ranges, live->va);
    if (at < search->ranges.count) {
        add(search, live, resident_bytes_of(search, live, at), search->places[at].blocks);
    }
}

static int add_all(const struct search *search, const struct hs_region *region)
{
    struct hs_live_records records;
    struct hs_live_record live;
    int r = hs_live_records_open(region, &records);
    for (uint64_t i = 0; r == 0 && i < records.records.count; i++) {
        if (hs_live_record_view(&records, i, &live)) {
            uint8_t heap_id = hs_live_records_heap_of(&records, live.stack_id);
            if (!search->is_left_out[heap_id]) {
                add_record(search, &live, heap_id);
            }
        }
    }
    hs_live_records_close(&records);
    return r;
}

static void take_heaps(struct search *search, const struct hs_heap_v2 *heaps)
{
    for (unsigned i = 0; i < HS_REGION_HEAPS; i++) {
        search->is_left_out[i] =
            i > 0 && ((heaps[i].flags & HS_HEAP_CARVED) ||
                      strncmp(heaps[i].name, HS_HEAP_NAME_MMAP, sizeof(heaps[i].name)) == 0);
        search->is_python[i] =
            i > 0 && strncmp(heaps[i].name, HS_HEAP_NAME_PYTHON, sizeof(heaps[i].name)) == 0;
    }
}

/* A block that no sample hit is in no sum, so the widest interval is a part of each. */
static void take_intervals(struct search *search, const struct hs_region_header_v2 *header)
{
    double widest_bytes = 0;
    for (uint32_t i = 1; i < header->interval_count && i < HS_REGION_INTERVALS; i++) {
        uint64_t bytes = header->interval_bytes[i];
        search->interval_bytes[i] = bytes;
        widest_bytes = bytes > 1 && (double)bytes > widest_bytes ? (double)bytes : widest_bytes;
    }
    for (size_t i = 0; i < search->ranges.count; i++) {
        search->places[i].blocks->weight_bytes = widest_bytes;
    }
    if (search->python) {
        search->python->weight_bytes = widest_bytes;
    }
}

int hs_owned_blocks_read(const struct hs_region *region, const struct hs_heap_v2 *heaps,
                         int pagemap_fd, const struct hs_owned_ranges *owned,
                         struct hs_ledger_blocks *python, struct hs_ledger_blocks *ret_blocks)
{
    struct search search = { .python = python };
    struct hs_region now = *region; /* its counts as of now */
    int r = find_places(&search, pagemap_fd, owned, ret_blocks);
    bool has_any = search.ranges.count > 0 || python;
    r = r == 0 && has_any ? hs_region_refresh(&now) : r;
    if (r == 0 && has_any) {
        take_heaps(&search, heaps);
        take_intervals(&search, &now.header);
        r = add_all(&search, &now);
    }
    for (size_t i = 0; i < search.ranges.count; i++) {
        hs_residency_deinit(&search.places[i].residency);
    }
    free(search.places);
    hs_va_ranges_deinit(&search.ranges);
    return r;
}
