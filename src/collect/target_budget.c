/*
 * Reads what a target costs: see target_budget.h.
 */
#include "collect/target_budget.h"

#include <time.h>

#include "rt/atomic.h"
#include "rt/clock.h"
#include "util/array.h"

#define SPARE_FACTOR 2U
/* Thread blocks that one read fetches. Of a process with more threads than BLOCKS_MAX only the
 * first ones count. */
#define BLOCKS_AT_ONCE 32U
#define BLOCKS_MAX     4096U

static bool has_limits(const struct hs_target *target)
{
    const struct hs_budget_limits *limits = &target->budget.limits;
    return limits->memory_bytes != 0 || limits->overhead_ppm != 0;
}

uint64_t hs_target_inherited_interval(const struct hs_target *target, uint64_t asked_bytes)
{
    uint64_t now_bytes = hs_load_relaxed(&target->region.control->interval_bytes);
    uint64_t ratio = now_bytes / asked_bytes;
    bool is_raised = target->region.header.forked_from_pid != 0 && now_bytes > asked_bytes &&
                     now_bytes <= HS_INTERVAL_BYTES_MAX && ratio * asked_bytes == now_bytes &&
                     (ratio & (ratio - 1)) == 0;
    return is_raised ? now_bytes : asked_bytes;
}

void hs_target_set_budget(struct hs_target *target, const struct hs_budget_limits *limits,
                          uint64_t asked_bytes)
{
    struct hs_region_control_v1 *control = target->region.control;
    if (target->has_budget) {
        return;
    }
    target->has_budget = true;
    target->dump_rarity = 1;
    hs_budget_init(&target->budget, limits, asked_bytes,
                   hs_target_inherited_interval(target, asked_bytes));
    hs_store_relaxed(&control->region_limit_bytes, limits->memory_bytes);
    hs_store_relaxed(&control->flags, limits->overhead_ppm ? HS_CONTROL_TIMED : 0);
}

static void read_counters(struct hs_target *target, struct hs_budget_reading *reading)
{
    struct hs_thread_block_v1 blocks[BLOCKS_AT_ONCE];
    uint64_t count = hs_region_count(&target->region, HS_SECTION_BLOCKS);
    count = count < BLOCKS_MAX ? count : BLOCKS_MAX;
    for (uint64_t i = 0; i < count; i += BLOCKS_AT_ONCE) {
        uint64_t n = count - i < BLOCKS_AT_ONCE ? count - i : BLOCKS_AT_ONCE;
        if (hs_region_read(&target->region, HS_SECTION_BLOCKS, i, n, blocks) < 0) {
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

/* The CPU time of all threads of a process, also of those that have ended. 0: unknown. */
static uint64_t cpu_of(pid_t pid)
{
    clockid_t clock;
    return pid > 0 && clock_getcpuclockid(pid, &clock) == 0 ? hs_clock_ns(clock) : 0;
}

static uint32_t interval_room(const struct hs_target *target)
{
    uint32_t count = target->region.header.interval_count; /* as of the last refresh, and checked */
    return HS_REGION_INTERVALS - count;
}

/* Applies a change: the client follows it at once; the target remembers it for the trace. */
static void apply(struct hs_target *target, const struct hs_snap_change *change)
{
    if (change->to_bytes != change->from_bytes) {
        hs_target_set_interval(target, change->to_bytes);
    }
    if (hs_array_reserve(&target->changes, &target->change_capacity, target->change_count + 1,
                         sizeof(target->changes[0])) == 0) {
        target->changes[target->change_count++] = *change;
    }
}

uint64_t hs_target_keep_budget(struct hs_target *target, uint64_t now_ns)
{
    struct hs_budget *budget = &target->budget;
    struct hs_snap_change change;
    if (!target->has_budget || !has_limits(target) || target->has_ended || target->is_dormant) {
        return UINT64_MAX;
    }
    if (now_ns < budget->next_ns || hs_region_refresh(&target->region) < 0) {
        return budget->next_ns > now_ns ? budget->next_ns : UINT64_MAX;
    }
    struct hs_budget_reading reading = {
        .time_ns = now_ns,
        .region_bytes = hs_region_resident_bytes(&target->region),
        .interval_room = interval_room(target),
    };
    read_counters(target, &reading);
    reading.cpu_ns = budget->limits.overhead_ppm ? cpu_of(target->pid) : 0;
    if (hs_budget_decide(budget, &reading, &change)) {
        change.rarity = target->dump_rarity;
        apply(target, &change);
    }
    return budget->next_ns;
}

void hs_target_spare_collector(struct hs_target *target, const struct hs_cpu_budget *cpu,
                               uint64_t now_ns)
{
    struct hs_budget *budget = &target->budget;
    struct hs_snap_change change = { .time_mono_ns = now_ns,
                                     .from_bytes = budget->interval_bytes,
                                     .reason = HS_CHANGE_COLLECTOR_CPU,
                                     .limit = cpu->limit_ns,
                                     .rarity = cpu->rarity };
    if (!target->has_budget || target->has_ended || target->is_dormant) {
        return;
    }
    if (cpu->rarity != 0 && hs_region_refresh(&target->region) == 0) {
        hs_budget_raise(budget, SPARE_FACTOR, interval_room(target));
    }
    target->dump_rarity = cpu->rarity;
    change.to_bytes = budget->interval_bytes;
    apply(target, &change);
}
