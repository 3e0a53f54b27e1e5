/*
 * From a region to a snapshot: see capture.h.
 */
#include "collect/region/capture.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "collect/region/capture_births.h"
#include "collect/region/capture_lifetimes.h"
#include "collect/region/capture_parts.h"
#include "collect/region/capture_tables.h"
#include "collect/region/cut.h"
#include "collect/region/heap_marks.h"
#include "collect/region/heap_peaks.h"
#include "collect/region/open_cut.h"
#include "collect/region/record_scan.h"
#include "collect/region/stack_totals.h"
#include "collect/region/widest_intervals.h"
#include "rt/atomic.h"
#include "rt/check.h"

#define HS_PEAK_TRIES 4
#define HS_MARK_TRIES 1000

struct capture {
    struct hs_region *region;
    struct hs_snapshot *snap;
    struct hs_open_cut cut;
    bool is_dead;
    bool is_fixed;               /* no other instant will do */
    bool is_saved;               /* another process has opened the cut */
    struct hs_region_map stacks; /* as of the cut */
    struct hs_region_map records;
    struct hs_record_scan scan;
    /* Of the parity that no thread wrote before the cut, and of the other one. */
    struct hs_lifetime_copy lifetimes_before, lifetimes_after;
    uint16_t *carved_heaps;      /* as in scan */
    bool has_peak;               /* there is a peak, and it did not move until the scan was over */
    bool are_peaks_stable;       /* no peak has moved until the scan was over */
    hs_capture_open_fn *on_open; /* NULL: no call */
    void *ctx;
};

/* Step 1: copies the totals of the parity that no thread writes. */
static int copy_still_totals(struct capture *c, unsigned parity)
{
    struct hs_region_map map;
    int r = hs_region_map_section(c->region, HS_SECTION_STACKS, &map);
    if (r < 0) {
        return r;
    }
    free(c->cut.before); /* the array of an earlier try */
    c->cut.before = calloc(map.count + 1, sizeof(*c->cut.before));
    if (c->cut.before) {
        c->cut.before_count = map.count;
        for (uint64_t i = 0; i < map.count; i++) {
            const struct hs_stack_v1 *stack = hs_region_map_at(&map, i);
            c->cut.before[i] = hs_totals_load(&stack->totals[parity]);
        }
    }
    hs_region_unmap(&map);
    if (!c->cut.before) {
        return -ENOMEM;
    }
    return hs_capture_has_lifetimes(c->region)
               ? hs_lifetime_copy_read(c->region, parity, &c->lifetimes_before)
               : 0;
}

static void forget_scan(struct capture *c)
{
    hs_region_unmap(&c->stacks);
    hs_region_unmap(&c->records);
    free(c->scan.sums);
    free(c->scan.threads);
    hs_capture_parts_end(&c->scan);
    hs_capture_births_end(&c->scan);
    hs_block_list_free(c->scan.blocks);
    free(c->carved_heaps);
    c->carved_heaps = NULL;
    c->scan = (struct hs_record_scan){ 0 };
}

/* Says for each stack whether its heap is carved, or left out. */
static int find_carved(struct capture *c)
{
    int r = hs_heap_marks_find(c->region, &c->cut.heaps, &c->stacks, c->scan.stack_count,
                               &c->carved_heaps);
    c->scan.carved_heaps = c->carved_heaps;
    c->scan.heaps = c->cut.heaps.heaps;
    return r;
}

static int prepare_scan(struct capture *c)
{
    struct hs_record_scan *scan = &c->scan;
    forget_scan(c);
    int r = hs_region_refresh(c->region);
    if (r == 0) {
        r = hs_region_map_section(c->region, HS_SECTION_STACKS, &c->stacks);
    }
    if (r == 0) {
        r = hs_region_map_section(c->region, HS_SECTION_RECORDS, &c->records);
    }
    if (r < 0) {
        return r;
    }
    uint64_t threads = hs_region_count(c->region, HS_SECTION_THREADS);
    scan->records = c->records.data;
    scan->record_bytes = c->records.elem_bytes;
    scan->record_count = c->records.count;
    scan->cut_epoch = c->cut.cut_epoch;
    scan->peak_epoch = c->cut.peak_epoch;
    scan->interval_bytes = c->region->header.interval_bytes;
    scan->interval_count = c->region->header.interval_count;
    scan->stack_count = c->stacks.count < UINT32_MAX ? (uint32_t)c->stacks.count : UINT32_MAX;
    scan->thread_count = threads <= HS_THREAD_ID_MAX ? (uint32_t)threads : HS_THREAD_ID_MAX + 1;
    size_t sums_bytes = ((size_t)scan->stack_count + 1) * sizeof(*scan->sums);
    scan->sums = aligned_alloc(64, sums_bytes);
    scan->threads = calloc((size_t)scan->thread_count + 1, sizeof(*scan->threads));
    if (!scan->sums || !scan->threads) {
        return -ENOMEM;
    }
    memset(scan->sums, 0, sums_bytes);
    hs_capture_parts_begin(c->region, &c->cut, scan);
    scan->blocks = c->region->has_blocks ? hs_block_list_new(c->region->block_epoch_max) : NULL;
    r = c->region->has_blocks && !scan->blocks ? -ENOMEM : 0;
    hs_capture_births_begin(scan);
    return r < 0 ? r : find_carved(c);
}

/* Step 3: scans the records. Until the end, the peak must be the one that was known before the cut:
 * its tombstones are kept only until there is a higher peak. */
static void scan_records(struct capture *c)
{
    const struct hs_region_control_v1 *control = c->region->control;
    hs_record_scan_run(&c->scan);
    c->has_peak = c->cut.peak_epoch != 0 && c->cut.peak_time_ns != 0 &&
                  hs_load_relaxed(&control->peak_epoch) == c->cut.peak_epoch;
    c->are_peaks_stable = hs_heap_peaks_check(c->region, &c->cut.heaps) && c->has_peak;
}

/* The id + 1 of the carved heap of a stack; HS_SCAN_LEFT_OUT: it does not count; 0: neither. */
static unsigned carved_heap_of(const struct capture *c, uint32_t stack_id)
{
    return c->carved_heaps ? c->carved_heaps[stack_id] : 0;
}

/* The sums of freed blocks. Of a cut that another process has opened, those of before the cut are
 * not known. */
static int fill_lifetimes(struct capture *c, unsigned parity, const uint64_t *widest_bytes)
{
    const struct hs_lifetime_choice choice = { c->carved_heaps, widest_bytes };
    struct hs_snapshot *snap = c->snap;
    int r = 0;
    free(snap->lifetimes); /* the array of an earlier try */
    snap->lifetimes = NULL;
    snap->lifetime_count = 0;
    if (c->is_saved || !hs_capture_has_lifetimes(c->region)) {
        return 0;
    }
    if (c->is_dead) {
        r = hs_lifetime_copy_read(c->region, !parity, &c->lifetimes_before);
    }
    r = r == 0 ? hs_lifetime_copy_read(c->region, parity, &c->lifetimes_after) : r;
    return r == 0 ? hs_capture_lifetimes(&c->lifetimes_before, &c->lifetimes_after, &choice, snap)
                  : r;
}

/* Step 4: fills in the figures of all stacks. */
static int fill_stacks(struct capture *c)
{
    struct hs_snapshot *snap = c->snap;
    unsigned parity = (unsigned)(c->cut.cut_epoch & 1);
    uint64_t widest_bytes[HS_REGION_HEAPS];
    hs_widest_intervals_find(c->region, &c->cut.heaps, widest_bytes);
    snap->stack_count = c->scan.stack_count;
    free(snap->stacks); /* the array of an earlier try */
    snap->stacks = calloc((size_t)snap->stack_count + 1, sizeof(*snap->stacks));
    if (!snap->stacks) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < snap->stack_count; i++) {
        const struct hs_stack_v1 *stack = hs_region_map_at(&c->stacks, i);
        struct hs_totals_v1 totals = hs_totals_load(&stack->totals[parity]);
        if (c->is_dead) {
            struct hs_totals_v1 other = hs_totals_load(&stack->totals[!parity]);
            hs_totals_add(&totals, &other);
        } else if (i < c->cut.before_count) {
            hs_totals_add(&totals, &c->cut.before[i]);
        }
        if (carved_heap_of(c, i) == HS_SCAN_LEFT_OUT) {
            continue;
        }
        uint8_t heap_id = hs_load_relaxed(&stack->heap_id);
        snap->stacks[i].heap_id = heap_id;
        snap->stacks[i].alloc = hs_totals_estimate(&totals, widest_bytes[heap_id]);
        snap->stacks[i].live = c->scan.sums[i].live;
        snap->stacks[i].peak = c->scan.sums[i].peak;
        snap->stacks[i].inherited = (struct hs_inherited){
            hs_totals_var_of_bits(hs_load_relaxed(&stack->inherited_bytes_var)),
            hs_totals_var_of_bits(hs_load_relaxed(&stack->inherited_count_var)),
        };
    }
    return fill_lifetimes(c, parity, widest_bytes);
}

/* Makes an estimate at least as high as another. This is needed because an allocation that is in
 * progress at the cut may be in the records and not yet in the totals, and 1/p is rounded
 * differently in both. */
static void raise_to(struct hs_estimate *low, const struct hs_estimate *high)
{
    if (low->bytes < high->bytes) {
        low->bytes = high->bytes;
        low->bytes_var = high->bytes_var;
    }
    if (low->count < high->count) {
        low->count = high->count;
        low->count_var = high->count_var;
    }
}

/* Sets the peak of the stacks of carved heaps that have no usable peak of their own, or whose live
 * total is higher: it is what lives now. */
static void settle_carved_peaks(struct capture *c)
{
    struct hs_snapshot *snap = c->snap;
    double live_bytes[HS_REGION_HEAPS] = { 0 }, peak_bytes[HS_REGION_HEAPS] = { 0 };
    for (uint32_t i = 0; i < snap->stack_count && c->carved_heaps; i++) {
        unsigned carved = c->carved_heaps[i];
        if (carved && carved != HS_SCAN_LEFT_OUT) {
            live_bytes[carved - 1] += snap->stacks[i].live.bytes;
            peak_bytes[carved - 1] += snap->stacks[i].peak.bytes;
        }
    }
    for (unsigned i = 0; i < HS_REGION_HEAPS; i++) {
        c->cut.heaps.has_peak[i] = c->cut.heaps.has_peak[i] && live_bytes[i] <= peak_bytes[i];
    }
    for (uint32_t i = 0; i < snap->stack_count && c->carved_heaps; i++) {
        unsigned carved = c->carved_heaps[i];
        if (carved && carved != HS_SCAN_LEFT_OUT && !c->cut.heaps.has_peak[carved - 1]) {
            snap->stacks[i].peak = snap->stacks[i].live;
        }
    }
}

/* Was there a peak, which cannot be read any more because the client has moved it, and which was
 * above the live total? Otherwise the capture is repeated, or this instant is the peak. */
static bool is_peak_lost(const struct capture *c)
{
    return c->is_fixed && !c->has_peak && c->cut.peak_epoch != 0 &&
           c->snap->live.bytes < (double)c->cut.peak_bytes;
}

static void settle_totals(struct capture *c)
{
    struct hs_snapshot *snap = c->snap;
    settle_carved_peaks(c);
    for (uint32_t i = 0; i < snap->stack_count; i++) {
        if (carved_heap_of(c, i)) {
            continue;
        }
        hs_estimate_add(&snap->live, &snap->stacks[i].live);
        hs_estimate_add(&snap->peak, &snap->stacks[i].peak);
        snap->inherited.bytes_var += snap->stacks[i].inherited.bytes_var;
        snap->inherited.count_var += snap->stacks[i].inherited.count_var;
    }
    snap->peak_time_mono_ns = c->cut.peak_time_ns;
    bool is_lost = is_peak_lost(c);
    bool is_now = !is_lost && (!c->has_peak || snap->live.bytes > snap->peak.bytes);
    if (is_lost) {
        snap->peak = (struct hs_estimate){ 0 };
        snap->peak_time_mono_ns = 0;
    }
    if (is_now) {
        snap->peak = snap->live;
        snap->peak_time_mono_ns = c->cut.now_ns;
    }
    for (uint32_t i = 0; i < snap->stack_count; i++) {
        struct hs_snap_stack *stack = &snap->stacks[i];
        bool is_carved = carved_heap_of(c, i) != 0;
        if ((is_now || is_lost) && !is_carved) {
            stack->peak = is_now ? stack->live : snap->peak;
        }
        raise_to(&stack->alloc, &stack->live);
        raise_to(&stack->alloc, &stack->peak);
        if (!is_carved) {
            hs_estimate_add(&snap->alloc, &stack->alloc);
        }
    }
    snap->bad_count += c->scan.bad_count;
}

static void load_peak(struct capture *c)
{
    const struct hs_region_control_v1 *control = c->region->control;
    /* ORDER cut: the peak's tombstones are there before its epoch has passed. */
    c->cut.peak_epoch = hs_load_acquire(&control->peak_epoch);
    /* ORDER peak-final: 0 while the client is marking it this moment. */
    c->cut.peak_time_ns = hs_load_acquire(&control->peak_time_ns);
    c->cut.peak_bytes = hs_load_relaxed(&control->peak_bytes);
}

/* An instant that is fixed needs a peak that is marked before it. */
static void wait_for_peak(struct capture *c)
{
    for (unsigned i = 0; i < HS_MARK_TRIES; i++) {
        load_peak(c);
        if (c->cut.peak_epoch == 0 || c->cut.peak_time_ns != 0 || !c->is_fixed) {
            return;
        }
        sched_yield();
    }
}

/* Steps 1 and 2. */
static int open_cut(struct capture *c)
{
    struct hs_region_control_v1 *control = c->region->control;
    unsigned parity = (unsigned)(hs_load_relaxed(&control->epoch) & 1);
    int r = copy_still_totals(c, !parity);
    if (r == 0) {
        r = hs_cut_open(control, &c->cut.cut_epoch);
    }
    if (r == 0 && (c->cut.cut_epoch & 1) != parity) {
        hs_cut_close(control);
        r = -EPROTO; /* only the collector changes the parity */
    }
    return r;
}

/* Steps 3 to 5. */
static int read_cut(struct capture *c)
{
    int r = prepare_scan(c);
    if (r == 0) {
        scan_records(c);
        r = fill_stacks(c);
    }
    if (!c->is_dead && !c->is_fixed) {
        hs_cut_close(c->region->control);
    }
    return r;
}

/* Steps 1 to 5. */
static int read_instant(struct capture *c)
{
    c->cut.cut_epoch = HS_CUT_OF_DEAD;
    wait_for_peak(c);
    int r = hs_heap_peaks_load(c->region, &c->cut.heaps);
    if (r == 0 && !c->is_dead) {
        r = open_cut(c);
    }
    if (r < 0) {
        return r;
    }
    r = c->on_open ? c->on_open(c->ctx, &c->cut) : 0;
    if (r == 0) {
        return read_cut(c);
    }
    if (!c->is_dead) {
        hs_cut_close(c->region->control);
    }
    return r;
}

/* When the peak moves during the capture, its tombstones are gone. Then the capture is repeated at
 * another instant, a little later. */
static int read_with_peak(struct capture *c)
{
    int r = 0;
    for (unsigned i = 0; i < HS_PEAK_TRIES && !c->are_peaks_stable; i++) {
        r = hs_region_refresh(c->region);
        if (r == 0) {
            r = read_instant(c);
        }
        if (r < 0 || c->is_dead || c->is_fixed ||
            (c->cut.peak_epoch == 0 && !c->cut.heaps.has_carved)) {
            break;
        }
    }
    return r;
}

int hs_capture(struct hs_region *region, bool is_dead, uint64_t now_mono_ns,
               struct hs_snapshot **ret_snapshot)
{
    return hs_capture_opened(region, is_dead, now_mono_ns, NULL, NULL, ret_snapshot);
}

/* Reads an instant by `read`, and makes a snapshot of it. */
static int make_snapshot(struct capture *c, int (*read)(struct capture *c),
                         struct hs_snapshot **ret_snapshot)
{
    int r = -ENOMEM;
    c->snap = calloc(1, sizeof(*c->snap));
    if (c->snap) {
        r = read(c);
    }
    if (r == 0) {
        c->snap->time_mono_ns = c->cut.now_ns;
        c->snap->cut_epoch = c->cut.cut_epoch;
        settle_totals(c);
        r = hs_block_list_take(c->scan.blocks, &c->region->header, c->snap);
        r = r == 0 ? hs_capture_parts(&c->scan, c->snap) : r;
        r = r == 0 ? hs_capture_births(&c->scan, c->snap) : r;
        r = r == 0 && c->snap->has_lifetimes ? hs_capture_lifetimes_rest(c->snap) : r;
    }
    if (r == 0) {
        r = hs_capture_tables(c->region, &c->stacks, &c->cut.heaps, c->scan.threads,
                              c->scan.thread_count, c->snap);
    }
    forget_scan(c);
    hs_lifetime_copy_deinit(&c->lifetimes_before);
    hs_lifetime_copy_deinit(&c->lifetimes_after);
    free(c->cut.before);
    if (r < 0) {
        hs_snapshot_free(c->snap);
        return r;
    }
    HS_ASSERT_SLOW(hs_snapshot_is_valid(c->snap));
    *ret_snapshot = c->snap;
    return 0;
}

int hs_capture_opened(struct hs_region *region, bool is_dead, uint64_t now_mono_ns,
                      hs_capture_open_fn *on_open, void *ctx, struct hs_snapshot **ret_snapshot)
{
    struct capture c = { .region = region,
                         .is_dead = is_dead,
                         .is_fixed = on_open != NULL,
                         .cut.now_ns = now_mono_ns,
                         .on_open = on_open,
                         .ctx = ctx };
    return make_snapshot(&c, read_with_peak, ret_snapshot);
}

void hs_capture_close(struct hs_region *region)
{
    hs_cut_close(region->control);
}

static int read_saved(struct capture *c)
{
    const struct hs_region_control_v1 *control = c->region->control;
    /* ORDER cut: as in hs_cut_open, whose place this takes. */
    if (hs_load_acquire(&control->snapshot_epoch) != c->cut.cut_epoch) {
        return -ESTALE;
    }
    int r = hs_region_refresh(c->region);
    return r < 0 ? r : read_cut(c);
}

int hs_capture_saved(struct hs_region *region, int fd, struct hs_snapshot **ret_snapshot)
{
    struct capture c = { .region = region, .is_fixed = true, .is_saved = true };
    char name[HS_OPEN_CUT_NAME_BYTES];
    int r = hs_open_cut_load(fd, &c.cut, name);
    if (r == 0) {
        r = make_snapshot(&c, read_saved, ret_snapshot);
    }
    if (r == 0) {
        memcpy((*ret_snapshot)->name, name, sizeof(name));
        (*ret_snapshot)->is_of_another_collector = true;
    }
    return r;
}
