/*
 * Reads a ledger: see ledger_read.h.
 */
#include "collect/ledger/ledger_read.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "collect/ledger/address_space.h"
#include "collect/ledger/glibc_heap.h"
#include "collect/ledger/glibc_place.h"
#include "collect/ledger/ledger_lines.h"
#include "collect/ledger/mmap_blocks.h"
#include "collect/ledger/owned_ranges.h"
#include "collect/ledger/pins_make.h"
#include "collect/ledger/range_owners.h"
#include "collect/ledger/remote_window.h"
#include "collect/ledger/residency.h"
#include "collect/ledger/thread_stacks.h"
#include "collect/ledger/zeroed_data.h"
#include "rt/base.h"
#include "rt/clock.h"
#include "util/proc.h"

/* Of a larger range, which pages are resident is not asked: 64 GiB. */
#define LOOKED_UP_BYTES_MAX (UINT64_C(64) << 30)

struct reading {
    pid_t pid;
    int pagemap_fd;
    struct hs_address_space space;
    struct hs_mapping_claim
        *claims;                  /* one for each mapping: what lines of their own contain of it */
    struct hs_region *region;     /* NULL: it has none */
    struct hs_mmap_blocks mapped; /* as recorded */
    struct hs_owned_ranges owned;
    struct hs_glibc_heap heap;
    struct hs_thread_stacks stacks;
    struct hs_ledger_lines lines;
    struct hs_ledger *ledger;
    struct hs_live_blocks blocks; /* recorded; read before the heap */
    struct hs_used_chunks chunks;
    bool has_blocks;
    uint64_t blocks_cpu_ns; /* what reading them took */
};

/* Notes that a line of its own contains a part of one mapping. */
static void claim_part(struct reading *reading, const struct hs_mapping *mapping,
                       const struct hs_va_range *part)
{
    struct hs_mapping_claim *own = &reading->claims[mapping - reading->space.items];
    own->size_bytes += part->end_va - part->start_va;
    own->rss_bytes += part->rss_bytes;
    own->swap_bytes += part->swap_bytes;
    own->pss_bytes += mapping->rss_bytes
                          ? (uint64_t)((double)mapping->pss_bytes * (double)part->rss_bytes /
                                       (double)mapping->rss_bytes)
                          : 0;
}

static int look_up(const struct reading *reading, struct hs_va_range *range)
{
    struct hs_residency residency;
    int r = hs_residency_read(reading->pagemap_fd, range->start_va, range->end_va, &residency);
    if (r == 0) {
        range->rss_bytes = hs_residency_bytes(&residency, range->start_va, range->end_va);
        range->swap_bytes = hs_residency_swap_bytes(&residency, range->start_va, range->end_va);
        hs_residency_deinit(&residency);
    }
    return r;
}

/* Notes that a line of its own contains `range`, of which it is known what is resident. */
static int claim(struct reading *reading, const struct hs_va_range *range)
{
    const struct hs_mapping *mapping = hs_address_space_find(&reading->space, range->start_va);
    const struct hs_mapping *end = reading->space.items + reading->space.count;
    if (mapping && range->end_va <= mapping->end_va) {
        claim_part(reading, mapping, range);
        return 0;
    }
    for (; mapping && mapping < end && mapping->start_va < range->end_va; mapping++) {
        struct hs_va_range part = {
            .start_va = range->start_va > mapping->start_va ? range->start_va : mapping->start_va,
            .end_va = range->end_va < mapping->end_va ? range->end_va : mapping->end_va,
        };
        int r = look_up(reading, &part);
        if (r < 0) {
            return r;
        }
        claim_part(reading, mapping, &part);
    }
    return 0;
}

/* --- malloc's memory -------------------------------------------------------------------------- */

static int claim_all(struct reading *reading)
{
    int r = 0;
    for (size_t i = 0; i < reading->heap.arenas.count && r == 0; i++) {
        r = claim(reading, &reading->heap.arenas.items[i]);
    }
    for (size_t i = 0; i < reading->heap.mmapped.count && r == 0; i++) {
        r = claim(reading, &reading->heap.mmapped.items[i]);
    }
    return r;
}

static struct hs_mapping_claim sum_claims(const struct reading *reading)
{
    struct hs_mapping_claim sum = { 0 };
    for (size_t i = 0; i < reading->space.count; i++) {
        sum.rss_bytes += reading->claims[i].rss_bytes;
        sum.pss_bytes += reading->claims[i].pss_bytes;
    }
    return sum;
}

/* Adds the lines of malloc's memory: of its resident bytes, all have the same share in PSS. */
static int add_malloc(struct reading *reading)
{
    struct hs_mapping_claim before = sum_claims(reading);
    int r = claim_all(reading);
    struct hs_mapping_claim after = sum_claims(reading);
    double rss_bytes = (double)(after.rss_bytes - before.rss_bytes);
    double pss_bytes = (double)(after.pss_bytes - before.pss_bytes);
    return r < 0 ? r
                 : hs_ledger_lines_add_malloc(&reading->lines, &reading->heap.space,
                                              rss_bytes > 0 ? pss_bytes / rss_bytes : 1);
}

static int read_malloc(struct reading *reading)
{
    struct hs_glibc_place place;
    struct hs_ledger *ledger = reading->ledger;
    if (!hs_glibc_place_find(reading->pid, &reading->space, &place)) {
        ledger->malloc_result = HS_LEDGER_MALLOC_NONE;
        return 0;
    }
    int r = hs_glibc_heap_read(reading->pid, &reading->space, &place,
                               reading->has_blocks ? &reading->blocks : NULL,
                               reading->has_blocks ? &reading->chunks : NULL, &reading->heap);
    switch (r) {
    case 0:
        break;
    case -ENOENT:
        ledger->malloc_result = HS_LEDGER_MALLOC_NONE;
        return 0;
    case -ENOTSUP:
        ledger->malloc_result = HS_LEDGER_MALLOC_OTHER_RELEASE;
        return 0;
    case -EPROTO:
        ledger->malloc_result = HS_LEDGER_MALLOC_BROKEN;
        return 0;
    case -EPERM:
    case -EACCES:
        ledger->malloc_result = HS_LEDGER_MALLOC_FORBIDDEN;
        return 0;
    default:
        return r;
    }
    ledger->arena_count = reading->heap.space.arena_count;
    ledger->trim_bytes = reading->heap.space.trim_bytes;
    ledger->trim_margin_bytes = reading->heap.space.trim_margin_bytes;
    ledger->malloc_part_share = reading->heap.space.part_share;
    ledger->is_free_cut = reading->heap.is_free_cut;
    return add_malloc(reading);
}

/* --- the whole -------------------------------------------------------------------------------- */

static void add_up(struct reading *reading)
{
    struct hs_proc_status status;
    for (size_t i = 0; i < reading->space.count; i++) {
        reading->ledger->rss_bytes += reading->space.items[i].rss_bytes;
        reading->ledger->pss_bytes += reading->space.items[i].pss_bytes;
        reading->ledger->swap_bytes += reading->space.items[i].swap_bytes;
        reading->ledger->hugetlb_bytes += reading->space.items[i].hugetlb_bytes;
    }
    if (hs_proc_read_status(reading->pid, &status) == 0) {
        reading->ledger->page_table_bytes = status.vm_pte_bytes;
    }
}

/* --- who owns what ---------------------------------------------------------------------------- */

static int own(struct reading *reading, uint64_t start_va, uint64_t end_va)
{
    const struct hs_owned_range range = { start_va, end_va, HS_OWNED_ELSEWHERE, "" };
    return hs_owned_ranges_add(&reading->owned, &range);
}

/* Stacks and malloc's memory have lines already. */
static int own_elsewhere(struct reading *reading)
{
    const struct hs_va_ranges *malloc_ranges[] = { &reading->heap.arenas, &reading->heap.mmapped };
    int r = 0;
    for (size_t i = 0; i < reading->stacks.count && r == 0; i++) {
        r = own(reading, reading->stacks.items[i].start_va, reading->stacks.items[i].end_va);
    }
    for (size_t n = 0; n < HS_COUNT_OF(malloc_ranges); n++) {
        for (size_t i = 0; i < malloc_ranges[n]->count && r == 0; i++) {
            const struct hs_va_range *range = &malloc_ranges[n]->items[i];
            r = own(reading, range->start_va, range->end_va);
        }
    }
    return r == 0 ? hs_owned_ranges_settle(&reading->owned) : r;
}

/* --- other parts ------------------------------------------------------------------------------ */

/* Reading headers that are not resident would bring them into memory. */
static uint64_t zeroed_data_end(const struct reading *reading,
                                const struct hs_remote_window *window,
                                const struct hs_mapping *first)
{
    return hs_residency_is_resident(reading->pagemap_fd, first->start_va)
               ? hs_zeroed_data_end(window, first)
               : hs_zeroed_data_end_in_file(reading->pid, hs_mapping_path(&reading->space, first),
                                            first);
}

/* Adds a line for the zeroed data of each module. It is in several mappings where the module has
 * given pages of it other rights, or mapped a file there. */
static int add_zeroed_data(struct reading *reading, const struct hs_remote_window *window)
{
    const struct hs_mapping *first = NULL; /* of the module */
    uint64_t data_end_va = 0;
    int r = 0;
    for (size_t i = 0; i < reading->space.count && r == 0; i++) {
        const struct hs_mapping *mapping = &reading->space.items[i];
        bool is_behind = mapping->start_va >= data_end_va;
        if (mapping->inode != 0) {
            first = is_behind && mapping->file_off == 0 ? mapping : first;
            continue;
        }
        if (is_behind) {
            bool follows = first && mapping[-1].inode == first->inode &&
                           mapping[-1].end_va == mapping->start_va;
            data_end_va = follows ? zeroed_data_end(reading, window, first) : 0;
        }
        uint64_t end_va = data_end_va < mapping->end_va ? data_end_va : mapping->end_va;
        if (end_va > mapping->start_va) {
            struct hs_mapping_claim before = reading->claims[i];
            const struct hs_mapping_claim *after = &reading->claims[i];
            struct hs_va_range zeroed = { .start_va = mapping->start_va, .end_va = end_va };
            r = look_up(reading, &zeroed);
            r = r < 0 ? r : claim(reading, &zeroed);
            r = r < 0 ? r : own(reading, zeroed.start_va, zeroed.end_va);
            const char *path = hs_mapping_path(&reading->space, first);
            bool is_recorder = hs_ledger_is_recorder(path);
            const struct hs_ledger_line line = {
                .kind = is_recorder ? HS_LEDGER_RECORDER : HS_LEDGER_DATA,
                .count = 1,
                .size_bytes = after->size_bytes - before.size_bytes,
                .rss_bytes = after->rss_bytes - before.rss_bytes,
                .pss_bytes = after->pss_bytes - before.pss_bytes,
                .swap_bytes = after->swap_bytes - before.swap_bytes,
            };
            r = r < 0 ? r : hs_ledger_lines_add(&reading->lines, &line, is_recorder ? "" : path);
        }
    }
    return r;
}

/* Finds what of a range in a mapping is resident. One that fills its mapping has the kernel's
 * figures; one that is too large to look at each page has its share of its mapping. */
static int look_up_part(const struct reading *reading, const struct hs_mapping *mapping,
                        struct hs_va_range *range)
{
    uint64_t mapping_bytes = mapping->end_va - mapping->start_va;
    uint64_t range_bytes = range->end_va - range->start_va;
    bool is_empty = mapping->rss_bytes + mapping->swap_bytes == 0;
    if (range_bytes < mapping_bytes && !is_empty && range_bytes <= LOOKED_UP_BYTES_MAX) {
        return look_up(reading, range);
    }
    double share = (double)range_bytes / (double)mapping_bytes;
    range->rss_bytes = (uint64_t)((double)mapping->rss_bytes * share);
    range->swap_bytes = (uint64_t)((double)mapping->swap_bytes * share);
    return 0;
}

static int claim_looked_up(struct reading *reading, const struct hs_mapping *mapping,
                           struct hs_va_range part)
{
    int r = look_up_part(reading, mapping, &part);
    if (r == 0) {
        claim_part(reading, mapping, &part);
    }
    return r;
}

/* Adds a line for what of the range is anonymous memory. */
static int add_owned(struct reading *reading, const struct hs_owned_range *range,
                     const struct hs_ledger_blocks *blocks)
{
    struct hs_ledger_line line = { .kind = range->kind, .count = 1, .blocks = *blocks };
    const struct hs_mapping *end = reading->space.items + reading->space.count;
    int r = 0;
    for (const struct hs_mapping *mapping = hs_address_space_from(&reading->space, range->start_va);
         mapping < end && mapping->start_va < range->end_va && r == 0; mapping++) {
        if (hs_mapping_is_anonymous(&reading->space, mapping)) {
            const struct hs_mapping_claim *after = &reading->claims[mapping - reading->space.items];
            struct hs_mapping_claim before = *after;
            uint64_t end_va = mapping->end_va;
            r = claim_looked_up(
                reading, mapping,
                (struct hs_va_range){ .start_va = mapping->start_va > range->start_va
                                                      ? mapping->start_va
                                                      : range->start_va,
                                      .end_va = end_va < range->end_va ? end_va : range->end_va });
            line.size_bytes += after->size_bytes - before.size_bytes;
            line.rss_bytes += after->rss_bytes - before.rss_bytes;
            line.pss_bytes += after->pss_bytes - before.pss_bytes;
            line.swap_bytes += after->swap_bytes - before.swap_bytes;
        }
    }
    return r == 0 && line.size_bytes > 0 ? hs_ledger_lines_add(&reading->lines, &line, range->name)
                                         : r;
}

/* Adds what is resident of the blocks of the heap `mmap`, by stack, in whatever line it is. */
static int add_stacks(struct reading *reading, struct hs_mmap_blocks *blocks)
{
    int r = 0;
    for (size_t i = 0; i < blocks->count && r == 0; i++) {
        struct hs_mmap_block *block = &blocks->items[i];
        struct hs_va_range range = { .start_va = block->start_va, .end_va = block->end_va };
        r = look_up_part(reading, hs_address_space_find(&reading->space, block->start_va), &range);
        block->rss_bytes = range.rss_bytes;
        block->swap_bytes = range.swap_bytes;
    }
    return r == 0 && blocks->count > 0 ? hs_mmap_blocks_by_stack(blocks, &reading->ledger->stacks,
                                                                 &reading->ledger->stack_count)
                                       : r;
}

/* Adds lines for anonymous memory that is known to belong to somebody. */
static int add_owners(struct reading *reading, struct hs_remote_window *window)
{
    struct hs_mmap_blocks blocks = { 0 };
    struct hs_range_search search = {
        .pid = reading->pid,
        .pagemap_fd = reading->pagemap_fd,
        .window = window,
        .space = &reading->space,
        .region = reading->region && reading->region->fd >= 0 ? reading->region : NULL,
        .is_glibc_used = reading->ledger->malloc_result != HS_LEDGER_MALLOC_NONE,
        .mapped = &blocks,
    };
    int r = hs_mmap_blocks_clip(&reading->space, &reading->mapped, &blocks);
    r = r == 0 ? own_elsewhere(reading) : r;
    r = r == 0 ? hs_range_owners_find(&search, &reading->owned) : r;
    for (size_t i = 0; i < reading->owned.count && r == 0; i++) {
        if (reading->owned.items[i].kind != HS_OWNED_ELSEWHERE) {
            r = add_owned(reading, &reading->owned.items[i], &search.blocks[i]);
        }
    }
    r = r == 0 ? add_stacks(reading, &blocks) : r;
    hs_range_search_deinit(&search);
    hs_mmap_blocks_deinit(&blocks);
    return r;
}

/* What is found in the process's memory. Without permission to read it, the stacks and the zeroed
 * data are anonymous mappings. */
static int read_memory(struct reading *reading)
{
    struct hs_remote_window window;
    if (reading->pagemap_fd < 0 || hs_remote_window_open(reading->pid, &window) < 0) {
        reading->ledger->malloc_result = HS_LEDGER_MALLOC_FORBIDDEN;
        return 0;
    }
    int r = hs_thread_stacks_find(reading->pid, &window, reading->pagemap_fd, &reading->space,
                                  &reading->stacks);
    r = r == 0 ? add_zeroed_data(reading, &window) : r;
    r = r == 0 ? read_malloc(reading) : r;
    r = r == 0 ? add_owners(reading, &window) : r;
    hs_remote_window_close(&window);
    return r;
}

/* A process that ended while it was read has given back memory that the ledger has not seen. */
static bool has_ended(const struct reading *reading)
{
    struct hs_proc_status status;
    return hs_proc_read_status(reading->pid, &status) < 0 || status.vm_rss_bytes == 0;
}

static int read_all(struct reading *reading)
{
    char text[64], main_thread[HS_PROC_COMM_BYTES] = "";
    size_t bytes;
    int r = hs_address_space_read(reading->pid, &reading->space);
    if (r < 0) {
        return r;
    }
    reading->claims = calloc(reading->space.count + 1, sizeof(reading->claims[0]));
    if (!reading->claims) {
        return -ENOMEM;
    }
    add_up(reading);
    if (hs_proc_read(reading->pid, "comm", text, sizeof(text), &bytes) == 0) {
        hs_proc_parse_comm(text, bytes, main_thread, sizeof(main_thread));
    }
    reading->pagemap_fd = hs_residency_open(reading->pid);
    r = read_memory(reading);
    r = r == 0 && has_ended(reading) ? -ESRCH : r;
    return r < 0 ? r
                 : hs_ledger_lines_add_mappings(&reading->lines, &reading->space, reading->claims,
                                                &reading->stacks, main_thread);
}

/* --- which stacks keep pages ------------------------------------------------------------------ */

static void read_blocks(struct reading *reading, struct hs_region *region)
{
    uint64_t begin_ns = hs_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    reading->has_blocks = hs_live_blocks_read(region, &reading->blocks) == 0 &&
                          hs_sort_pairs(reading->blocks.items, reading->blocks.count) == 0;
    reading->blocks_cpu_ns = hs_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
}

static void add_huge(struct reading *reading)
{
    for (size_t i = 0; i < reading->space.count; i++) {
        const struct hs_mapping *mapping = &reading->space.items[i];
        if (mapping->huge_bytes > 0) {
            hs_used_chunks_add_huge(
                &reading->chunks,
                &(struct hs_used_huge){ mapping->start_va, mapping->end_va, mapping->huge_bytes });
        }
    }
}

/* NULL: it cannot be told. */
static struct hs_pinned_pages *make_pins(struct reading *reading)
{
    struct hs_pinned_pages *pins = NULL;
    uint64_t begin_ns = hs_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (!reading->has_blocks || reading->chunks.piece_count == 0) {
        return NULL;
    }
    add_huge(reading);
    if (hs_pins_make(&reading->chunks, &reading->blocks, &pins) < 0) {
        return NULL;
    }
    pins->time_mono_ns = reading->ledger->time_mono_ns;
    pins->cpu_ns = hs_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns + reading->blocks_cpu_ns;
    return pins;
}

int hs_ledger_read(pid_t pid, struct hs_region *region, struct hs_ledger **ret_ledger,
                   struct hs_pinned_pages **ret_pins)
{
    struct reading reading = { .pid = pid,
                               .region = region,
                               .pagemap_fd = -1,
                               .ledger = calloc(1, sizeof(struct hs_ledger)) };
    if (!reading.ledger) {
        return -ENOMEM;
    }
    reading.ledger->pid = (uint32_t)pid;
    reading.ledger->time_mono_ns = hs_clock_ns(CLOCK_MONOTONIC);
    uint64_t cpu_begin_ns = hs_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    *ret_pins = NULL;
    if (region) {
        read_blocks(&reading, region);
        /* Without them that memory is among the anonymous mappings. */
        (void)hs_mmap_blocks_read(region, &reading.mapped);
    }
    int r = read_all(&reading);
    if (r == 0) {
        *ret_pins = make_pins(&reading);
        hs_ledger_lines_merge(&reading.lines);
        reading.ledger->lines = reading.lines.items;
        reading.ledger->line_count = (uint32_t)reading.lines.count;
        reading.ledger->cpu_ns = hs_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_begin_ns;
        *ret_ledger = reading.ledger;
    } else {
        hs_ledger_lines_deinit(&reading.lines);
        hs_ledger_free(reading.ledger);
    }
    if (reading.pagemap_fd >= 0) {
        close(reading.pagemap_fd);
    }
    free(reading.claims);
    hs_mmap_blocks_deinit(&reading.mapped);
    hs_owned_ranges_deinit(&reading.owned);
    hs_glibc_heap_deinit(&reading.heap);
    hs_live_blocks_deinit(&reading.blocks);
    hs_used_chunks_deinit(&reading.chunks);
    hs_thread_stacks_deinit(&reading.stacks);
    hs_address_space_deinit(&reading.space);
    return r;
}
