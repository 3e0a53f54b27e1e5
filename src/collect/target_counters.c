/*
 * What is read of a target's counters between its snapshots: its samples, its losses, and what its
 * budgets need. See target.h and target_counters.h.
 */
#include "collect/target_counters.h"

#include "collect/region/live_totals.h"
#include "rt/clock.h"

/* The number of threads that are read for figures that are only shown. */
#define HS_BLOCKS_ASKED_MAX 4096

static bool is_recording(const struct hs_target *target)
{
    return !target->process.has_ended && !target->state.is_dormant;
}

/* When the recording of its session began. */
static uint64_t recording_start_ns(const struct hs_target *target)
{
    uint64_t session_ns = target->state.session_start_ns;
    return session_ns ? session_ns : target->region.header.start_mono_ns;
}

void hs_target_look_at_losses(struct hs_target *target, uint64_t now_ns)
{
    struct hs_loss_watch *watch = &target->session.losses;
    if (is_recording(target) && now_ns >= watch->next_ns &&
        hs_region_refresh(&target->region) == 0) {
        hs_loss_watch_look(watch, &target->region, recording_start_ns(target), now_ns);
    }
}

void hs_target_add_counters(struct hs_target *target, struct hs_snapshot *snap)
{
    bool has_ended = target->process.has_ended;
    hs_loss_watch_describe(&target->session.losses, recording_start_ns(target),
                           has_ended ? snap->time_mono_ns : hs_clock_ns(CLOCK_MONOTONIC), snap);
    /* What a forked child inherited, it did not record. */
    uint64_t inherited = snap->inherited_sample_count;
    uint64_t samples = snap->sample_count > inherited ? snap->sample_count - inherited : 0;
    snap->client_cpu_ns =
        hs_budget_cost_ns(snap->timed_count, snap->timed_ns, samples, snap->free_count);
}

uint64_t hs_target_keep_budget(struct hs_target *target, uint64_t now_ns)
{
    return is_recording(target) ? hs_target_budget_keep(&target->session.budget, &target->region,
                                                        target->process.pid, now_ns)
                                : UINT64_MAX;
}

void hs_target_spare_collector(struct hs_target *target, const struct hs_cpu_budget *cpu,
                               uint64_t now_ns)
{
    if (is_recording(target)) {
        hs_target_budget_spare(&target->session.budget, &target->region, cpu, now_ns);
    }
}

void hs_target_count_samples(struct hs_target *target, struct hs_sample_counts *ret_counts)
{
    struct hs_thread_block_v1 block;
    *ret_counts = (struct hs_sample_counts){ 0 };
    if (hs_region_refresh(&target->region) < 0) {
        return;
    }
    uint64_t count = hs_region_count(&target->region, HS_SECTION_BLOCKS);
    count = count < HS_BLOCKS_ASKED_MAX ? count : HS_BLOCKS_ASKED_MAX;
    for (uint64_t i = 0; i < count; i++) {
        if (hs_region_read(&target->region, HS_SECTION_BLOCKS, i, 1, &block) == 0) {
            ret_counts->sample_count += block.sample_count;
            ret_counts->walk_count += block.walk_count;
        }
    }
}

uint64_t hs_target_sample_count(struct hs_target *target)
{
    struct hs_sample_counts counts;
    hs_target_count_samples(target, &counts);
    return counts.sample_count;
}

bool hs_target_read_live(struct hs_target *target, uint64_t *ret_live_bytes)
{
    struct hs_live_progress progress;
    if (hs_region_refresh(&target->region) < 0 ||
        hs_live_progress_read(&target->region, &progress) < 0) {
        return false;
    }
    *ret_live_bytes = progress.live_bytes > 0 ? (uint64_t)progress.live_bytes : 0;
    return true;
}
