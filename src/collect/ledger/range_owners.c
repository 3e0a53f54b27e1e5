/*
 * The searches, in their order: see range_owners.h.
 */
#include "collect/ledger/range_owners.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/ledger/allocator_memory.h"
#include "collect/ledger/client_ranges.h"
#include "collect/ledger/go_memory.h"
#include "collect/ledger/jemalloc_memory.h"
#include "collect/ledger/jvm_memory.h"
#include "collect/ledger/owned_blocks.h"
#include "collect/ledger/pymalloc_memory.h"
#include "collect/ledger/v8_memory.h"
#include "rt/base.h"
#include "trace/ledger.h"

static int find_client(struct hs_range_search *search, struct hs_owned_ranges *owned)
{
    return search->region
               ? hs_client_ranges_read(search->window, search->region->header.own_ranges_va, owned)
               : 0;
}

/* Before what the program has mapped itself: a runtime calls mmap like any other code. */
static int find_runtimes(struct hs_range_search *search, struct hs_owned_ranges *owned)
{
    const struct hs_go_search go = { search->pid, search->window, search->pagemap_fd,
                                     search->space };
    int r = hs_jvm_memory_find(search->window, search->pagemap_fd, search->space, owned);
    r = r == 0 ? hs_go_memory_find(&go, owned) : r;
    return r == 0 ? hs_v8_memory_find(search->window, search->pagemap_fd, search->space, owned) : r;
}

static int find_mapped(struct hs_range_search *search, struct hs_owned_ranges *owned)
{
    int r = 0;
    for (size_t i = 0; i < search->mapped->count && r == 0; i++) {
        const struct hs_mmap_block *block = &search->mapped->items[i];
        const struct hs_owned_range range = { block->start_va, block->end_va, HS_LEDGER_MMAP, "" };
        r = hs_owned_ranges_add(owned, &range);
    }
    return r;
}

static int find_pymalloc(struct hs_range_search *search, struct hs_owned_ranges *owned)
{
    struct hs_va_ranges gaps = { 0 };
    if (!hs_pymalloc_may_be_in(search->space)) {
        return 0;
    }
    int r = hs_owned_ranges_gaps(owned, search->space, &gaps);
    r = r == 0 ? hs_pymalloc_memory_find(search->window, search->pagemap_fd, &gaps, owned,
                                         &search->pymalloc_used_bytes)
               : r;
    hs_va_ranges_deinit(&gaps);
    return r;
}

static int find_jemalloc(struct hs_range_search *search, struct hs_owned_ranges *owned)
{
    struct hs_va_ranges gaps = { 0 };
    int r = hs_owned_ranges_gaps(owned, search->space, &gaps);
    r = r == 0 ? hs_jemalloc_memory_find(search->window, search->pagemap_fd, &gaps, owned) : r;
    hs_va_ranges_deinit(&gaps);
    return r;
}

static int find_allocators(struct hs_range_search *search, struct hs_owned_ranges *owned)
{
    const struct hs_allocator_search of = {
        .window = search->window,
        .pagemap_fd = search->pagemap_fd,
        .space = search->space,
        .region = search->region,
        .is_glibc_used = search->is_glibc_used,
        .heaps = search->heaps,
    };
    return hs_allocator_memory_find(&of, owned);
}

/* Pools are many ranges, and one line: its sums are those of the first one. NULL: there is none. */
static struct hs_ledger_blocks *find_python(const struct hs_range_search *search,
                                            const struct hs_owned_ranges *owned)
{
    for (size_t i = 0; i < owned->count; i++) {
        if (owned->items[i].kind == HS_LEDGER_ALLOCATOR &&
            strcmp(owned->items[i].name, hs_pymalloc_name) == 0) {
            return &search->blocks[i];
        }
    }
    return NULL;
}

static int add_blocks(struct hs_range_search *search, const struct hs_owned_ranges *owned)
{
    search->blocks = calloc(owned->count + 1, sizeof(search->blocks[0]));
    if (!search->blocks) {
        return -ENOMEM;
    }
    struct hs_ledger_blocks *python = find_python(search, owned);
    if (python) {
        python->used_bytes = search->pymalloc_used_bytes;
    }
    int r = search->region ? hs_owned_blocks_read(search->region, search->heaps, search->pagemap_fd,
                                                  owned, python, search->blocks)
                           : 0;
    return r == -ENOMEM ? r : 0; /* the memory has its owner also without the records */
}

int hs_range_owners_find(struct hs_range_search *search, struct hs_owned_ranges *owned)
{
    static int (*const searches[])(struct hs_range_search *, struct hs_owned_ranges *) = {
        find_client, find_runtimes, find_mapped, find_pymalloc, find_jemalloc, find_allocators,
    };
    int r = 0;
    search->heaps = calloc(HS_REGION_HEAPS, sizeof(search->heaps[0]));
    if (!search->heaps) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < HS_COUNT_OF(searches) && r == 0; i++) {
        r = searches[i](search, owned);
        r = r == 0 ? hs_owned_ranges_settle(owned) : r;
    }
    return r == 0 ? add_blocks(search, owned) : r;
}

void hs_range_search_deinit(struct hs_range_search *search)
{
    free(search->heaps);
    search->heaps = NULL;
    free(search->blocks);
    search->blocks = NULL;
}
