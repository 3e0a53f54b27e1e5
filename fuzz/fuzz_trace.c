/*
 * Fuzz target: any bytes as a trace file. Reading must not crash, and its memory and time must stay
 * in proportion to the input.
 *
 * The loaded profile is checked against the invariants of profile.h, so that a violation is a
 * crash.
 */
#include <stdint.h>
#include <stdlib.h>

#include "check_profile.h"
#include "profile/model/dump_heaps.h"
#include "profile/model/frame_types.h"
#include "profile/read/load.h"

static void check_not_below_zero(const struct hs_amount *amount)
{
    check(amount->bytes >= 0 && amount->count >= 0);
}

/* Traces contain only cumulative totals, which cannot be negative. */
static void check_signs(const struct hs_profile *p)
{
    for (uint64_t i = 0; i < p->sample_count; i++) {
        check_not_below_zero(&p->samples[i].live);
        check_not_below_zero(&p->samples[i].alloc);
        check_not_below_zero(&p->samples[i].peak);
    }
}

static void check_counters(const struct hs_profile *p)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < p->track_count; i++) {
        const struct hs_profile_track *track = &p->tracks[i];
        check(track->process < p->process_count || track->process == HS_PROFILE_NO_PROCESS);
        check(track->name > 0 && track->name < p->string_count && track->unit <= 2);
        check(track->counter_first == next && track->counters_n > 0);
        next += track->counters_n;
        check(next <= p->counter_count);
        for (uint32_t k = track->counter_first + 1; k < next; k++) {
            check(p->counters[k - 1].time_ns <= p->counters[k].time_ns);
        }
    }
    check(next == p->counter_count);
}

/* Every other heap, or all but every fourth. */
static void choose_some(struct hs_profile *p, size_t size)
{
    bool *is_chosen = calloc((size_t)p->heap_count + 1, sizeof(*is_chosen));
    check(is_chosen != NULL);
    for (uint32_t i = 0; i < p->heap_count; i++) {
        is_chosen[i] = size % 2 ? i % 2 == (size / 2) % 2 : i % 4 != (size / 2) % 4;
    }
    hs_profile_choose_heaps(p, is_chosen);
    free(is_chosen);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hs_profile *profile = NULL;
    struct hs_load_report report;
    if (hs_profile_load_memory(data, size, &profile, &report) == 0) {
        check_profile(profile);
        check_counters(profile);
        if (report.kind == HS_LOAD_TRACE) {
            check_signs(profile);
        }
        check(hs_frame_types_apply(profile) == 0);
        choose_some(profile, size);
        check_profile(profile);
    }
    hs_profile_free(profile);
    return 0;
}
