/*
 * Reads what a target costs: see target_budget.h.
 */
#include "collect/target_budget.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collect/region/region_control.h"
#include "rt/atomic.h"
#include "rt/clock.h"
#include "util/array.h"

#define SPARE_FACTOR 2U
/* A ledger of a fast-growing process takes about so long. */
#define PRESSING_NS UINT64_C(50000000)
#define PAUSE_NS    UINT64_C(15000000)
/* Thread blocks that one read fetches. Of a process with more threads than BLOCKS_MAX only the
 * first ones count. */
#define BLOCKS_AT_ONCE 32U
#define BLOCKS_MAX     4096U

static bool has_limits(const struct hs_target_budget *budget)
{
    const struct hs_budget_limits *limits = &budget->decisions.limits;
    return limits->memory_bytes != 0 || limits->overhead_ppm != 0;
}

uint64_t hs_target_budget_inherited(const struct hs_region *region, uint64_t asked_bytes)
{
    uint64_t now_bytes = hs_load_relaxed(&region->control->interval_bytes);
    uint64_t ratio = now_bytes / asked_bytes;
    bool is_raised = region->header.forked_from_pid != 0 && now_bytes > asked_bytes &&
                     now_bytes <= HS_INTERVAL_BYTES_MAX && ratio * asked_bytes == now_bytes &&
                     (ratio & (ratio - 1)) == 0;
    return is_raised ? now_bytes : asked_bytes;
}

void hs_target_budget_set(struct hs_target_budget *budget, struct hs_region *region,
                          const struct hs_budget_limits *limits, uint64_t asked_bytes,
                          const struct hs_heap_selection *heaps)
{
    if (budget->is_set) {
        return;
    }
    budget->is_set = true;
    budget->dump_rarity = 1;
    budget->heaps = heaps;
    hs_budget_init(&budget->decisions, limits, asked_bytes,
                   hs_target_budget_inherited(region, asked_bytes));
    hs_region_control_set_limits(region, limits->memory_bytes, limits->overhead_ppm != 0);
}

void hs_target_budget_deinit(struct hs_target_budget *budget)
{
    free(budget->changes);
    *budget = (struct hs_target_budget){ .is_set = false };
}

static void read_counters(const struct hs_region *region, struct hs_budget_reading *reading)
{
    struct hs_thread_block_v1 blocks[BLOCKS_AT_ONCE];
    uint64_t count = hs_region_count(region, HS_SECTION_BLOCKS);
    count = count < BLOCKS_MAX ? count : BLOCKS_MAX;
    for (uint64_t i = 0; i < count; i += BLOCKS_AT_ONCE) {
        uint64_t n = count - i < BLOCKS_AT_ONCE ? count - i : BLOCKS_AT_ONCE;
        if (hs_region_read(region, HS_SECTION_BLOCKS, i, n, blocks) < 0) {
            return;
        }
        for (uint64_t k = 0; k < n; k++) {
            reading->sample_count += blocks[k].sample_count;
            reading->free_count += blocks[k].free_count;
            reading->weight_bytes += blocks[k].alloc_bytes;
            reading->timed_count += blocks[k].timed_count;
            reading->timed_ns += blocks[k].timed_ns;
        }
    }
}

int hs_target_budget_describe(const struct hs_target_budget *budget, struct hs_snapshot *snap)
{
    if (budget->change_count == 0) {
        return 0;
    }
    snap->changes = calloc(budget->change_count, sizeof(snap->changes[0]));
    if (!snap->changes) {
        return -ENOMEM;
    }
    memcpy(snap->changes, budget->changes, budget->change_count * sizeof(snap->changes[0]));
    snap->change_count = (uint32_t)budget->change_count;
    return 0;
}

/* The CPU time of all threads of a process, also of those that have ended. 0: unknown. */
static uint64_t cpu_of(pid_t pid)
{
    clockid_t clock;
    return pid > 0 && clock_getcpuclockid(pid, &clock) == 0 ? hs_clock_ns(clock) : 0;
}

/* How many changes of the interval the region's table has room for: a change also changes the
 * intervals of heaps that have their own. */
static uint32_t interval_room(const struct hs_target_budget *budget, const struct hs_region *region)
{
    uint32_t count = region->header.interval_count; /* as of the last refresh, and checked */
    return (HS_REGION_INTERVALS - count) / (1 + hs_heap_selection_interval_count(budget->heaps));
}

/* Applies a change: the client follows it at once; the budget remembers it for the trace. */
static void apply(struct hs_target_budget *budget, struct hs_region *region,
                  const struct hs_snap_change *change)
{
    if (change->to_bytes != change->from_bytes) {
        struct hs_heap_page heaps;
        hs_heap_selection_page(budget->heaps, budget->decisions.asked_bytes, change->to_bytes,
                               &heaps);
        hs_region_control_set_interval(region, change->to_bytes, &heaps);
    }
    if (hs_array_reserve(&budget->changes, &budget->change_capacity, budget->change_count + 1,
                         sizeof(budget->changes[0])) == 0) {
        budget->changes[budget->change_count++] = *change;
    }
}

uint64_t hs_target_budget_keep(struct hs_target_budget *budget, struct hs_region *region, pid_t pid,
                               uint64_t now_ns)
{
    struct hs_budget *decisions = &budget->decisions;
    struct hs_snap_change change;
    if (!budget->is_set || !has_limits(budget)) {
        return UINT64_MAX;
    }
    if (now_ns < decisions->next_ns || hs_region_refresh(region) < 0) {
        return decisions->next_ns > now_ns ? decisions->next_ns : UINT64_MAX;
    }
    struct hs_budget_reading reading = {
        .time_ns = now_ns,
        .region_bytes = hs_region_resident_bytes(region),
        .interval_room = interval_room(budget, region),
    };
    read_counters(region, &reading);
    reading.cpu_ns = decisions->limits.overhead_ppm ? cpu_of(pid) : 0;
    if (hs_budget_decide(decisions, &reading, &change)) {
        change.rarity = budget->dump_rarity;
        apply(budget, region, &change);
    }
    return decisions->next_ns;
}

uint64_t hs_target_budget_pressing_ns(const struct hs_target_budget *budget, uint64_t now_ns)
{
    bool is_pressing = budget->is_set && budget->decisions.limits.memory_bytes != 0 &&
                       budget->decisions.next_ns < now_ns + PRESSING_NS;
    return is_pressing ? now_ns + PAUSE_NS : 0;
}

void hs_target_budget_spare(struct hs_target_budget *budget, struct hs_region *region,
                            const struct hs_cpu_budget *cpu, uint64_t now_ns)
{
    struct hs_budget *decisions = &budget->decisions;
    struct hs_snap_change change = { .time_mono_ns = now_ns,
                                     .from_bytes = decisions->interval_bytes,
                                     .reason = HS_CHANGE_COLLECTOR_CPU,
                                     .limit = cpu->limit_ns,
                                     .rarity = cpu->rarity };
    if (!budget->is_set) {
        return;
    }
    if (cpu->rarity != 0 && hs_region_refresh(region) == 0) {
        hs_budget_raise(decisions, SPARE_FACTOR, interval_room(budget, region));
    }
    budget->dump_rarity = cpu->rarity;
    change.to_bytes = decisions->interval_bytes;
    apply(budget, region, &change);
}
