/*
 * Reads types in a watch worker: see watch_types.h.
 */
#include "watch/send/watch_types.h"

#include <time.h>

#include "rt/clock.h"

void hs_watch_types_begin(struct hs_watch_types *types, const struct hs_typed_records *known)
{
    *types = (struct hs_watch_types){ .is_wanted = known != NULL, .is_due = known != NULL };
    if (known) {
        types->typed = *known;
    }
}

static uint64_t pause_ns(uint64_t cpu_ns)
{
    uint64_t ns = cpu_ns * HS_WATCH_TYPES_SHARE;
    return ns > HS_WATCH_TYPES_PAUSE ? ns : HS_WATCH_TYPES_PAUSE;
}

bool hs_watch_types_read(struct hs_watch_types *types, pid_t pid, struct hs_region *region,
                         uint64_t now_ns)
{
    bool is_new = false;
    if (types->is_due && pid > 0 && now_ns >= types->next_ns) {
        uint64_t begin_ns = hs_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        int r = hs_typed_records_read(pid, region, HS_WATCH_TYPES_NS, &types->typed);
        types->next_ns = now_ns + pause_ns(hs_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns);
        const struct hs_block_type_counts *counts = &types->typed.types.counts;
        is_new = r == 0 && counts->named_count + counts->unknown_count > 0;
        types->is_due = is_new || (r == 0 && counts->late_count > 0); /* there may be others */
    }
    region->types = types->is_wanted ? hs_typed_records_view(&types->typed) : NULL;
    return is_new;
}
